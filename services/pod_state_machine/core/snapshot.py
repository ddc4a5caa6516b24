"""The input of decisions: one PE with its job, pods and gates, as frozen values.

The intake builds these from the table; nothing here depends on facts or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.reasons import Reason
from contracts.resources.conditions import StatedCondition
from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase


@dataclass(frozen=True, slots=True)
class PeKey:
    """The key of one processing element."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class JobKey:
    """The key of the clean-up of one job's pods; a later job of the same name has another uid."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.uid}"


Key = PeKey | JobKey


DISRUPTED_BY_ITSELF = "TerminationByKubelet"
"""The kubelet evicted the pod, mostly because it used too much."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a PE; times are in unix seconds, 0 if unknown.

    `disruption`: why the cluster removes it (eviction, preemption, drain), which is a failure and
    no request to stop the PE. `deletion_due_at` is its deletion timestamp: when it should be gone.
    `blocked` is why a pending pod does not start. `restart` is the value of the PE's annotation
    that its launch answered. `pinned_to` is the node that it was made for, whether or not it is
    there; empty for a pod that may run anywhere.
    """

    name: str
    uid: str
    owner_uid: str
    launch: int
    content_id: str
    phase: str
    is_deleting: bool = False
    disruption: str = ""
    disruption_message: str = ""
    generation: int | None = None
    node: str = ""
    created_at: float = 0.0
    finished_at: float = 0.0
    deletion_due_at: float = 0.0
    deletion_grace_s: float | None = None
    job_uid: str = ""
    problem: str = ""
    blocked: Reason | None = None
    is_unreported: bool = False
    is_set_aside: bool = False
    restart: str = ""
    pinned_to: str = ""

    @property
    def is_disrupted(self) -> bool:
        """Whether the cluster removed it, or is about to."""
        return bool(self.disruption)

    @property
    def is_forced(self) -> bool:
        """Whether it was deleted by force, so that only finalizers hold it."""
        return self.is_deleting and self.deletion_grace_s == 0

    @property
    def ended_by_itself(self) -> bool:
        """Whether its containers ended before its deletion was requested."""
        # deletionTimestamp is the time of the request plus the grace period.
        requested_at = self.deletion_due_at - (self.deletion_grace_s or 0.0)
        return self.is_over and (not self.is_deleting or 0.0 < self.finished_at < requested_at)

    @property
    def is_over(self) -> bool:
        """Whether its containers ended for good."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch whose pod existed, whether or not it still does."""

    launch: int
    pod: str
    content_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node that a pod is or was on, or that a PE is assigned to."""

    name: str
    exists: bool = True
    is_ready: bool = True
    is_out_of_service: bool = False
    is_closed: bool = False
    """Cordoned, or tainted with effect NoExecute."""
    hostname: str = ""
    """Its label `kubernetes.io/hostname`, mostly its name; empty without the label."""

    @property
    def is_lost(self) -> bool:
        """Whether it is certain that nothing runs on it: it is deleted or out of service."""
        return not self.exists or self.is_out_of_service


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

    node: Node
    pool: HostPool | None = None


@dataclass(frozen=True, slots=True)
class RestartPolicies:
    """Which ends of a pod lead to a new launch, and how failed and hanging pods are treated.

    `restarts_max` limits restarts in a row, None: no limit. `failed_kept_s` and `failed_kept_max`
    limit failed pods that are kept. A hanging pod counts as gone `node_loss_s` after its deletion
    if its node is lost; with `force_relaunch` in any case.
    """

    restart_failed: bool = True
    restart_completed: bool = False
    restart_deleted: bool = False
    delete_failed: bool = True
    failed_kept_s: float = 86_400.0
    failed_kept_max: int = 3
    restarts_max: int | None = None
    node_loss_s: float = 300.0
    force_relaunch: bool = False


@dataclass(frozen=True, slots=True)
class PeStatus:
    """The status of a PE: the write-ahead log of its launches.

    `launch_count` is 0 before the first status. In phase Waiting, `launch_count` is the intended
    launch and `pod` the pod of the one before; else both are of the same launch. `restarts` counts
    restarts in a row and determines the back-off; the next is due at `next_restart` (RFC 3339).
    `observed_restart` is the value of the annotation that was answered last.
    """

    phase: PePhase = PePhase.WAITING
    launch_count: int = 0
    pod: str = ""
    node: str = ""
    content_id: str = ""
    generation: int | None = None
    observed_generation: int = 0
    restarts: int = 0
    reason: str = ""
    message: str = ""
    next_restart: str = ""
    observed_restart: str = ""
    connectivity: str = ""
    conditions: tuple[StatedCondition, ...] = ()

    def condition(self, type_: str) -> StatedCondition | None:
        """The condition of this type."""
        return next((each for each in self.conditions if each.type == type_), None)


@dataclass(frozen=True, slots=True)
class Pe:
    """One processing element; `launch_floor` is `spec.launchCount`.

    `generation` is the plan generation that last wrote it, `metadata_generation` counts changes of
    its spec, and `resource_version` fences patches of its status. `restart` is the value of the
    annotation with which users request a launch. `spec` is the raw spec, from which pods are made.
    """

    namespace: str
    name: str
    uid: str
    id: int
    job: str
    job_uid: str
    content_id: str
    launch_floor: int
    metadata_generation: int
    policies: RestartPolicies
    status: PeStatus
    resource_version: int = 0
    generation: int | None = None
    is_deleting: bool = False
    is_orphaning: bool = False
    restart: str = ""
    created_at: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """The fields of a job that its pods depend on.

    Image and bundle are defaults for the PE's spec; fusion-backend makes certificate and redis for
    all PEs of the job, they are empty before. `is_unconstrained`: condition Placed has the reason
    NoConstraints, as releases without host constraints wrote for every job.
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


@dataclass(frozen=True, slots=True)
class PeSnapshot:
    """Everything about one PE; `pe` is None when only pods of it are left.

    `pods` are those that a PE of this name (any uid) controls or controlled; `ended` are names of
    pods whose end was observed; `launched` is the newest launch of this PE (by uid) that is known
    to have had a pod; `last` is the last observed state of the newest launch's pod, if it is gone.
    `nodes` are those that its pods, `last`, the status and the placement name. `pes_of_job` counts
    the PEs of its job in the table. `placement` and `pool` are None if they do not exist (yet).
    """

    key: PeKey
    pe: Pe | None
    job: Job | None
    pods: tuple[Pod, ...] = ()
    ended: frozenset[str] = frozenset()
    has_pe_config_map: bool = False
    has_job_config_map: bool = False
    launched: Launched | None = None
    last: Pod | None = None
    nodes: tuple[Node, ...] = ()
    pes_of_job: int = 0
    placement: Placement | None = None
    pool: HostPool | None = None

    def node(self, name: str) -> Node:
        """The node of this name; a Node that does not exist if the snapshot lacks it."""
        found = (each for each in self.nodes if each.name == name)
        return next(found, Node(name, exists=False, is_ready=False))


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


@dataclass(frozen=True, slots=True)
class Timing:
    """The clocks of the state machine, in seconds.

    A status that only informs waits while a job is being submitted or resized, for `status_busy_s`
    at most; otherwise status Starting waits `status_settle_s`, since it will soon run.
    `restart_first_s` doubles with every restart in a row up to `restart_max_s`; a pod that lived
    for `restart_reset_s` resets it. A pod on a node that is lost or not ready hangs `stuck_s` after
    its deletion timestamp.
    """

    status_settle_s: float = 5.0
    status_busy_s: float = 60.0
    restart_first_s: float = 1.0
    restart_max_s: float = 300.0
    restart_reset_s: float = 600.0
    stuck_s: float = 10.0
