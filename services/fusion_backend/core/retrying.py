"""When a submission that failed is tried again: for as long as `spec.retrySeconds`, with back-off.

Everything follows from moments and counts in the status, so a service that restarts goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts import labels
from contracts.moments import moment_of, unix_s_of
from services.chassis.process.backoff import doubling_s

FIRST_S = 5.0
MOST_S = 60.0
"""The longest pause between two attempts: what lacked is noticed after it at the latest."""
_BY_HAND = f"edit the Job, or give its annotation {labels.RETRY} a new value, to try again"


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of an attempt; `retry_s` is `spec.retrySeconds`."""

    can_pass: bool
    retry_s: int


def failure_fields(status: Mapping[str, Any], failure: Failure, now: float) -> dict[str, Any]:
    """The fields of the status after an attempt that failed at `now` (unix seconds)."""
    attempts = int(status.get("attempts") or 0) + 1
    first = status.get("firstFailedAt") or moment_of(now)
    until = unix_s_of(first) + failure.retry_s
    next_at = min(now + doubling_s(FIRST_S, attempts, MOST_S), until)
    follows = failure.can_pass and now < until
    return {
        "attempts": attempts,
        "firstFailedAt": first,
        "nextAttemptAt": moment_of(next_at) if follows else None,
    }


def outlook(failure: Failure, fields: Mapping[str, Any]) -> str:
    """What follows the attempt, as a sentence without a full stop."""
    if not failure.can_pass:
        return f"it is not tried again by itself: {_BY_HAND}"
    limit = f"spec.retrySeconds is {failure.retry_s}"
    if fields["nextAttemptAt"] is None:
        return f"it is not tried again by itself, since {limit}: {_BY_HAND}"
    until = moment_of(unix_s_of(fields["firstFailedAt"]) + failure.retry_s)
    return f"it is tried again at {fields['nextAttemptAt']}, and until {until} ({limit})"


def next_attempt_at(status: Mapping[str, Any]) -> float | None:
    """When the next attempt begins (unix seconds); None if none follows by itself."""
    moment = status.get("nextAttemptAt")
    return unix_s_of(moment) if isinstance(moment, str) else None


def forgotten(status: Mapping[str, Any], *, all_: bool) -> tuple[tuple[str, None], ...]:
    """The fields to remove when an attempt begins; `all_`: failures so far do not count."""
    names = ("nextAttemptAt", "attempts", "firstFailedAt") if all_ else ("nextAttemptAt",)
    return tuple((name, None) for name in names if status.get(name) is not None)
