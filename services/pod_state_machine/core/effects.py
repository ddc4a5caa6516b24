"""The effects of this service: frozen values, which adapters/carry_out.py carries out."""

from __future__ import annotations

from dataclasses import dataclass

from services.launching.core import effects as of_launches


@dataclass(frozen=True, slots=True)
class DeletePodsOfJob:
    """Delete every pod with a job's uid; the job is confirmed to be gone or deleting first."""

    job: str
    job_uid: str


Effect = of_launches.Effect | DeletePodsOfJob
