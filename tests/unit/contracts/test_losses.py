"""What people are shown of lost tuples: until they acknowledge it, or for a time."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from contracts.losses import (
    LaunchLoss,
    Losses,
    Unacknowledged,
    losses_field,
    losses_of,
    retention_s_of,
    sentence_of,
    unacknowledged,
    unacknowledged_of,
)
from contracts.moments import moment_of, unix_s_of
from contracts.resources.fields import INT32_MAX

FIRST, LAST = "2026-11-20T09:00:00Z", "2026-11-20T10:00:00Z"
LAST_S = unix_s_of(LAST)
DAY_S = 86_400
OLD = LaunchLoss(3, "u3", 1, 12, FIRST, FIRST, "OnTheWay", total=12)
NEW = LaunchLoss(5, "u5", 2, 3, LAST, LAST, "StoppedLate", total=15)
STATUS = {"losses": losses_field(Losses(15, LAST, (OLD, NEW)))}


def shown(acknowledged: str = "", retention_s: int = DAY_S, after_s: float = 60.0) -> Any:
    """What people are shown so long after the last loss."""
    return unacknowledged(STATUS, acknowledged, retention_s, LAST_S + after_s)


def test_a_status_is_read_as_it_was_written() -> None:
    losses = Losses(15, LAST, (OLD, NEW), has_more=True)
    assert losses_of({"losses": losses_field(losses)}) == losses
    assert losses_of({}) == Losses()


def test_all_that_was_lost_is_shown_until_it_is_acknowledged() -> None:
    found = shown()
    assert (found.tuples, found.total, found.launches) == (15, 15, (NEW, OLD))
    assert shown("15") is None


def test_a_loss_after_the_acknowledgement_is_shown_again_and_alone() -> None:
    found = shown("12")
    assert (found.tuples, found.total, found.launches) == (3, 15, (NEW,))


def test_a_loss_is_shown_for_its_time_after_the_last_one() -> None:
    assert shown(after_s=DAY_S - 1).expires_s == LAST_S + DAY_S
    assert shown(after_s=DAY_S) is None
    assert shown(retention_s=10, after_s=9.0) is not None
    assert shown(retention_s=10, after_s=10.0) is None


def test_with_a_retention_of_0_nothing_is_shown() -> None:
    assert shown(retention_s=0, after_s=-60.0) is None


def test_a_loss_that_a_clock_ahead_recorded_is_shown_and_can_be_acknowledged() -> None:
    """The clock jumped back since; a loss is rather shown too long than not at all."""
    assert shown(after_s=-10 * DAY_S).tuples == 15
    assert shown("15", after_s=-10 * DAY_S) is None


@pytest.mark.parametrize(
    "text", ["16", "-1", "+15", "1e1", "15.0", " 15", "abc", "٣", "9" * 400, "\x1b[31m15", "null"]
)
def test_a_wrong_acknowledgement_does_not_count_and_is_explained(text: str) -> None:
    found = shown(text)
    assert found.tuples == 15
    assert found.problem.startswith(f"annotation {labels.LOSSES_ACKNOWLEDGED} of the Job is ")
    assert found.problem.endswith(
        ", which acknowledges nothing: it takes the digits of a number from 0 to 15, and no more"
    )
    assert found.problem.isprintable()
    assert len(found.problem) < 240


@pytest.mark.parametrize(
    "retention",
    [2**31, 10**30, 10**400, -1, -(10**400), True, 1e300, "9"],
    ids=lambda each: str(each)[:12],
)
def test_a_retention_that_no_schema_allows_is_taken_for_the_nearest_or_the_default(
    retention: Any,
) -> None:
    """An object that an older release stored, or that a definition without bounds let pass."""
    limit_s = retention_s_of({"lossRetentionSeconds": retention})
    assert limit_s in (0, DAY_S, INT32_MAX)
    found = unacknowledged_of({}, {"lossRetentionSeconds": retention}, STATUS, LAST_S + 1)
    assert (found is None) == (limit_s == 0)
    assert found is None or moment_of(found.expires_s) > LAST


def test_a_job_without_losses_has_nothing_to_show_whatever_is_acknowledged() -> None:
    assert unacknowledged({}, "7", DAY_S, LAST_S) is None


def test_a_job_as_the_api_server_gives_it_is_read_and_one_without_form_shows_nothing() -> None:
    metadata = {"annotations": {labels.LOSSES_ACKNOWLEDGED: "12"}}
    assert unacknowledged_of(metadata, {}, STATUS, LAST_S).tuples == 3  # type: ignore[union-attr]
    spec = {"lossRetentionSeconds": 5}
    assert unacknowledged_of({}, spec, STATUS, LAST_S + 5) is None
    for broken in ({"losses": {"tuples": 1}}, {"losses": [1]}, {"losses": "x"}):
        assert unacknowledged_of({}, {}, broken, LAST_S) is None


def test_the_sentence_says_how_many_when_whose_and_why() -> None:
    assert sentence_of(shown(), {5: ["Count", "Sum"]}) == (
        "at most 15 tuples were lost: PE 5 (Count, Sum), launch 2: 3 at 2026-11-20T10:00:00Z,"
        " StoppedLate; PE 3, launch 1: 12 at 2026-11-20T09:00:00Z, OnTheWay"
        " (sent to peers that were killed, and counted here)"
    )


@pytest.mark.parametrize(
    ("cause", "by"),
    [
        ("InHand", " (lost by the launch before, which was killed, and counted by this one)"),
        ("LeftBehind", " (lost by a launch or a PE that ended before, and counted by this one)"),
        (
            "WentBack",
            " (taken in, since its state was saved, by a PE that did not save it again)",
        ),
        ("PeerGone", " (kept for peers that ended without a seal, and counted here)"),
        ("StoppedLate", ""),
        ("HeldBack", ""),
        ("ACauseOfANewerRuntime", ""),
    ],
)
def test_the_sentence_says_who_lost_them_where_another_launch_counts_them(
    cause: str, by: str
) -> None:
    row = LaunchLoss(3, "u3", 2, 12, FIRST, FIRST, cause, total=12)
    found = Unacknowledged(12, 12, FIRST, (row,), False, LAST_S, "")
    assert sentence_of(found, {}) == (
        f"at most 12 tuples were lost: PE 3, launch 2: 12 at {FIRST}, {cause}{by}"
    )


def test_the_sentence_is_short_however_many_launches_and_operators_there_are() -> None:
    rows = tuple(LaunchLoss(n, f"u{n}", 1, 1, FIRST, LAST, "OnTheWay", n) for n in range(1_000))
    found = Unacknowledged(1_000, 1_000, LAST, rows, True, LAST_S, "")
    text = sentence_of(found, {n: ["x" * 500] * 50 for n in range(1_000)})
    assert len(text) < 2_000
    assert text.endswith("; 995 more launches; launches that the status has no room for")
    assert f"from {FIRST} to {LAST}" in text
