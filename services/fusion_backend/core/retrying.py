"""When a submission that failed is tried again: for as long as `spec.retrySeconds`, with back-off.

Everything follows from moments and counts in the status, so a service that restarts goes on. An
attempt begins before its time when what the last one lacked is there: see appearing.py for nodes,
bundle_rules.py for the bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from contracts import labels
from contracts.moments import moment_of, past_s, unix_s_of
from services.chassis.process.backoff import doubling_s
from services.fusion_backend.core.awaited import Awaited

FIRST_S = 5.0
MOST_S = 60.0
"""The longest pause between two attempts: what lacked is noticed after it at the latest."""
_BY_HAND = f"edit the Job, or give its annotation {labels.RETRY} a new value, to try again"


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of an attempt; `retry_s` is `spec.retrySeconds`.

    The next attempt begins before its time when `awaited` nodes appear or, where the bundle root is
    looked at (`looks_for_bundle`), the bundle.
    """

    can_pass: bool
    retry_s: int
    awaited: tuple[Awaited, ...] = ()
    looks_for_bundle: bool = False


def failure_fields(status: Mapping[str, Any], failure: Failure, now: float) -> dict[str, Any]:
    """The fields of the status after an attempt that failed at `now` (unix seconds)."""
    attempts = int(status.get("attempts") or 0) + 1
    first = status.get("firstFailedAt") or moment_of(now)
    if past_s(unix_s_of(first), now) == 0:
        first = moment_of(now)
    until = unix_s_of(first) + failure.retry_s
    next_at = min(now + doubling_s(FIRST_S, attempts, MOST_S), until)
    follows = failure.can_pass and now < until
    return {
        "attempts": attempts,
        "firstFailedAt": first,
        "nextAttemptAt": moment_of(next_at) if follows else None,
        "awaitedNodes": [each.to_json() for each in failure.awaited] or None if follows else None,
    }


def outlook(failure: Failure, fields: Mapping[str, Any]) -> str:
    """What follows the attempt, as a sentence without a full stop."""
    if not failure.can_pass:
        return f"it is not tried again by itself: {_BY_HAND}"
    limit = f"spec.retrySeconds is {failure.retry_s}"
    if fields["nextAttemptAt"] is None:
        return f"it is not tried again by itself, since {limit}: {_BY_HAND}"
    until = moment_of(unix_s_of(fields["firstFailedAt"]) + failure.retry_s)
    is_noticed = failure.awaited or failure.looks_for_bundle
    sooner = ", or when what it lacks is there" if is_noticed else ""
    return f"it is tried again at {fields['nextAttemptAt']}{sooner}, and until {until} ({limit})"


def next_attempt_at(status: Mapping[str, Any]) -> float | None:
    """When the next attempt begins (unix seconds); None if none follows by itself."""
    moment = status.get("nextAttemptAt")
    return unix_s_of(moment) if isinstance(moment, str) else None


def forgotten(status: Mapping[str, Any], *, all_: bool) -> tuple[tuple[str, None], ...]:
    """The fields to remove when an attempt begins; `all_`: failures so far do not count."""
    names = ("nextAttemptAt", "awaitedNodes", *(("attempts", "firstFailedAt") if all_ else ()))
    return tuple((name, None) for name in names if status.get(name) is not None)
