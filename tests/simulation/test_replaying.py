"""Decisions are made again from records alone: facts, observations and positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from contracts.decisions import Observation
from services.chassis.running.replaying import ReplayFailed
from services.node_tainter.core import deciding
from services.node_tainter.core.node_rules import NODE_RULES, NodeObservation
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


def test_an_offset_that_does_not_fit_is_named(log: Log) -> None:
    start = log.starts("pod-state-machine")[-1]
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


def test_a_changed_rule_is_found_at_the_first_decision_that_it_changes(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = log.starts("node-tainter")[0]
    changed = tuple(
        each for each in NODE_RULES if each.observation is not NodeObservation.MARKS_DIFFER
    )
    monkeypatch.setattr(deciding, "NODE_RULES", changed)
    first, *_ = differences(log, start)
    assert first.decision["rules"] == {"node": "MARKS_DIFFER"}


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
