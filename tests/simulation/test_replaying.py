"""Decisions are made again from records alone: facts, observations and positions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from history.comparing import Verdict, unknown
from history.replaying import Wanted
from history.tallying import tally_of
from services.chassis.running.observations import Observed
from services.chassis.running.rules import Rule
from services.fusion_backend.core import deciding as job_deciding
from services.hostpool_manager.core import rules as placement_rules
from services.launching.core import deciding as launch_deciding
from services.node_tainter.core import deciding as node_deciding
from tests.sandboxed import MERGE
from tests.simulation.command import play
from tests.simulation.effects import Mishap
from tests.simulation.mains import WIDTH_MAX
from tests.simulation.plans import Plan
from tests.simulation.remaking import (
    STAGES,
    Log,
    differences,
    edited,
    log_of,
    steps_of,
    with_observations,
    without,
)
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


REPLAYED = tuple(each for each in STAGES if each != "pe-gateway")
"""Those that decide here: no PE reports to pe-gateway."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    logs: list[Log] = []

    async def test(world: World) -> None:
        await _eventful(world)
        logs.append(await log_of(world))

    simulate(tmp_path_factory.mktemp("replay"), test)
    return logs[0]


@pytest.mark.parametrize("service", REPLAYED)
def test_every_decision_comes_out_as_it_was_made(log: Log, service: str) -> None:
    """Across a crash, from the objects and in the order that the records say."""
    starts = log.starts(service)
    assert len(starts) == 2
    assert sum(len(log.decisions(start)) for start in starts) > 10
    for start in starts:
        assert differences(log, start) == []


def test_each_start_records_its_release_and_its_settings_first(log: Log) -> None:
    for service in STAGES:
        for start in log.starts(service):
            first = log.observations(start)[1]
            assert (first.what, first.content["release"]) == (Observed.STARTED, "")
    (start, *_) = log.starts("fusion-backend")
    settings = log.observations(start)[1].content["settings"]
    assert settings["width_max"] == WIDTH_MAX
    assert settings["bundle_root_url"] == ""
    assert not settings.keys() & {"bundle_root", "bundle_store", "bundle_ca_file", "kubeconfig"}


@pytest.mark.parametrize("service", REPLAYED)
def test_what_is_decided_behind_a_missing_observation_is_unknown(log: Log, service: str) -> None:
    """What was decided before it can still be made again."""
    start = log.starts(service)[-1]
    numbers = sorted(log.observations(start))
    for number in {numbers[0], numbers[len(numbers) // 2], numbers[-1]}:
        found = differences(without(log, start, number), start)
        behind = [
            each.place
            for each in log.decisions(start)
            if each.decision.position.observation >= number
        ]
        assert [each.place for each in found] == behind
        for each in found:
            assert each.compared == unknown(f"observation {number} is missing")


@pytest.mark.parametrize("service", ["pod-state-machine", "fusion-backend"])
def test_an_observation_of_another_release_stops_the_replay(log: Log, service: str) -> None:
    start = log.starts(service)[-1]
    number, known = next(
        (number, each)
        for number, each in sorted(log.observations(start).items())
        if each.what not in set(Observed)
    )
    renamed = {f"former{name}": value for name, value in known.content.items()}
    former = with_observations(
        log, start, lambda each: replace(each, content=renamed) if each.number == number else each
    )
    (first, *_) = differences(former, start)
    assert f"observation {number}, {known.what}, has another form" in first.compared.sentence


@pytest.mark.parametrize("service", REPLAYED)
def test_an_offset_that_does_not_fit_is_named(log: Log, service: str) -> None:
    start = log.starts(service)[-1]
    last = log.decisions(start)[-1].decision
    name, read = max(last.position.offsets.items(), key=lambda each: each[1])
    end = log.records[name][-1].offset + 1  # what was read after it may have changed nothing
    for moved in (read - 1, end + 1):

        def move(value: dict[str, Any], offset: int = moved) -> dict[str, Any]:
            position = value.get("position", {})
            if (value.get("key"), position.get("start")) != (last.key, start[1]):
                return value
            if position["observation"] == last.position.observation:
                position["offsets"][name] = offset
            return value

        found = differences(edited(log, move), start)
        assert found
        assert all(re.search("read|no record", each.compared.sentence) for each in found)


_LEFT_OUT = {
    "node-tainter": (node_deciding, "NODE_RULES", "MARKS_DIFFER"),
    "hostpool-manager": (placement_rules, "RULES", "FOUND_PLACEMENT"),
    "pod-state-machine": (launch_deciding, "RULES", "UNPLACED"),
    "fusion-backend": (job_deciding, "DECISIONS", "PLANNED"),
}
"""A rule of each service, and where its decisions are made from it."""


@pytest.mark.parametrize("service", REPLAYED)
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
    made = next(
        each
        for start in log.starts(service)
        for each in log.decisions(start)
        if observation in each.decision.rules.values()
    )
    found = asyncio.run(tally_of(log, wanted=Wanted(service=service))).first
    assert found is not None
    assert found.recorded == made
    assert found.compared.what in ("rules", "crash", "effects", "reason")
    assert "same objects" in found.compared.sentence


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
        for name, records in log.records.items()
    }
    found = [
        each for start in log.starts("hostpool-manager") for each in differences(Log(others), start)
    ]
    assert found
    for each in found:
        assert each.compared.what == "objects"
        assert "the views are folded from other objects" in each.compared.sentence


def test_facts_that_are_lost_make_unknown_what_is_decided_on_them(log: Log) -> None:
    """They are never equal, and the sentence has the count of facts."""
    cut = Log({**log.records, "cluster/0": log.records["cluster/0"][3:]})
    tally = asyncio.run(tally_of(cut))
    assert not tally.is_equal
    assert tally.unknown["node-tainter"] == len(log.decisions(log.starts("node-tainter")[0])) + len(
        log.decisions(log.starts("node-tainter")[1])
    )
    assert any("facts were read and not" in gap for gap in tally.gaps)


def test_decisions_of_one_job_alone_are_made_again(log: Log) -> None:
    wanted = Wanted(namespace="default", job="j")
    found = asyncio.run(steps_of(log, wanted))
    assert {each.recorded.job for each in found} == {"j"}
    assert {each.compared.verdict for each in found} == {Verdict.EQUAL}
    assert any(each.changes for each in found)


def test_runs_with_mishaps_are_made_again_in_processes_of_their_own(tmp_path: Path) -> None:
    """Partitions that are taken away, another leader, a sleep, and crashes."""
    lines: list[str] = []
    plans = [
        Plan("place-release", ((number, mishap),))
        for number, mishap in ((40, Mishap.ZOMBIE), (60, Mishap.CRASH_AFTER))
    ]
    play(plans, tmp_path)
    assert replay_all(tmp_path, 1, lines.append), lines
