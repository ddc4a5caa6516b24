"""Ages as kubectl shows them: `45s`, `3m12s`, `5h`, `2d3h`, `400d`."""

from __future__ import annotations

from sandbox.store.timestamps import unix_seconds

UNKNOWN = "<unknown>"
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_YEAR_S = 365 * _DAY_S


def age(timestamp: str | None, now: float) -> str:
    """How long ago an RFC 3339 time was."""
    if not timestamp:
        return UNKNOWN
    return shown_duration(now - unix_seconds(timestamp))


def shown_duration(seconds: float) -> str:
    """Two units while the first is small, then one; never more precise than is useful."""
    if seconds < -1:
        return "<invalid>"
    whole_s = max(int(seconds), 0)
    for below_s, unit_s, unit, minor_s, minor in _STEPS:
        if whole_s < below_s:
            rest = whole_s % unit_s // minor_s if minor_s else 0
            return f"{whole_s // unit_s}{unit}" + (f"{rest}{minor}" if rest else "")
    return f"{whole_s // _YEAR_S}y"


_STEPS = (
    (2 * _MINUTE_S, 1, "s", 0, ""),
    (10 * _MINUTE_S, _MINUTE_S, "m", 1, "s"),
    (3 * _HOUR_S, _MINUTE_S, "m", 0, ""),
    (8 * _HOUR_S, _HOUR_S, "h", _MINUTE_S, "m"),
    (2 * _DAY_S, _HOUR_S, "h", 0, ""),
    (8 * _DAY_S, _DAY_S, "d", _HOUR_S, "h"),
    (2 * _YEAR_S, _DAY_S, "d", 0, ""),
    (8 * _YEAR_S, _YEAR_S, "y", _DAY_S, "d"),
)
