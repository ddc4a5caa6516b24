"""What a PE fails at, as its status says: for Healthy, `get` and `why`, in the same words.

1. A runtime that waits at a tuple says so itself.
2. With a store the launch ends there, and others follow, each for a short time. How it ended stands
   in the message until then, and in the condition BackingOff afterwards.
3. A later launch is past it once it is connected, and some seconds old: one that fails again, does
   so soon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from contracts.moments import past_s, unix_s_of
from contracts.reasons import Reason
from contracts.resources import Connectivity, PePhase

PASSED_S: Final = 15.0
"""A connected launch that is older has got past what the one before failed at."""
REMEMBERED_S: Final = 600.0
"""A launch that is older counts no restarts of before; nor does it fail at what they failed at."""
_ENDED: Final = (Reason.BACKING_OFF, Reason.POD_FAILED, Reason.TOO_MANY_RESTARTS)
_CONTAINER: Final = re.compile(r"Container \S+: [^:]+, exit code \d+.*", re.DOTALL)
_AT_TUPLE: Final = f"{Reason.OPERATOR_FAILED.value}: "
_WHAT_FOLLOWS: Final = re.compile(
    r"\.? (?:No restart follows, since spec\.|Pod \S+ was deleted [^ ]+ s after"
    r"|Container \S+: [^:]+, exit code \d).*",
    re.DOTALL,
)
_MAY_FAIL: Final = (PePhase.WAITING, PePhase.STARTING, PePhase.RUNNING, PePhase.FAILED)
Status = Mapping[str, Any]


def fails_at(status: Status, now_s: float) -> str:
    """At which tuple which operator of a PE fails, and why; empty where none does.

    A launch may wait there; or it ended there, and those after it count. `now_s`: unix seconds.
    """
    if status.get("phase") == PePhase.RUNNING:
        runtime = reported(status)
        if runtime.get("reason") == Reason.OPERATOR_FAILED:
            return str(runtime.get("message") or "")
    _, is_at_tuple, words = ended_with(status, now_s).partition(_AT_TUPLE)
    return words if is_at_tuple else ""


def hangs_at(status: Status, launch: int | None = None) -> str:
    """From which tuple which function of a PE does not return; empty where each does."""
    runtime = reported(status, launch)
    is_hanging = runtime.get("reason") == Reason.OPERATOR_HANGS
    return str(runtime.get("message") or "") if is_hanging else ""


def reported(status: Status, launch: int | None = None) -> Status:
    """What a launch of a PE reports, by default the newest; empty where an older one did, or none.

    A reader that knows a pod that is newer than the status names its launch.
    """
    runtime = status.get("runtime")
    newest = status.get("launchCount") if launch is None else launch
    if not isinstance(runtime, Mapping) or runtime.get("launch") != newest:
        return {}
    return runtime


def passed_at(status: Status) -> float | None:
    """When a connected launch after one that failed is past that (unix seconds); None: without."""
    over = _restart(status)
    if over is None or not _is_connected(status):
        return None
    return unix_s_of(over["lastTransitionTime"]) + PASSED_S


def ended_with(status: Status, now_s: float) -> str:
    """How the container of a PE ended that failed; empty once a launch after it is past that.

    Such as `Container pe: Error, exit code 18: ImportFailed: …`. `now_s`: unix seconds.
    """
    return _end_in(_words(status, now_s))


def ended_before(status: Status, launch: int) -> str:
    """How the launch ended that failed before this one of a PE; empty where none did, or later."""
    over = _restart(status)
    words = str(over.get("message") or "") if over is not None else ""
    return _end_in(words) if words.startswith(f"Launch {launch} follows") else ""


def _end_in(words: str) -> str:
    """How a container ended, out of a message that says so; empty out of another one."""
    found = _CONTAINER.search(words)
    return _WHAT_FOLLOWS.sub("", found.group()).rstrip(". ") if found else ""


def _words(status: Status, now_s: float) -> str:
    """What a status says of the launch that failed last."""
    if status.get("phase") not in _MAY_FAIL:
        return ""
    if status.get("reason") in _ENDED:
        return str(status.get("message") or "")
    over = _restart(status)
    if over is None or not status.get("restarts"):
        return ""
    age_s = now_s - past_s(unix_s_of(over["lastTransitionTime"]), now_s)
    is_past = _is_connected(status) and age_s >= PASSED_S
    return "" if is_past or age_s >= REMEMBERED_S else str(over.get("message") or "")


def _restart(status: Status) -> Status | None:
    """The condition that says why the newest launch followed, where that is a failure."""
    for each in status.get("conditions") or ():
        is_over = (each.get("type"), each.get("status")) == ("BackingOff", "False")
        if is_over and each.get("reason") == Reason.POD_FAILED:
            return each  # type: ignore[no-any-return]
    return None


def _is_connected(status: Status) -> bool:
    is_running = status.get("phase") == PePhase.RUNNING
    return is_running and status.get("connectivity") == Connectivity.FULL
