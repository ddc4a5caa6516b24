"""Decisions are made again from records alone: facts, observations and positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from contracts import labels
from contracts.decisions import Position
from services.chassis.running.decision_log import decided_of
from services.chassis.running.replaying import ReplayFailed
from services.chassis.running.wiring import MakeStage
from services.fusion_backend.adapters.stage import stage_maker as fusion_backend_stage
from services.fusion_backend.settings import FusionBackendSettings
from services.node_tainter.adapters.stage import stage_maker as node_tainter_stage
from services.node_tainter.core import deciding
from services.node_tainter.core.node_rules import NODE_RULES, NodeObservation
from services.pod_state_machine.adapters.stage import stage_maker as pod_state_machine_stage
from services.pod_state_machine.settings import PodStateMachineSettings
from tests.sandboxed import MERGE
from tests.simulation.remaking import Log, Start, log_of, replica_of
from tests.simulation.test_constrained_pods import one_alone, running
from tests.simulation.world import World, simulate

STAGES: Mapping[str, MakeStage] = {
    "fusion-backend": fusion_backend_stage(
        FusionBackendSettings(bundle_root=Path("nowhere"), bundle_store=Path("nowhere")),
        planner="inline",
    ),
    "node-tainter": node_tainter_stage(),
    "pod-state-machine": pod_state_machine_stage(PodStateMachineSettings()),
}


@dataclass(frozen=True)
class Run:
    """A run that is over, and what it left in its log."""

    world: World
    log: Log

    def starts(self, service: str) -> list[Start]:
        """The starts of a service that decided something."""
        return [start for start in self.log.decisions if start[0] == service]


async def _eventful(world: World) -> None:
    """A job with a pool of its own; every service is killed and started again; the job goes."""
    tag = {"metadata": {"labels": {f"{labels.TAG_PREFIX}gold": ""}}}
    world.store.patch(world.kind("nodes"), "", "node-1", tag, MERGE)
    await running(world, one_alone())
    for service in ("pod-state-machine", "node-tainter", "fusion-backend", "watch-ingest"):
        await world.kill(service)
        world.start(service)
        await world.settle()
    for pod in world.objects("pods"):
        world.store.delete(world.kind("pods"), "default", pod)
    await world.settle()
    world.store.delete(world.kind("streamsjobs"), "default", "j")
    await world.settle()
    for service in STAGES:
        await world.stop(service)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    logs: list[Log] = []

    async def test(world: World) -> None:
        await _eventful(world)
        logs.append(await log_of(world))

    world = simulate(tmp_path_factory.mktemp("replay"), test)
    return Run(world, logs[0])


def _differences(run: Run, start: Start) -> Iterator[tuple[Mapping[str, Any], object]]:
    """The decisions of a start that come out otherwise, or whose snapshot does."""
    replica = replica_of(run.world, run.log, start, STAGES[start[0]])
    for decision in run.log.decisions[start]:
        remade = replica.snapshot(decision["key"], Position.of_json(decision["position"]))
        again = replica.stage.decide(remade.snapshot, decision["now"])
        found = {
            "objects": orjson.loads(orjson.dumps(remade.objects.to_json())),
            "rules": dict(again.rules),
            "reason": again.reason,
            "decided": decided_of(again.effects).to_json(),
        }
        if found != {name: decision[name] for name in found}:
            yield decision, found


@pytest.mark.parametrize("service", STAGES)
def test_every_decision_comes_out_as_it_was_made(run: Run, service: str) -> None:
    """Across a crash, from the objects and in the order that the records say."""
    starts = run.starts(service)
    assert len(starts) == 2
    assert sum(len(run.log.decisions[start]) for start in starts) > 10
    for start in starts:
        assert list(_differences(run, start)) == []


@pytest.mark.parametrize("service", STAGES)
def test_a_missing_observation_stops_the_replay_where_it_counts(run: Run, service: str) -> None:
    """What was decided before it can still be made again."""
    start = run.starts(service)[-1]
    for number in range(1, len(run.log.observations[start]) + 1):
        log = deepcopy(run.log)
        log.observations[start] = [
            each for each in log.observations[start] if each.number != number
        ]
        before = [each for each in log.decisions[start] if each["position"]["observation"] < number]
        after = log.decisions[start][len(before) :]
        log.decisions[start] = before
        assert list(_differences(replace(run, log=log), start)) == []
        log.decisions[start] = after
        if after:
            with pytest.raises(ReplayFailed, match=f"observation {number} is missing"):
                list(_differences(replace(run, log=log), start))


def test_an_offset_that_does_not_fit_is_named(run: Run) -> None:
    start = run.starts("pod-state-machine")[-1]
    *_, last = run.log.decisions[start]
    for moved in (-1, 1):
        log = deepcopy(run.log)
        for name, offset in last["position"]["offsets"].items():
            if not offset:
                continue
            log.decisions[start][-1]["position"]["offsets"] = {
                **last["position"]["offsets"],
                name: offset + moved,
            }
            with pytest.raises(ReplayFailed, match=r"read|no record"):
                list(_differences(replace(run, log=log), start))


def test_a_changed_rule_is_found_at_the_first_decision_that_it_changes(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = run.starts("node-tainter")[0]
    changed = tuple(
        each for each in NODE_RULES if each.observation is not NodeObservation.MARKS_DIFFER
    )
    monkeypatch.setattr(deciding, "NODE_RULES", changed)
    decision, _ = next(_differences(run, start))
    assert decision["rules"] == {"node": "MARKS_DIFFER"}
