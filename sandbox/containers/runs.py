"""What the kubelet sees of containers, and what it tells the container runtime: frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

Obj = Mapping[str, Any]


class Verdict(StrEnum):
    """What a probe has come to, by its thresholds."""

    UNKNOWN = "unknown"
    PASSED = "passed"  # and where there is no probe
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One process of a container, from its start; times in unix seconds.

    `number` is 0 for the first one. `reason` is that of an end which the exit code does not say:
    OOMKilled, StartError. `complaint` says which probe failed last, and why. `pid` is None
    before the process has started.
    """

    number: int
    began_s: float
    ended_s: float | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    is_stopping: bool = False
    startup: Verdict = Verdict.PASSED
    liveness: Verdict = Verdict.PASSED
    readiness: Verdict = Verdict.PASSED
    complaint: str = ""
    pid: int | None = None

    @property
    def is_starting(self) -> bool:
        return self.pid is None and not self.is_over

    @property
    def is_over(self) -> bool:
        return self.ended_s is not None

    @property
    def is_ready(self) -> bool:
        """Whether it runs and its probes say that it can be used."""
        passed = self.startup is self.readiness is Verdict.PASSED
        return not self.is_over and passed


Runs = tuple[Run, ...]
"""Of one container: the newest run last, and before it at most one more."""
Seen = Mapping[str, Runs]
"""By container; one that never started is not there."""


def newest(seen: Seen, container: str) -> Run | None:
    """The newest run of a container, if it ever started."""
    runs = seen.get(container, ())
    return runs[-1] if runs else None


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume, or `sub_path` in it, at an absolute path of a container."""

    volume: str
    path: str
    sub_path: str = ""
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class StartOrder:
    """Everything that a process of a container is started with.

    `spec` is the container as the pod has it: its probes, hooks and limits. `programs` are the
    commands that stand for words which begin one, as in `Programs`.
    """

    uid: str
    spec: Obj
    number: int
    command: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...]
    address: str
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    def numbered(self, number: int) -> StartOrder:
        """The same for another run."""
        return replace(self, number=number)
