"""What the planner warns of when a job is submitted becomes Events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.fusion_backend.core.recording import WARNINGS_MAX, kept_warnings
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.wording import submitted
from services.fusion_backend.core.wording_conditions import steady
from tests.unit.fusion_backend.world import World


def test_state_that_is_not_kept_has_an_event_beside_that_of_other_warnings() -> None:
    world = World(width=2)
    world.converge()
    snapshot = world.snapshot()
    assert snapshot.newest is not None
    assert snapshot.job is not None
    plan = replace(
        snapshot.newest,
        warnings=("a pool is empty", "StreamsNotConnected: of I", "StateNotKept: it is lost"),
    )
    job = replace(snapshot.job, status={**snapshot.job.status, "phase": "Submitting"})
    warned = replace(snapshot, plans={**snapshot.plans, snapshot.newest_generation: plan}, job=job)
    found = {
        each.reason.value: each.message
        for each in submitted(Situation(warned, world.now)).announcements
        if each.warning
    }
    assert found == {
        "WithoutEffect": "a pool is empty",
        "StreamsNotConnected": "of I",
        "StateNotKept": "it is lost",
    }


def test_streams_between_jobs_that_are_not_connected_have_a_condition_and_an_event() -> None:
    """Of every status of the job, not of its submission alone."""
    world = World(width=2)
    world.converge()
    snapshot = world.snapshot()
    assert snapshot.newest is not None
    text = "streams between jobs are not connected yet, so no tuple comes from import I"
    plan = replace(snapshot.newest, warnings=(f"StreamsNotConnected: {text}",))
    warned = replace(snapshot, plans={**snapshot.plans, snapshot.newest_generation: plan})
    conditions = {each.type: each for each in steady(Situation(warned, world.now))}
    found = conditions["StreamsConnected"]
    assert (found.status, found.reason.value, found.message) == (
        "False",
        "StreamsNotConnected",
        text,
    )
    assert "StreamsConnected" not in {each.type for each in steady(Situation(snapshot, world.now))}


def test_many_warnings_hide_none_that_a_condition_shows() -> None:
    """The first 20 were kept, and those that are looked for come last."""
    named = ("StreamsNotConnected: of I", "StateNotKept: it is lost")
    others = tuple(f"region {number} is empty" for number in range(WARNINGS_MAX))
    assert kept_warnings((*others, *named)) == (*others[:-2], *named)
    assert kept_warnings((*others[:3], *named)) == (*others[:3], *named)
    assert kept_warnings(others) == others


@pytest.mark.parametrize(
    ("seconds", "is_short"), [(0, False), (1, True), (3, True), (4, False), (30, False)]
)
def test_a_hand_over_that_is_too_short_for_work_is_named_in_the_condition(
    seconds: int, is_short: bool
) -> None:
    world = World(scaling={"handOverSeconds": seconds})
    world.converge()
    accepted = world.condition("Accepted")
    assert accepted["status"] == "True"
    assert ("handOverSeconds is" in accepted["message"]) is is_short
    assert (accepted["reason"] == "WithoutEffect") is is_short
