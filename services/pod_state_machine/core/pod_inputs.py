"""The input of all parts of a pod: one launch and the runtime's settings; and their error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from contracts.resources.checkpoint_store import CHECKPOINT_PATH
from contracts.resources.processing_element import BuildType, ProcessingElementSpec
from services.pod_state_machine.core.snapshot import Assignment, Job, Pe

VALUE_CHARS_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class RuntimeImage:
    """The runtime image, and the defaults of pods (empty path: nothing is mounted).

    `gateway_url` is where PEs reach pe-gateway; empty: at the Service of their namespace.
    """

    registry: str = "docker.io"
    repository: str = "openstreams"
    build_type: BuildType = BuildType.DEBUG
    data_path: str = ""
    checkpoint_path: str = CHECKPOINT_PATH
    gateway_url: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a PE; `number` counts from 1, `spec` is the parsed spec of the PE.

    `place` is the node and pool of its pod, None if it may run anywhere.
    """

    pe: Pe
    job: Job
    spec: ProcessingElementSpec
    number: int
    runtime: RuntimeImage
    place: Assignment | None = None


class PodImpossible(ValueError):
    """No pod can be made of a PE; names the field, its value and the problem."""

    def __init__(self, field: str, value: object, why: str) -> None:
        shown = repr(value)
        if len(shown) > VALUE_CHARS_MAX:
            shown = f"{shown[:VALUE_CHARS_MAX]}…"
        super().__init__(f"{field}: {why} (it is {shown})")
        self.field = field
        self.value: Any = value
