"""What the parts of a pod are made of: one launch, the runtime's settings, and a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from contracts.resources.processing_element import BuildType, ProcessingElementSpec
from services.pod_state_machine.core.snapshot import Assignment, Job, Pe

VALUE_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class RuntimeImage:
    """Where the runtime image is, and what pods fall back to (empty paths: nothing is mounted)."""

    registry: str = "docker.io"
    repository: str = "openstreams"
    build_type: BuildType = BuildType.DEBUG
    data_path: str = ""
    checkpoint_path: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a PE; `number` counts from 1, `spec` is the PE's, read.

    `place` is where its pod goes, None where it may run anywhere.
    """

    pe: Pe
    job: Job
    spec: ProcessingElementSpec
    number: int
    runtime: RuntimeImage
    place: Assignment | None = None


class PodImpossible(ValueError):
    """No pod can be made of a PE as it is; names the field, its value and what is wrong."""

    def __init__(self, field: str, value: object, why: str) -> None:
        shown = repr(value)
        if len(shown) > VALUE_CHARS_MAX:
            shown = f"{shown[:VALUE_CHARS_MAX]}…"
        super().__init__(f"{field}: {why} (it is {shown})")
        self.field = field
        self.value: Any = value
