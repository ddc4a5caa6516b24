"""Moments as objects of the API carry them: UTC, RFC 3339; inside, time is unix seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

CLOCKS_DIFFER_S: Final = 60.0
"""How far the clocks of two machines may be apart; a moment beyond that is of a wrong clock."""


def moment_of(unix_s: float) -> str:
    """Unix seconds as a `metav1.Time`, whole seconds: 2026-11-20T09:30:00Z."""
    return _utc(unix_s).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_moment_of(unix_s: float) -> str:
    """Unix seconds as a `metav1.MicroTime`, as Leases want it: 2026-11-20T09:30:00.250000Z."""
    return _utc(unix_s).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _utc(unix_s: float) -> datetime:
    """The moment; the first or the last one of the calendar where it is outside of it."""
    try:
        return datetime.fromtimestamp(unix_s, UTC)
    except (ValueError, OverflowError, OSError):
        last, first = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
        return last if unix_s > 0 else first


def unix_s_of(moment: str) -> float:
    """A moment of the API as unix seconds; ValueError for any other text, or without a zone."""
    parsed = datetime.fromisoformat(moment)
    if parsed.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone: end it with Z")
    return parsed.timestamp()


def past_s(unix_s: float, now: float) -> float:
    """A moment of the past (unix seconds); 0 for one that only a wrong clock can have written.

    What waits for some seconds after a moment would wait for hours where that clock was ahead.
    """
    return unix_s if unix_s <= now + CLOCKS_DIFFER_S else 0.0
