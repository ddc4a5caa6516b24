"""Times of the injected clock as Kubernetes writes them: RFC 3339, UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(unix_s: float) -> str:
    return datetime.fromtimestamp(int(unix_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def unix_seconds(text: str) -> float:
    """The other way round; accepts fractions of a second as in MicroTime."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
