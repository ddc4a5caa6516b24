"""Lost tuples in the status of a Job: what it keeps, and what of that nobody has acknowledged.

1. pe-gateway counts what PEs report in `status.losses`: a total that never falls, and a row for
   each launch.
2. Somebody acknowledges a total: the annotation `streams.ibm.com/lossesAcknowledged` has it. No
   clock is compared, so no loss after it is hidden by a clock that is ahead.
3. Until then, or until `spec.lossRetentionSeconds` after the last loss, people are shown it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from contracts import labels
from contracts.moments import unix_s_of
from contracts.resources.fields import COUNT_MAX, INT32_MAX
from contracts.resources.losses import LOSS_RETENTION_S
from contracts.showing import agreeing, counted, shown

NAMED_MAX: Final = 5
"""Launches in a sentence; more are counted."""
OPERATORS_NAMED_MAX: Final = 3
_LOST_BY: Final[Mapping[str, str]] = {
    "OnTheWay": "sent to peers that were killed, and counted here",
    "PeerGone": "kept for peers that ended without a seal, and counted here",
    "InHand": "lost by the launch before, which was killed, and counted by this one",
    "OutOfState": "lost by the launch before, after it saved its state, and counted by this one",
    "LeftBehind": "lost by a launch or a PE that ended before, and counted by this one",
    "WentBack": "taken in, since its state was saved, by a PE that did not save it again",
}
"""Who lost what a launch counts, where that is not the launch itself (docs/guarantees.md)."""
_DIGITS_MAX: Final = len(str(COUNT_MAX))


@dataclass(frozen=True, slots=True)
class LaunchLoss:
    """What one launch of a PE lost; `total` is that of the job when this changed last.

    `since` and `last` are moments. What was `reported` has no `total` yet, which is 0 then.
    """

    pe: int
    uid: str
    launch: int
    tuples: int
    since: str
    last: str
    reason: str = ""
    total: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """The launch: its number, below the uid of its PE."""
        return self.uid, self.launch

    @property
    def is_of_others(self) -> bool:
        """Whether another PE may have lost them: this launch counts what it sent or inherited."""
        return self.reason in ("OnTheWay", "PeerGone", "LeftBehind", "WentBack")


@dataclass(frozen=True, slots=True)
class Losses:
    """What a Job's status keeps of lost tuples."""

    tuples: int = 0
    last: str = ""
    launches: tuple[LaunchLoss, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class Unacknowledged:
    """What people are shown: `tuples` of the `total` were lost since the acknowledgement.

    `launches` are those that lost some of them, the newest loss first. `expires_s` is when this is
    forgotten (unix seconds). `problem` is what is wrong with the acknowledgement; empty: nothing.
    """

    tuples: int
    total: int
    last: str
    launches: tuple[LaunchLoss, ...]
    has_more: bool
    expires_s: float
    problem: str


def losses_of(status: Mapping[str, Any]) -> Losses:
    """The losses of a status; none before the first."""
    found = status.get("losses")
    if not found:
        return Losses()
    rows = tuple(map(_row, found.get("launches") or ()))
    return Losses(int(found["tuples"]), str(found["last"]), rows, bool(found.get("hasMore")))


def _row(found: Mapping[str, Any]) -> LaunchLoss:
    return LaunchLoss(
        pe=int(found["processingElement"]),
        uid=str(found["uid"]),
        launch=int(found["launch"]),
        tuples=int(found["tuples"]),
        since=str(found["since"]),
        last=str(found["last"]),
        reason=str(found["reason"]),
        total=int(found["total"]),
    )


def losses_field(losses: Losses) -> dict[str, Any]:
    """`status.losses` with these."""
    return {
        "tuples": losses.tuples,
        "last": losses.last,
        "launches": [
            {
                "processingElement": each.pe,
                "uid": each.uid,
                "launch": each.launch,
                "tuples": each.tuples,
                "total": each.total,
                "since": each.since,
                "last": each.last,
                "reason": each.reason,
            }
            for each in losses.launches
        ],
        "hasMore": losses.has_more,
    }


def retention_s_of(spec: Mapping[str, Any]) -> int:
    """For how long people are shown a loss (seconds); 0: not at all.

    What no schema allows is bounded, as it is added to times.
    """
    limit_s = spec.get("lossRetentionSeconds")
    if not isinstance(limit_s, int) or isinstance(limit_s, bool):
        return LOSS_RETENTION_S
    return min(max(limit_s, 0), INT32_MAX)


def unacknowledged(
    status: Mapping[str, Any], acknowledged: str, retention_s: int, now: float
) -> Unacknowledged | None:
    """What people are shown at `now` (unix seconds); None if there is nothing.

    `acknowledged` is the value of the annotation, whatever it is; empty without one.
    """
    losses = losses_of(status)
    done, problem = _acknowledged(acknowledged, losses.tuples)
    if losses.tuples <= done or not retention_s:
        return None
    expires_s = unix_s_of(losses.last) + retention_s
    if now >= expires_s:
        return None
    rows = sorted(losses.launches, key=lambda each: each.total, reverse=True)
    rows = [each for each in rows if each.total > done]
    return Unacknowledged(
        tuples=losses.tuples - done,
        total=losses.tuples,
        last=losses.last,
        launches=tuple(rows),
        has_more=losses.has_more,
        expires_s=expires_s,
        problem=problem,
    )


def unacknowledged_of(
    metadata: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any], now: float
) -> Unacknowledged | None:
    """The same of a Job as the API server gives it; None also for one that has no form."""
    try:
        annotations = metadata.get("annotations") or {}
        acknowledged = str(annotations.get(labels.LOSSES_ACKNOWLEDGED) or "")
        return unacknowledged(status, acknowledged, retention_s_of(spec), now)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _acknowledged(text: str, total: int) -> tuple[int, str]:
    """How many are acknowledged, and what is wrong with the text.

    What is not lost yet cannot be acknowledged: a number too large would hide what comes.
    """
    if not text:
        return 0, ""
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX
    if is_number and int(text) <= total:
        return int(text), ""
    says = f"annotation {labels.LOSSES_ACKNOWLEDGED} of the Job is {shown(text, 40)!r}"
    takes = f"it takes the digits of a number from 0 to {total}, and no more"
    return 0, f"{says}, which acknowledges nothing: {takes}"


def sentence_of(found: Unacknowledged, operators: Mapping[int, Sequence[str]]) -> str:
    """How many were lost, when and whose, of the newest losses, without a full stop.

    `operators` are those of each PE by its id, as far as they are known.
    """
    were = f"{counted(found.tuples, 'tuple')} {agreeing(found.tuples, 'were')}"
    named = [_of_launch(each, operators.get(each.pe, ())) for each in found.launches[:NAMED_MAX]]
    more = len(found.launches) - NAMED_MAX
    if more > 0:
        named.append(counted(more, "more launch", "more launches"))
    if found.has_more:
        named.append("launches that the status has no room for")
    return f"at most {were} lost: {'; '.join(named)}"


def _of_launch(each: LaunchLoss, operators: Sequence[str]) -> str:
    named = [shown(name, 60) for name in operators[:OPERATORS_NAMED_MAX]]
    with_ = f" ({', '.join((*named, *['…'] * (len(operators) > len(named))))})" if named else ""
    time = f"at {each.last}" if each.since == each.last else f"from {each.since} to {each.last}"
    by = _LOST_BY.get(each.reason, "")
    reason = f", {each.reason}{f' ({by})' if by else ''}" if each.reason else ""
    return f"PE {each.pe}{with_}, launch {each.launch}: {each.tuples} {time}{reason}"
