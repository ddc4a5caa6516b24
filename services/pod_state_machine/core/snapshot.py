"""The input of decisions: one PE with its job, pods and gates, as frozen values.

The intake builds these from the table; nothing here depends on facts or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from contracts import labels
from contracts.resources import JOB
from contracts.resources.job import JobPhase
from millrace.protocol import HAND_OVER_S
from services.launching.core.nodes import NodeOfPod
from services.launching.core.owners import Owner
from services.launching.core.snapshot import LaunchSnapshot


@dataclass(frozen=True, slots=True)
class PeKey:
    """The key of one processing element."""

    kind: ClassVar[str] = "ProcessingElement"
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class JobKey:
    """The key of the clean-up of one job's pods; a later job of the same name has another uid."""

    kind: ClassVar[str] = JOB.kind
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.uid}"


Key = PeKey | JobKey


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer for one PE: its assigned node, empty if it has none.

    `generation` is the plan generation of the answer, None before the first.
    """

    generation: int | None
    node: str


@dataclass(frozen=True, slots=True)
class HostPool:
    """The host pool of a PE; `has_claimed`: it claimed the node that the PE is assigned to."""

    name: str
    uid: str
    tags: tuple[str, ...] = ()
    is_exclusive: bool = False
    labels_members: bool = False
    has_claimed: bool = False

    @property
    def marks_members(self) -> bool:
        """Whether its members get marks, for which a pod waits."""
        return self.is_exclusive or self.labels_members


@dataclass(frozen=True, slots=True)
class Assignment:
    """The node that a pod is created for, and its host pool, if any."""

    node: NodeOfPod
    pool: HostPool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pe(Owner):
    """One processing element; `spec` is the raw spec, from which pods are made.

    `is_stray`: no Job controls it and it never had a launch: somebody created it. `job_field` is
    the field that names its Job.
    `starts_last`: its first pod waits until the other PEs of the job are on nodes.
    `resizes_in_place`: its pod takes other resources while it runs. `launch_that_hands_over` is the
    launch whose runtime reports that it seals its state before a resize; 0: none does.
    `has_reported`: its runtime reported of this launch or of the one before. `rests_for`: its
    launch, and the generation for which it says that it comes to rest; -1: for none.
    """

    noun = "PE"

    id: int
    job: str
    job_uid: str
    labels: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    is_stray: bool = False
    job_field: str = "spec.job"
    starts_last: bool = False
    resizes_in_place: bool = False
    launch_that_hands_over: int = 0
    rests_for: tuple[int, int] = (0, -1)
    has_reported: bool = False

    @property
    def config_map(self) -> str:
        """The name of the ConfigMap that its AADL is in."""
        pack = self.pack
        return pack[0] if pack else labels.pe_config_map_name(self.job, self.id, self.content_id)

    @property
    def pack(self) -> tuple[str, str] | None:
        """The name of its pack and the key in it; None where the ConfigMap is its own."""
        pack = self.spec.get("pack")
        return (pack["name"], pack["key"]) if pack else None

    def pod_name(self, launch: int) -> str:
        """The name of the pod of a launch."""
        return labels.pod_name(self.job, self.id, self.uid, launch)


@dataclass(frozen=True, slots=True)
class Job:
    """The fields of a job that its pods depend on.

    Image and bundle are defaults for the PE's spec; fusion-backend makes certificate and redis for
    all PEs of the job, they are empty before. `is_unconstrained`: condition Placed has the reason
    NoConstraints, as releases without host constraints wrote for every job. `submitted_since` is
    since when its condition Submitted is True (unix seconds), 0 if it is not. `plan_generation` is
    the one in force; `hand_over_s` how long PEs may hand over (seconds), 0: they do not;
    `handed_over` the newest generation whose hand-over is complete; -1 before the first.
    `hand_over` is that of the newest one, and `gone` has the launches, by PE id, gone in it.
    """

    uid: str
    phase: JobPhase = JobPhase.SUBMITTING
    is_deleting: bool = False
    image_pull_policy: str = ""
    image_pull_secret: str = ""
    bundle: str = ""
    certificate_secret: str = ""
    redis_config: str = ""
    is_unconstrained: bool = False
    submitted_since: float = 0.0
    plan_generation: int = -1
    hand_over_s: int = HAND_OVER_S
    handed_over: int = -1
    hand_over: int = -1
    gone: Mapping[int, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeSnapshot(LaunchSnapshot):
    """Everything about one PE.

    `pes_of_job` counts the PEs of its job in the table. `placement` and `pool` are None if they do
    not exist (yet). `awaited_pe` is the name of a PE that has to be on a node before the first pod
    of this one is created; else empty. `is_id_taken`: a stray has the id of a PE of its Job.
    """

    key: PeKey
    owner: Pe | None
    job: Job | None
    has_pe_config_map: bool = False
    has_job_config_map: bool = False
    pes_of_job: int = 0
    placement: Placement | None = None
    pool: HostPool | None = None
    awaited_pe: str = ""
    is_id_taken: bool = False


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """The input of the clean-up of a job's pods.

    `is_alive`: the job exists and is not being deleted. `is_orphaning`: it is or was deleted with
    propagation policy Orphan. `has_pods`: pods with this job's uid exist that are not being
    deleted yet.
    """

    key: JobKey
    is_alive: bool
    is_orphaning: bool = False
    has_pods: bool = False


Snapshot = PeSnapshot | JobSnapshot
