"""Everything that a decision or an answer may look at, as frozen values.

How they are read from facts is `adapters/reading.py`; what follows from them is decided elsewhere
in this folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from contracts import labels
from contracts.losses import LaunchLoss, Losses
from contracts.resources import JOB, Connectivity
from millrace.protocol import HandOver
from services.launching.core.owners import Owner
from services.launching.core.pods import Pod as LaunchedPod

Values = tuple[tuple[str, Any], ...]
"""Fields of `status.runtime`, by name; None takes one away."""


@dataclass(frozen=True, slots=True)
class PeKey:
    """A processing element, by the name of its object."""

    kind: ClassVar[str] = "ProcessingElement"
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"ProcessingElement/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class LossesKey:
    """The lost tuples of a job, by the name of the Job."""

    kind: ClassVar[str] = JOB.kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"Job/{self.namespace}/{self.name}"


Key = PeKey | LossesKey


@dataclass(frozen=True, slots=True)
class Pe:
    """A processing element that exists; `launch` is the newest that its status has, 0: none.

    `runtime` is `status.runtime`, and `trace` the levels of the application and the runtime.
    `pack` is the ConfigMap and the key of its AADL; None: of a release without packs. `job_uid` is
    that of the Job that controls it; empty without one.
    """

    namespace: str
    name: str
    uid: str
    id: int
    job: str
    launch: int = 0
    connectivity: str = ""
    runtime: Values = ()
    content_id: str = ""
    pack: tuple[str, str] | None = None
    service: str = ""
    is_deleting: bool = False
    trace: tuple[str, str] = ("", "")
    job_uid: str = ""

    @property
    def key(self) -> PeKey:
        """Its key."""
        return PeKey(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class Report:
    """What a PE reported, until it is in the status or does not count any more.

    `connectivity` is None where it reported none; `before` is what the status had then. `runtime`
    is what the runtime reported of itself, and `lost_why` why the last of the tuples was lost.
    `launch` is that of the pod that reported; 0: nobody knows which. `at` is the time (unix
    seconds). `replaced`: connectivity of older reports whose write may be under way.
    """

    pe_uid: str
    connectivity: Connectivity | None
    launch: int
    before: str
    at: float
    runtime: Values = ()
    lost_why: str = ""
    replaced: frozenset[str] = frozenset()

    def is_newer_than(self, connectivity: str) -> bool:
        """Whether a status with this connectivity may have been written before this report."""
        return connectivity == self.before or connectivity in self.replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class PeOwner(Owner):
    """A PE as what launches pods."""

    noun = "PE"

    id: int
    job: str

    def pod_name(self, launch: int) -> str:
        """The name of the pod of a launch."""
        return labels.pod_name(self.job, self.id, self.uid, launch)


@dataclass(frozen=True, slots=True)
class PeSnapshot:
    """A PE and its last report, as far as they exist; with a report also its launches and pods."""

    key: PeKey
    pe: Pe | None
    report: Report | None
    owner: PeOwner | None = None
    pods: tuple[LaunchedPod, ...] = ()


@dataclass(frozen=True, slots=True)
class JobLosses:
    """What the status of a Job has of lost tuples, and for how long people see them (seconds)."""

    uid: str
    is_deleting: bool
    losses: Losses
    retention_s: int


@dataclass(frozen=True, slots=True)
class ReportedLosses:
    """What launches of a job reported as lost, until the status of the Job has it.

    `since` is when the first of them reported (unix seconds); one row for each launch.
    """

    job_uid: str
    since: float
    launches: tuple[LaunchLoss, ...]


@dataclass(frozen=True, slots=True)
class LossesSnapshot:
    """A Job and what its PEs reported as lost; `living` are the newest launches of its PEs."""

    key: LossesKey
    job: JobLosses | None
    reported: ReportedLosses | None
    living: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a PE; `pe_uid` is that of its owner; `pe`, `job` and `job_uid` are by its labels."""

    name: str
    uid: str
    pe_uid: str
    launch: int
    has_ended: bool
    is_deleting: bool = False
    ip: str = ""
    pe: str = ""
    job: str = ""
    job_uid: str = ""


@dataclass(frozen=True, slots=True)
class Region:
    """A parallel region."""

    namespace: str
    name: str
    alias: str
    width: int


class Endpoint(NamedTuple):
    """A port that a PE serves for others, by the name under which they look for it."""

    name: str
    pe: int
    port: int
    protocol: str


@dataclass(frozen=True, slots=True)
class PeService:
    """The headless Service in which a PE is found: of its job, or its own."""

    namespace: str
    name: str
    job: str
    scope: str = ""
    ports: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A Job that exists, and has its id.

    `hand_over`: the newest one. `bundle`: the name and the SHA-256 of its bundle; both may be
    empty. `generation` is that of the plan in force. `has_ended`: nothing is left to do.
    """

    namespace: str
    name: str
    id: int
    uid: str = ""
    hand_over: HandOver | None = field(default=None, hash=False)
    bundle: tuple[str, str] = ("", "")
    generation: int = 0
    has_ended: bool = False
