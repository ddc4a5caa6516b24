"""Decisions are made again from records alone: facts, observations and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from contracts.decisions import Observation
from services.chassis.running.observations import Observed
from services.chassis.running.replaying import ReplayFailed
from services.chassis.running.rules import Rule
from services.fusion_backend.core import deciding as job_deciding
from services.hostpool_manager.core import rules as placement_rules
from services.launching.core import deciding as launch_deciding
from services.node_tainter.core import deciding as node_deciding
from tests.sandboxed import MERGE
from tests.simulation.command import play
from tests.simulation.effects import Mishap
from tests.simulation.plans import Plan
from tests.simulation.remaking import STAGES, Log, Start, differences, log_of
from tests.simulation.replays import replay_all
from tests.simulation.test_constrained_pods import one_alone, running
from tests.simulation.world import World, simulate


async def _eventful(world: World) -> None:
    """A job with a pool of its own; every service is killed and started again; the job goes."""
    tag = {"metadata": {"labels": {f"{labels.TAG_PREFIX}gold": ""}}}
    world.store.patch(world.kind("nodes"), "", "node-1", tag, MERGE)
    await running(world, one_alone())
    for service in (*STAGES, "watch-ingest"):
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
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    logs: list[Log] = []

    async def test(world: World) -> None:
        await _eventful(world)
        logs.append(await log_of(world))

    simulate(tmp_path_factory.mktemp("replay"), test)
    return logs[0]


@pytest.mark.parametrize("service", STAGES)
def test_every_decision_comes_out_as_it_was_made(log: Log, service: str) -> None:
    """Across a crash, from the objects and in the order that the records say."""
    starts = log.starts(service)
    assert len(starts) == 2
    assert sum(len(log.decisions[start]) for start in starts) > 10
    for start in starts:
        assert differences(log, start) == []


@pytest.mark.parametrize("service", STAGES)
def test_a_missing_observation_stops_the_replay_where_it_counts(log: Log, service: str) -> None:
    """What was decided before it can still be made again."""
    start = log.starts(service)[-1]
    decisions, observations = log.decisions[start], log.observations[start]
    for number in observations:
        left = {each: observations[each] for each in observations if each != number}
        before = [each for each in decisions if each["position"]["observation"] < number]
        assert differences(_with(log, start, left, before), start) == []
        if before != decisions:
            with pytest.raises(ReplayFailed, match=f"observation {number} is missing"):
                differences(_with(log, start, left, decisions), start)


@pytest.mark.parametrize("service", ["pod-state-machine", "fusion-backend"])
def test_an_observation_of_another_release_stops_the_replay(log: Log, service: str) -> None:
    start = log.starts(service)[-1]
    observations = log.observations[start]
    number, known = next(
        (number, each)
        for number, each in sorted(observations.items())
        if each.what not in set(Observed)
    )
    renamed = {f"former{name}": value for name, value in known.content.items()}
    former = {**observations, number: replace(known, content=renamed)}
    with pytest.raises(ReplayFailed, match=f"observation {number}, {known.what}, has another form"):
        differences(_with(log, start, former, log.decisions[start]), start)


@pytest.mark.parametrize("service", STAGES)
def test_an_offset_that_does_not_fit_is_named(log: Log, service: str) -> None:
    start = log.starts(service)[-1]
    *before, last = log.decisions[start]
    position = last["position"]
    for moved in (-1, 1):
        for name, offset in position["offsets"].items():
            if not offset:
                continue
            offsets = {**position["offsets"], name: offset + moved}
            wrong = {**last, "position": {**position, "offsets": offsets}}
            with pytest.raises(ReplayFailed, match=r"read|no record"):
                differences(
                    _with(log, start, log.observations[start], [*before, wrong]),
                    start,
                )


_LEFT_OUT = {
    "node-tainter": (node_deciding, "NODE_RULES", "MARKS_DIFFER"),
    "hostpool-manager": (placement_rules, "RULES", "FOUND_PLACEMENT"),
    "pod-state-machine": (launch_deciding, "RULES", "UNPLACED"),
    "fusion-backend": (job_deciding, "DECISIONS", "PLANNED"),
}
"""A rule of each service, and where its decisions are made from it."""


@pytest.mark.parametrize("service", STAGES)
def test_a_changed_rule_is_found_at_the_first_decision_that_it_changes(
    log: Log, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, observation = _LEFT_OUT[service]
    rules: Any = getattr(module, name)
    if isinstance(rules, Mapping):  # by what they decide on
        left: Any = {**rules, "generation": _without(rules["generation"], observation)}
    else:
        left = _without(rules, observation)
    monkeypatch.setattr(module, name, left)
    start, made = next(
        (start, each)
        for start in log.starts(service)
        for each in log.decisions[start]
        if observation in each["rules"].values()
    )
    first, *_ = differences(log, start)
    assert first.decision == made


def _without(rules: Sequence[Rule[Any, Any]], observation: str) -> tuple[Rule[Any, Any], ...]:
    left = tuple(each for each in rules if each.observation.name != observation)
    assert len(left) == len(rules) - 1
    return left


def test_an_object_that_only_a_view_uses_is_known_to_be_another(log: Log) -> None:
    """The record of a decision stands for all objects that its views were folded from."""
    others = {
        name: [
            replace(each, value=each.value.replace(b'"uid":"', b'"uid":"other-'))
            if each.key.startswith(b"BoundPod/")
            else each
            for each in records
        ]
        for name, records in log.facts.items()
    }
    found = [
        each
        for start in log.starts("hostpool-manager")
        for each in differences(Log(others, log.observations, log.decisions), start)
    ]
    assert found
    for each in found:
        assert each.found["objects"]["sha256"] == each.decision["objects"]["sha256"]
        assert each.found["objects"]["views"] != each.decision["objects"]["views"]


def test_runs_with_mishaps_are_made_again_in_processes_of_their_own(tmp_path: Path) -> None:
    """Partitions that are taken away, another leader, a sleep, and crashes."""
    lines: list[str] = []
    plans = [
        Plan("place-release", ((number, mishap),))
        for number, mishap in ((40, Mishap.ZOMBIE), (60, Mishap.CRASH_AFTER))
    ]
    play(plans, tmp_path)
    assert replay_all(tmp_path, 1, lines.append), lines


def _with(
    log: Log,
    start: Start,
    observations: Mapping[int, Observation],
    decisions: Sequence[Mapping[str, Any]],
) -> Log:
    """A log in which one start has other records."""
    return Log(log.facts, {start: dict(observations)}, {start: list(decisions)})
