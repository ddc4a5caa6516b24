"""A PE that holds up the hand-over of all others is given up, it alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts import labels
from contracts.moments import moment_of, unix_s_of
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.holding_up import (
    BEGUN_S,
    SILENT_S,
    SPARED_S,
    STARTS_S,
    Times,
    Unsealed,
    given_up,
    given_up_next,
    unsealed_of,
)
from tests.unit.fusion_backend.handing_over import SECONDS, HandingOver, listed_in, resized_to
from tests.unit.fusion_backend.world import JOB

BEGUN = 1_000.0
TIMES = Times(BEGUN, BEGUN + SECONDS)
SPARED = BEGUN + SECONDS - SPARED_S


def _says(*waits_for: int, rests_s: int = 20) -> Unsealed:
    """A PE that waits for these, and reports it until now; for none: it is at work."""
    rests_s = rests_s if waits_for else 0
    return Unsealed(frozenset(waits_for), BEGUN - 60, rests_s=rests_s)


def _silent(started: float | None = BEGUN - 60) -> Unsealed:
    return Unsealed(None, started)


def _when(awaited: dict[int, Unsealed]) -> dict[int, float]:
    """When each PE is given up, if nothing is reported meanwhile."""
    found: dict[int, float] = {}
    now = BEGUN
    while (at := given_up_next(awaited, TIMES, now)) is not None:
        now = at
        gone = given_up(awaited, TIMES, now)
        assert gone, "it looks when there is something to do"
        found |= {pe: now for pe in gone if pe not in found}
    return found


def test_a_silent_pe_is_given_up_alone_once_the_others_wait_for_it_alone() -> None:
    """Source → 1 → 2 (hangs) → 3; the source has sealed, and 4 waits for 3."""
    assert _when({1: _says(2), 2: _silent(), 3: _says(2), 4: _says(3)}) == {2: BEGUN + SILENT_S}


def test_a_pe_whose_launches_fail_before_they_report_is_given_up_as_a_silent_one() -> None:
    """Each of them began in the hand-over: they would take the time of all others in turn."""
    status = {"restarts": 1, "runtime": {"launch": 2}}
    fails = unsealed_of(status, 4, generation=1, started=BEGUN + 5)
    assert _when({1: _says(2), 2: fails}) == {2: BEGUN + SILENT_S}
    at = BEGUN + 5 + BEGUN_S
    again = unsealed_of(status, 3, generation=1, started=BEGUN + 5)
    assert _when({1: _says(2), 2: again}) == {2: at}, "the first launch after one that ran"
    ended = unsealed_of(status | {"restarts": 0}, 4, generation=1, started=BEGUN + 5)
    assert _when({1: _says(2), 2: ended}) == {2: at}, "somebody restarted it twice"


def test_several_silent_ones_are_given_up_at_once_though_they_wait_for_each_other() -> None:
    assert _when({1: _says(2), 2: _silent(), 3: _silent(), 4: _says(3)}) == {
        2: BEGUN + SILENT_S,
        3: BEGUN + SILENT_S,
    }


def test_a_pe_that_is_at_work_has_nearly_all_of_the_time() -> None:
    assert _when({1: _says(2), 2: _says()}) == {2: SPARED}


def test_nobody_is_given_up_early_while_another_is_at_work() -> None:
    """The others would wait for that one all the same, and the silent one may come."""
    assert _when({1: _says(2, 3), 2: _silent(), 3: _says()}) == {2: SPARED, 3: SPARED}


@pytest.mark.parametrize("awaited", [{1: _silent(), 2: _silent()}, {1: _says()}, {1: _silent()}])
def test_a_pe_that_nobody_says_he_waits_for_has_all_of_the_time(
    awaited: dict[int, Unsealed],
) -> None:
    """pe-gateway may be away: then nobody reports anything."""
    assert not _when(awaited)


def test_who_waited_for_one_that_sealed_or_is_gone_is_at_work_again() -> None:
    assert _when({1: _says(9), 2: _says(1)}) == {1: SPARED}


def test_pes_that_wait_for_each_other_have_all_of_the_time() -> None:
    """What they reported is a second old: a mark is on its way between them."""
    assert not _when({1: _says(2), 2: _says(1)})


@pytest.mark.parametrize(
    ("started", "at"),
    [
        (BEGUN - 60, BEGUN + SILENT_S),
        (BEGUN - STARTS_S, BEGUN + SILENT_S),
        (BEGUN - STARTS_S + 1, SPARED),
        (BEGUN - 0.2, SPARED),
        (BEGUN + 1, SPARED),
    ],
    ids=["hangs", "began", "begins", "in whole seconds", "launched again"],
)
@pytest.mark.parametrize("is_known_by", ["itself", "a peer"])
def test_a_launch_that_has_begun_lately_is_not_taken_for_one_that_hangs(
    started: float, at: float, is_known_by: str
) -> None:
    """It took tuples in, and may not have come to report more."""
    silent = replace(_silent(started), has_begun=is_known_by == "itself")
    waiting = replace(_says(2), is_connected=is_known_by == "a peer")
    assert _when({1: waiting, 2: silent}) == {2: at}


@pytest.mark.parametrize(
    ("started", "at"),
    [
        (BEGUN - 60, BEGUN + SILENT_S),
        (BEGUN - 2, BEGUN + SILENT_S),
        (BEGUN - 0.2, BEGUN - 0.2 + BEGUN_S),
        (BEGUN + 1, BEGUN + 1 + BEGUN_S),
        (BEGUN + 20, SPARED),
        (None, SPARED),
    ],
)
def test_a_launch_that_has_not_begun_has_the_time_of_a_start(
    started: float | None, at: float
) -> None:
    """Its module may block for ever, and it has nothing to hand over."""
    assert _when({1: _says(2), 2: _silent(started), 3: replace(_says(1), is_connected=True)}) == {
        2: at
    }


def test_a_pe_has_begun_as_its_status_says_of_this_launch() -> None:
    status = {"connectivity": "Full", "runtime": {"launch": 2, "restsFor": 1, "waitsFor": [3]}}
    found = unsealed_of(status, 2, generation=1, started=BEGUN)
    assert (found.has_begun, found.is_connected) == (True, True)
    later = unsealed_of(status, 3, generation=1, started=BEGUN)
    assert (later.has_begun, later.is_connected) == (False, False)


@pytest.mark.parametrize(
    ("rests_s", "at"), [(0, SPARED), (SILENT_S - 1, SPARED), (SILENT_S, BEGUN + SILENT_S)]
)
def test_nobody_is_silent_to_a_pe_gateway_that_is_away(rests_s: float, at: float) -> None:
    """What the others reported before it was away does not show that it hears PEs now."""
    others = {1: _says(2, rests_s=int(rests_s)), 3: _says(1, rests_s=0)}
    assert _when({**others, 2: _silent()}) == {2: at}


def test_a_short_hand_over_spares_a_sixth_of_its_time() -> None:
    times = Times(BEGUN, BEGUN + 6)
    assert given_up_next({1: _says(2), 2: _says()}, times, BEGUN) == BEGUN + 5


# --------------------------------------------------------------------------- in a job


def _runs(world: HandingOver, pe: int, since: float) -> None:
    running = {"running": {"startedAt": moment_of(since)}}
    containers = [{"name": labels.PE_CONTAINER, "state": running}]
    world.objects["Pod", labels.pe_name(JOB, pe)]["status"] = {
        "phase": "Running",
        "containerStatuses": containers,
    }


def _says_in(world: HandingOver, pe: int, *waits_for: int, seconds: int = 8) -> None:
    status = world.objects["ProcessingElement", labels.pe_name(JOB, pe)]["status"]
    generation = world.hand_over["generation"]
    status["runtime"] |= {"restsFor": generation, "waitsFor": list(waits_for)}
    status["runtime"] |= {"restsSeconds": seconds}


def _held_up() -> tuple[HandingOver, int, list[int]]:
    """A hand-over in which one PE says nothing, one waits for it, and the others have sealed."""
    world = resized_to()
    hung, waiting, *others = listed_in(world)
    _runs(world, hung, world.now - 60)
    world.seal(*others)
    _says_in(world, waiting, hung)
    world.step()
    return world, hung, [waiting]


def test_the_hand_over_goes_on_without_a_pe_that_says_nothing() -> None:
    world, hung, waiting = _held_up()
    begun = unix_s_of(world.hand_over["begun"])
    assert decide(world.snapshot(), world.now).requeue_at == begun + SILENT_S
    world.now = begun + SILENT_S
    world.step()
    assert world.hand_over["gone"] == [hung]
    assert not world.hand_over["complete"]
    [event] = [text for reason, text in world.events if reason == "HandOverHeldUp"]
    assert event.startswith(f"PE {hung} held up the hand-over of all others")
    # A PE that never began has taken nothing in.
    lost = "if they took in tuples after their last saved state, those are lost, and counted"
    assert event.endswith(lost)
    world.seal(*waiting)
    world.converge()
    assert world.hand_over["complete"]
    assert world.hand_over["gone"] == [hung]
    assert "HandOverTimedOut" not in [reason for reason, _ in world.events]
    assert world.status()["phase"] == "Submitted"


def test_what_a_pe_reported_of_an_older_hand_over_or_launch_does_not_count() -> None:
    world, _hung, waiting = _held_up()
    status = world.objects["ProcessingElement", labels.pe_name(JOB, waiting[0])]["status"]
    status["runtime"]["restsFor"] = 0
    world.now += SILENT_S
    world.step()
    assert world.hand_over["gone"] == []


def test_a_seal_of_a_pe_that_was_given_up_does_not_count() -> None:
    """The others have counted what was on its way to it as lost."""
    world, hung, waiting = _held_up()
    world.now += SILENT_S
    world.step()
    world.seal(hung, *waiting)
    world.converge()
    assert hung not in map(int, world.hand_over["sealed"])
