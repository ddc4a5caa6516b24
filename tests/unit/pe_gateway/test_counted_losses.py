"""A loss counts once in the status of its Job, however it is reported."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
import pytest

from contracts.losses import LaunchLoss, Losses, losses_field
from contracts.moments import moment_of
from contracts.resources.fields import COUNT_MAX
from contracts.resources.losses import LAUNCHES_MAX
from services.pe_gateway.core.deciding import decide
from services.pe_gateway.core.effects import DropLosses, SetLosses
from services.pe_gateway.core.loss_rules import LOSSES_SETTLE_S
from services.pe_gateway.core.losses import is_counted, joined_losses, left_of, with_reported
from services.pe_gateway.core.snapshot import (
    JobLosses,
    LossesKey,
    LossesSnapshot,
    ReportedLosses,
)

NOW = 1_800_000_000.0
KEY = LossesKey("ns", "shop")
DAY_S = 86_400


def loss(pe: int, tuples: int, *, launch: int = 1, at: float = NOW, uid: str = "") -> LaunchLoss:
    """What a launch reports."""
    return LaunchLoss(pe, uid or f"u{pe}", launch, tuples, moment_of(at), moment_of(at), "InHand")


def counted(known: Losses, *reported: LaunchLoss, now: float = NOW, living: Any = ()) -> Losses:
    """The losses after some reports."""
    return with_reported(known, reported, frozenset(living), DAY_S, now)


def test_the_total_of_a_job_is_what_its_launches_report() -> None:
    found = counted(Losses(), loss(3, 12), loss(5, 3, launch=2))
    assert (found.tuples, found.last) == (15, moment_of(NOW))
    assert [(each.pe, each.tuples, each.total) for each in found.launches] == [
        (3, 12, 12),
        (5, 3, 15),
    ]


@pytest.mark.parametrize("again", [1, 11, 12])
def test_a_report_that_comes_twice_or_late_counts_nothing(again: int) -> None:
    known = counted(Losses(), loss(3, 12))
    assert counted(known, loss(3, again, at=NOW + 60)) is known


def test_a_launch_that_loses_more_adds_the_difference_and_keeps_when_it_began() -> None:
    known = counted(Losses(), loss(3, 12), loss(4, 1))
    found = counted(known, loss(3, 20, at=NOW + 60), now=NOW + 60)
    assert found.tuples == 21
    row = found.launches[0]
    assert (row.tuples, row.total) == (20, 21)
    assert (row.since, row.last) == (moment_of(NOW), moment_of(NOW + 60))


def test_another_launch_and_a_pe_that_is_made_again_count_from_the_beginning() -> None:
    """The launches of a PE that somebody deleted begin at 1 again."""
    known = counted(Losses(), loss(3, 12))
    assert counted(known, loss(3, 5, launch=2)).tuples == 17
    assert counted(known, loss(3, 5, uid="another")).tuples == 17


def test_reports_in_any_order_and_often_give_the_same_total() -> None:
    draw = random.Random(7)
    reports = [loss(pe, tuples, launch=launch) for pe, tuples, launch in _grown()]
    for _ in range(50):
        draw.shuffle(reports)
        known = Losses()
        for at in range(0, len(reports), 7):
            known = counted(known, *joined_losses((), reports[at]), *reports[at + 1 : at + 7])
        assert known.tuples == 4 * (30 + 60)


def _grown() -> list[tuple[int, int, int]]:
    return [
        (pe, 10 * n * launch, launch) for pe in range(4) for n in (1, 2, 3) for launch in (1, 2)
    ]


def test_a_clock_that_jumps_back_takes_nothing_back() -> None:
    known = counted(Losses(), loss(3, 12))
    found = counted(known, loss(3, 13, at=NOW - DAY_S), now=NOW - DAY_S)
    assert (found.tuples, found.last) == (13, moment_of(NOW))
    assert found.launches[0].last == moment_of(NOW)


def test_a_huge_count_is_the_most_that_a_status_may_have() -> None:
    found = counted(Losses(), loss(3, COUNT_MAX), loss(4, COUNT_MAX))
    assert found.tuples == COUNT_MAX


def full(at: float = NOW) -> Losses:
    """A status without room for another launch."""
    rows = [loss(n, 1, at=at) for n in range(LAUNCHES_MAX)]
    return counted(Losses(), *rows, now=at)


def test_a_thousand_pes_that_lose_at_once_fit_into_a_status() -> None:
    found = full()
    assert (len(found.launches), found.has_more) == (LAUNCHES_MAX, False)
    long = tuple(replace(each, uid="u" * 36, reason="w" * 64) for each in found.launches)
    assert len(orjson.dumps(losses_field(replace(found, launches=long)))) < 300_000


def test_a_launch_without_room_is_not_counted_and_the_status_says_so() -> None:
    """Its row could not keep it from counting twice."""
    more = loss(LAUNCHES_MAX, 7)
    found = counted(full(), more)
    assert (found.tuples, len(found.launches), found.has_more) == (LAUNCHES_MAX, LAUNCHES_MAX, True)
    assert counted(found, more) is found
    known = replace(JOB, losses=found)
    assert is_counted(known, more, frozenset, NOW), "it is not reported again for ever"
    assert not is_counted(known, loss(3, 2), frozenset, NOW)


def test_a_status_that_was_full_takes_launches_again_once_others_are_over() -> None:
    """What had no room then is not counted; what is lost since then is."""
    known = replace(JOB, losses=counted(full(), loss(LAUNCHES_MAX, 7)))
    later = NOW + 2 * DAY_S
    more = loss(LAUNCHES_MAX + 1, 9, at=later)
    all_ = frozenset((each.uid, each.launch) for each in known.losses.launches)
    assert is_counted(known, more, lambda: all_, later), "they may report again"
    left = all_ - {("u1", 1)}
    assert not is_counted(known, more, lambda: left, later)
    found = counted(known.losses, more, now=later, living=left)
    assert (found.tuples, found.has_more) == (LAUNCHES_MAX + 9, True)
    assert is_counted(replace(JOB, losses=found), more, lambda: left, later)


def test_launches_that_are_over_make_room_but_none_that_may_report_again() -> None:
    later = NOW + 2 * DAY_S
    living = {("u0", 1)}
    found = counted(full(), loss(LAUNCHES_MAX, 7, at=later), now=later, living=living)
    assert (found.tuples, found.has_more) == (LAUNCHES_MAX + 7, False)
    keys = {each.key for each in found.launches}
    assert ("u0", 1) in keys
    assert ("u1", 1) not in keys
    assert len(found.launches) == LAUNCHES_MAX


def test_losses_that_are_not_shown_any_more_make_room_before_others() -> None:
    rows = [loss(0, 1), *(loss(n, 1, at=NOW - 2 * DAY_S) for n in range(1, LAUNCHES_MAX))]
    known = counted(Losses(), *rows)
    later = NOW + 7_200
    found = counted(known, loss(LAUNCHES_MAX, 7, at=later), now=later)
    keys = {each.key for each in found.launches}
    assert ("u0", 1) in keys, "it is the oldest by its total, and it is shown"
    assert ("u1", 1) not in keys


# --------------------------------------------------------------------------- rules


def decided(*launches: LaunchLoss, job: JobLosses | None, now: float, since: float = NOW) -> Any:
    """What follows for a Job of whose PEs these losses are reported."""
    reported = ReportedLosses("job", since, launches) if launches else None
    decision = decide(LossesSnapshot(KEY, job, reported), now, settle_s=2.0)
    return decision.rules["losses"], decision.effects, decision.requeue_at


JOB = JobLosses("job", False, Losses(), DAY_S)


def test_reports_wait_a_moment_for_others() -> None:
    assert decided(loss(3, 12), job=JOB, now=NOW) == ("UNSETTLED", (), NOW + LOSSES_SETTLE_S)


def test_then_all_of_them_are_one_write() -> None:
    launches = tuple(loss(n, 1) for n in range(1_000))
    now = NOW + LOSSES_SETTLE_S
    rule, effects, _ = decided(*launches, job=JOB, now=now)
    assert rule == "LOST"
    assert effects == (
        SetLosses("shop", "job", Losses(), counted(Losses(), *launches), launches, now),
    )


def test_a_clock_that_is_set_back_does_not_hold_a_loss_up() -> None:
    assert decided(loss(3, 12), job=JOB, now=NOW - DAY_S)[0] == "LOST"


def test_what_the_status_has_is_forgotten() -> None:
    job = replace(JOB, losses=counted(Losses(), loss(3, 12)))
    rule, effects, _ = decided(loss(3, 12), job=job, now=NOW)
    assert (rule, effects) == ("RECORDED", (DropLosses("shop", "job", (loss(3, 12),), NOW),))


@pytest.mark.parametrize(
    "job", [None, replace(JOB, uid="another"), replace(JOB, is_deleting=True)], ids=str
)
def test_a_job_that_is_gone_or_made_again_gets_no_losses_of_the_former(
    job: JobLosses | None,
) -> None:
    assert decided(loss(3, 12), job=job, now=NOW + 1)[0] == "JOB_GONE"


def test_nothing_is_decided_without_a_report() -> None:
    assert decided(job=JOB, now=NOW) == ("UNREPORTED", (), None)


def test_what_is_reported_during_a_write_waits_for_the_next_one() -> None:
    written = SetLosses("shop", "job", Losses(), Losses(), (loss(3, 12), loss(4, 1)), NOW + 9)
    waiting = ReportedLosses("job", NOW, (loss(3, 20), loss(4, 1), loss(5, 2)))
    left = left_of(waiting, written)
    assert left == ReportedLosses("job", NOW + 9, (loss(3, 20), loss(5, 2)))


def test_of_two_reports_of_a_launch_the_higher_total_waits() -> None:
    first, more = loss(3, 12), loss(3, 20, at=NOW + 5)
    for one, other in pairwise((first, more, first)):
        (joined,) = joined_losses((one,), other)
        assert joined.tuples == 20
