"""What is measured, and the thresholds that it must keep, with where they come from."""

from __future__ import annotations

from dataclasses import dataclass

# The design's floor (architecture, section 8): necessary writes.
WRITES_PER_NEW_PE = 5  # ConfigMap, Service, PE, Pod, PE status
WRITES_PER_CHANGED_PE = 6  # ConfigMap, PE, PE status, Pod delete, Pod create, old ConfigMap delete
WRITES_PER_JOB = 20
# Our writes may exceed the floor's by this factor at WRITE_RATIO_AT PEs (issue of the foundation).
WRITE_RATIO_MAX = 1.1
WRITE_RATIO_AT = 100
FLOOR_IN_FLIGHT = 16
REGION = "Counted"


@dataclass(frozen=True, slots=True)
class Profile:
    """One size: a job of `pes` processing elements, one operator each, resized by `step`."""

    pes: int
    step: int = 1
    timeout_s: float = 300.0


DEFAULT_SIZES = (10, 100, 500)


def submit_floor_writes(pes: int) -> int:
    """The writes that a submission needs."""
    return WRITES_PER_JOB + WRITES_PER_NEW_PE * pes


def resize_floor_writes(added: int, changed: int) -> int:
    """The writes that a resize needs."""
    return WRITES_PER_JOB + WRITES_PER_NEW_PE * added + WRITES_PER_CHANGED_PE * changed
