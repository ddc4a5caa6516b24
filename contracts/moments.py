"""Moments as objects of the API carry them: UTC, RFC 3339; inside, time is unix seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def moment_of(unix_s: float) -> str:
    """Unix seconds as a `metav1.Time`, whole seconds: 2026-11-20T09:30:00Z."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_moment_of(unix_s: float) -> str:
    """Unix seconds as a `metav1.MicroTime`, as Leases want it: 2026-11-20T09:30:00.250000Z."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def unix_s_of(moment: str) -> float:
    """A moment of the API as unix seconds; ValueError for any other text."""
    return datetime.fromisoformat(moment).timestamp()
