"""Troubles of launches that end as those before did."""

from __future__ import annotations

from history.why.rules import Trouble
from tests.unit.history.troubles import a_blocked_pe, ill
from tests.unit.history.why_cases import Case

IMPORT = "Container pe: Error, exit code 18: ImportFailed: No module named 'nowhere'."
STORE = "Container pe: Error, exit code 21: StoreFailed: redis does not answer."
OOM = "Container pe: OOMKilled, exit code 137."


def ended(trouble: Trouble, reason: str, end: str, *remedy: str) -> Case:
    scene = ill(a_blocked_pe(reason, f"The pod failed. {end}", phase="Failed"))
    return Case(scene, trouble, ("PE shop-0", end.rstrip(".")), remedy)


DELETE = "millrace delete shop -n default"
ENDINGS: dict[str, Case] = {
    "an application that cannot be imported": ended(
        Trouble.FAILS_EACH_TIME, "BackingOff", IMPORT, "Correct the application", DELETE
    ),
    "an application that cannot be imported, and is not restarted": ended(
        Trouble.ENDED, "PodFailed", IMPORT, "Correct the application", DELETE
    ),
    "an application that could not be imported too often": ended(
        Trouble.RESTARTS_EXHAUSTED, "TooManyRestarts", IMPORT, "Correct the application", DELETE
    ),
    "a value of another type": ended(
        Trouble.FAILS_EACH_TIME,
        "BackingOff",
        "Container pe: Error, exit code 25: ValueRefused: 'n' is no int.",
        "--param NAME=VALUE",
    ),
    "a state of another version": ended(
        Trouble.FAILS_EACH_TIME,
        "BackingOff",
        "Container pe: Error, exit code 22: StateRefused: it is of version 9.",
        "restore the store",
    ),
    "a store that may answer again": ended(
        Trouble.BACKING_OFF, "BackingOff", STORE, "it is restarted by itself"
    ),
    "memory that is used up in each launch": ended(
        Trouble.BACKING_OFF, "BackingOff", OOM, "limits.memory in spec.processingElement.resources"
    ),
    "memory that was used up": ended(Trouble.ENDED, "PodFailed", OOM, "limits.memory"),
}
