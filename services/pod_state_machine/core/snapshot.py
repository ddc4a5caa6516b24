"""What a decision may look at: one PE with its job, pods and gates, as frozen values.

The intake builds these from the table; nothing here knows how facts arrive or how writes leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.reasons import Reason
from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase


@dataclass(frozen=True, slots=True)
class PeKey:
    """The work of one processing element."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class JobKey:
    """The clean-up of one job's pods; a later job of the same name has another uid."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.uid}"


Key = PeKey | JobKey


DISRUPTED_BY_ITSELF = "TerminationByKubelet"
"""The kubelet threw the pod out, mostly because it used too much."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a PE; moments are in unix seconds, 0 where nothing is known of them.

    `disruption`: why the cluster took it away (eviction, preemption, drain), which is a failure and
    not somebody's wish to stop the PE. `deletion_due_at` is its deletion timestamp: when it should
    be gone. `blocked` says why a pending pod does not start. `restart` is the value of the PE's
    annotation that its launch answered. `pinned_to` is the node that it was made for, which says
    nothing of where it is; empty for a pod that may run anywhere.
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
    is_silent: bool = False
    is_set_aside: bool = False
    restart: str = ""
    pinned_to: str = ""

    @property
    def is_disrupted(self) -> bool:
        """Whether the cluster took it away, or is about to."""
        return bool(self.disruption)

    @property
    def is_forced(self) -> bool:
        """Whether it was deleted by force, so that only finalizers hold it."""
        return self.is_deleting and self.deletion_grace_s == 0

    @property
    def ended_by_itself(self) -> bool:
        """Whether its containers ended before anybody asked for its deletion."""
        asked_at = self.deletion_due_at - (self.deletion_grace_s or 0.0)
        return self.is_over and (not self.is_deleting or 0.0 < self.finished_at < asked_at)

    @property
    def is_over(self) -> bool:
        """Whether its containers run no more, and never will again."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch whose pod was there, whether or not it still is."""

    launch: int
    pod: str
    content_id: str


@dataclass(frozen=True, slots=True)
class Node:
    """What is known of a node that a pod is or was on."""

    name: str
    exists: bool = True
    is_ready: bool = True
    is_out_of_service: bool = False
    is_closed: bool = False
    """Cordoned, or it throws pods out."""
    hostname: str = ""
    """Its label `kubernetes.io/hostname`, mostly its name; empty where it has none."""

    @property
    def is_lost(self) -> bool:
        """Whether people or the cluster said that nothing runs on it any more."""
        return not self.exists or self.is_out_of_service


@dataclass(frozen=True, slots=True)
class Placement:
    """What is decided of one PE: the node that it goes to, empty where none is said.

    `generation` is the plan generation that the decision serves, None before the first.
    """

    generation: int | None
    node: str


@dataclass(frozen=True, slots=True)
class HostPool:
    """The host pool that a PE asks for; `has_claimed`: the node that the PE is assigned to."""

    name: str
    uid: str
    tags: tuple[str, ...] = ()
    is_exclusive: bool = False
    labels_members: bool = False
    has_claimed: bool = False

    @property
    def marks_members(self) -> bool:
        """Whether its members carry marks, which a pod waits for."""
        return self.is_exclusive or self.labels_members


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where a pod goes: a node, and the pool as whose member it was chosen, if any."""

    node: Node
    pool: HostPool | None = None


@dataclass(frozen=True, slots=True)
class RestartPolicies:
    """Which ends of a pod lead to a new launch, and what becomes of pods that failed or hang.

    `restarts_max` in a row, None for no limit. `failed_kept_s` and `failed_kept_max` limit failed
    pods that are kept. A pod that does not end counts as gone with its node after `node_loss_s`;
    `force_relaunch`: also without.
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
class Condition:
    """One condition of a PE's status, as it is written."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str


@dataclass(frozen=True, slots=True)
class PeStatus:
    """What a PE's status records: the write-ahead log of its launches.

    `launch_count` is 0 before anything was written. In phase Waiting, `launch_count` is the launch
    that is intended and `pod` still names the pod before it; else both speak of the same launch.
    `restarts` counts restarts in a row and spaces the next, which is due at `next_restart` (RFC
    3339). `observed_restart` is the value of the annotation that was acted upon last.
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
    conditions: tuple[Condition, ...] = ()

    def condition(self, type_: str) -> Condition | None:
        """The condition of this type."""
        return next((each for each in self.conditions if each.type == type_), None)


@dataclass(frozen=True, slots=True)
class Pe:
    """One processing element; `launch_floor` is `spec.launchCount`.

    `generation` is the plan generation that last wrote it, `metadata_generation` counts changes of
    its spec, and `resource_version` guards patches of its status. `restart` is the value of the
    annotation by which people ask for a launch. `spec` is the raw spec, from
    which pods are made.
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
    """What pods need to know of their job.

    Image and bundle are what a PE's spec may leave open; certificate and redis are what
    fusion-backend has made for all PEs of the job, empty before it has. `is_unconstrained`: its
    condition Placed says that pods may run anywhere, as releases said of every job that placed
    none.
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

    `pods` are those that a PE of this name controls or controlled, whatever its uid; `ended` are
    names of pods whose end was seen; `launched` is the newest launch of this very PE that is known
    to have had its pod; `last` is the pod of the newest launch as it was last seen, if it is gone.
    `nodes` are those that its pods, `last` too, the status and the placement name. `pes_of_job`
    counts the PEs that its job is known to have. `placement` is None where the job has none, `pool`
    where the PE asks for none, or there is none yet.
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
        """What is known of a node; one that nothing is known of does not exist."""
        found = (each for each in self.nodes if each.name == name)
        return next(found, Node(name, exists=False, is_ready=False))


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """What the clean-up of a job's pods looks at.

    `is_alive`: the job exists and is not being deleted. `is_orphaning`: it is or was deleted in a
    way that leaves its children alone. `has_pods`: pods with this job's uid exist that nobody
    deletes yet.
    """

    key: JobKey
    is_alive: bool
    is_orphaning: bool = False
    has_pods: bool = False


Snapshot = PeSnapshot | JobSnapshot


@dataclass(frozen=True, slots=True)
class Timing:
    """The clocks of the state machine, in seconds.

    News that only inform wait while a job is being submitted or resized, but `status_busy_s` at
    most; else that a pod starts waits for `status_settle_s`, since it will soon run.
    `restart_first_s` doubles with every restart in a row up to `restart_max_s`, and starts anew
    after a pod that lived for `restart_reset_s`. A pod on a node that is away hangs when it exceeds
    its deletion by `stuck_s`.
    """

    status_settle_s: float = 5.0
    status_busy_s: float = 60.0
    restart_first_s: float = 1.0
    restart_max_s: float = 300.0
    restart_reset_s: float = 600.0
    stuck_s: float = 10.0
