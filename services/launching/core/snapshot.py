"""The input of decisions on launches: an owner with its pods, as frozen values.

The services that launch pods build these from their tables; nothing here depends on facts or
writes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from contracts.reasons import Reason
from contracts.resources.conditions import StatedCondition
from contracts.resources.processing_element import PePhase

DISRUPTED_BY_ITSELF = "TerminationByKubelet"
"""The kubelet evicted the pod, mostly because it used too much."""


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of an owner; times are in unix seconds, 0 if unknown.

    `disruption`: why the cluster removes it (eviction, preemption, drain), which is a failure and
    no request to stop the owner. `deletion_due_at` is its deletion timestamp: when it should be
    gone. `blocked` is why a pending pod does not start. `restart` is the value of the owner's
    annotation that its launch answered. `pinned_to` is the node that it was made for, whether or
    not it is there; empty for a pod that may run anywhere.
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
    """A node that a pod is or was on, or that an owner is assigned to."""

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
class LaunchStatus:
    """The status of an owner: the write-ahead log of its launches.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner(ABC):
    """What launches pods, one at a time; `launch_floor` is `spec.launchCount`.

    `generation` is the plan generation that last wrote it, `metadata_generation` counts changes of
    its spec, and `resource_version` fences patches of its status. `restart` is the value of the
    annotation with which users request a launch.
    """

    noun: ClassVar[str]
    """The name of its kind in messages."""

    namespace: str
    name: str
    uid: str
    content_id: str
    launch_floor: int
    metadata_generation: int
    policies: RestartPolicies
    status: LaunchStatus
    resource_version: int = 0
    generation: int | None = None
    is_deleting: bool = False
    is_orphaning: bool = False
    restart: str = ""
    created_at: float = 0.0

    @abstractmethod
    def pod_name(self, launch: int) -> str:
        """The name of the pod of a launch; no other launch of any owner has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSnapshot:
    """An owner with its pods, and the nodes that they are or were on.

    `owner` is None when only pods of it are left. `pods` are those that an owner of this name (any
    uid) controls or controlled; `ended` are names of pods whose end was observed; `launched` is the
    newest launch of this owner (by uid) that is known to have had a pod; `last` is the last
    observed state of the newest launch's pod, if it is gone. `nodes` are those that its pods,
    `last`, the status and the placement name.
    """

    owner: Owner | None
    pods: tuple[Pod, ...] = ()
    ended: frozenset[str] = frozenset()
    launched: Launched | None = None
    last: Pod | None = None
    nodes: tuple[Node, ...] = ()

    def node(self, name: str) -> Node:
        """The node of this name; a Node that does not exist if the snapshot lacks it."""
        found = (each for each in self.nodes if each.name == name)
        return next(found, Node(name, exists=False, is_ready=False))


@dataclass(frozen=True, slots=True)
class Context:
    """What a launch depends on beside its owner and pods; the owner's service fills it in.

    `has_lost_job`: the job is gone, is being deleted, or is another one of the same name.
    `is_job_busy`: it is being submitted or resized; `owners` counts the owners of the job.
    `has_mounts`: everything that the pod mounts exists. `awaited` is a sentence for users: what the
    node of the pod waits for, empty if it may be created. `node` is the assigned node, None for a
    pod that may run anywhere.
    """

    has_lost_job: bool
    is_job_busy: bool
    owners: int
    has_mounts: bool
    awaited: str
    node: str | None


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
