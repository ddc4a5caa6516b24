"""The effects of this service: frozen values, which adapters/carry_out.py carries out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from services.launching.core import effects as of_launches


@dataclass(frozen=True, slots=True)
class DeletePodsOfJob:
    """Delete every pod with a job's uid; the job is confirmed to be gone or deleting first."""

    kind: ClassVar[str] = "Pod"
    job: str
    job_uid: str


@dataclass(frozen=True, slots=True)
class ResizePod:
    """Change CPU and memory of the PE's container in a pod that runs.

    `resources` are (limits or requests, resource, quantity).
    """

    kind: ClassVar[str] = "Pod"
    name: str
    uid: str
    resources: tuple[tuple[str, str, str], ...]


Effect = of_launches.Effect | DeletePodsOfJob | ResizePod
