"""Everything that a decision about one job may look at, as a frozen value.

The shell (`adapters/intake.py`) fills it from the table, from plan records that were read and from
results of the planner. Children are the table's own entries, found by kind and name: a job of 500
PEs has 2,500 of them, so nothing is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from contracts import labels
from contracts.losses import retention_s_of
from contracts.reasons import Reason
from contracts.resources import CUSTOM_RESOURCES
from contracts.resources.fields import TEXT_CHARS_MAX, WIDTH_MAX
from contracts.resources.job import RETRY_S, Services
from contracts.unreadable import Unreadable, part_of
from planner.numbering.records import PeRecord, PlanRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry, annotation, label
from services.fusion_backend.core.effects import RequestedWidths
from services.fusion_backend.core.remembering import Remembered
from services.fusion_backend.core.rooms import NodeRoom
from services.fusion_backend.core.seen import controlling_job
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.inputs import PlanInputs
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES, PodRules
from services.fusion_backend.core.spec.provisions import Provisions

SUBMISSION_TIME_OUT_S = 300
CHILD_KINDS = (
    "ConfigMap",
    "Service",
    *(each.kind for each in CUSTOM_RESOURCES if each.created_by == "fusion-backend"),
)


@dataclass(frozen=True, slots=True)
class JobSeen:
    """The Job as last seen."""

    namespace: str
    name: str
    uid: str
    generation: int
    deleting: bool
    orphaning: bool
    retry: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    losses_acknowledged: str = ""

    @staticmethod
    def of(entry: Entry) -> JobSeen:
        """The view of a Job's entry."""
        meta = entry.data["metadata"]
        return JobSeen(
            namespace=entry.namespace,
            name=entry.name,
            uid=entry.uid,
            generation=int(meta["generation"]),
            deleting=meta["deletionTimestamp"] is not None,
            orphaning=labels.ORPHAN_FINALIZER in meta["finalizers"],
            retry=str(meta["annotations"].get(labels.RETRY, ""))[:TEXT_CHARS_MAX],
            spec=part_of(entry.data, "spec"),
            status=part_of(entry.data, "status"),
            losses_acknowledged=annotation(entry, labels.LOSSES_ACKNOWLEDGED)[:TEXT_CHARS_MAX],
        )

    def spec_field(self, name: str) -> Any:
        """A field of the spec; None where it is absent, or where nobody can read the spec.

        For what a job that runs goes on without: its plan and its PEs hold what is in force.
        """
        return None if isinstance(self.spec, Unreadable) else self.spec.get(name)

    @property
    def time_out_s(self) -> float:
        """How long a submission may take, and a resize may wait for its placement."""
        limit_s = self.spec_field("submissionTimeOutInSeconds") or SUBMISSION_TIME_OUT_S
        return float(limit_s)

    @property
    def retry_s(self) -> int:
        """How long a submission that fails for a cause that can pass is tried again (seconds)."""
        limit_s = self.spec_field("retrySeconds")
        return limit_s if isinstance(limit_s, int) else RETRY_S

    @property
    def loss_retention_s(self) -> int:
        """For how long people are shown lost tuples (seconds); 0: not at all."""
        return retention_s_of({} if isinstance(self.spec, Unreadable) else self.spec)

    @property
    def phase(self) -> str:
        """The recorded phase; empty before the first status."""
        return str(self.status.get("phase") or "")

    @property
    def id(self) -> int | None:
        """The job id, once taken."""
        return self.status.get("id")

    @property
    def has_ended(self) -> bool:
        """Whether the status says that nothing of the job is left to do."""
        return bool(self.status.get("hasEnded"))

    @property
    def recorded_deletions(self) -> frozenset[int]:
        """PEs that somebody deleted and that are not created again, as the status records."""
        recorded = self.status.get("deletedProcessingElements")
        pes = recorded if isinstance(recorded, list) else []
        return frozenset(pe for pe in pes if isinstance(pe, int))

    @property
    def has_new_retry(self) -> bool:
        """Whether the annotation retry has another value than the status speaks of."""
        return self.retry != (self.status.get("observedRetry") or "")

    @property
    def plan_generation(self) -> int:
        """The newest plan generation that the status speaks of; -1 before the first."""
        recorded = self.status.get("generation")
        return -1 if recorded is None else int(recorded)


@dataclass(frozen=True)
class KnownPlan:
    """A plan record that was read or written by us, with what it was made from.

    What follows from the record alone is computed once, since a job keeps its plan for long; so is
    what a comparison with it says of a child that did not change (remembering.py).
    """

    record: PlanRecord
    inputs: PlanInputs
    port_labels_id: str
    warnings: tuple[str, ...] = ()

    @property
    def service(self) -> str:
        """The name of the Service of all PEs; empty where each PE has one."""
        if self.inputs.services is Services.PER_PE:
            return ""
        return labels.job_service_name(self.record.job_name)

    @cached_property
    def pes_by_name(self) -> Mapping[str, PeRecord]:
        """Its PEs by the names of their objects."""
        return {pe.name: pe for pe in self.record.pes}

    @cached_property
    def config_maps(self) -> Mapping[str, Sequence[PeRecord]]:
        """Its PEs by the name of the ConfigMap with their AADLs."""
        found: dict[str, list[PeRecord]] = {}
        for pe in self.record.pes:
            found.setdefault(pe.config_map, []).append(pe)
        return found

    @cached_property
    def as_planned(self) -> Remembered:
        """The PEs that are as planned."""
        return Remembered()

    @cached_property
    def sound(self) -> Remembered:
        """The children of the job that have an owner and our labels."""
        return Remembered()

    @cached_property
    def schedulable(self) -> Remembered:
        """The PEs whose pods the scheduler has not refused."""
        return Remembered()

    @cached_property
    def plain(self) -> Remembered:
        """The PEs that need neither a certificate nor redis."""
        return Remembered()


Outcome = PlanResult | PlanRefused


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong with an effect, or with planning, and is tried again.

    `since` the first failure in a row; not before `until` (unix seconds) where it is ours to wait.
    """

    reason: Reason
    text: str
    since: float
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class Damage:
    """Why a plan record cannot be read; `is_lost`: nobody can, so that it may as well go."""

    text: str
    is_lost: bool


@dataclass(frozen=True, slots=True)
class NotedReference:
    """What is wrong with a reference of an object, and since when that was observed (unix s)."""

    message: str
    since: float


@dataclass(frozen=True)
class Snapshot:
    """One job, its children, its plans and what the planner answered.

    `children` holds, by kind and name, what is of the Job; `strangers` what is of another Job of
    that name. `reported_gone` is the uid of one that only a record calls deleted.
    `heads` are the plan records seen, `plans` those that were read.
    `with_pods` are the uids of Jobs of this name that go, or are gone, and have pods that nobody
    deletes yet. `outcomes` are the planner's answers by inputs digest, `unplaced` what had no
    placement when these widths were requested, `texts` AADLs and port
    labels by content id, `troubled` digests whose planning failed for reasons of ours. `launches`
    is the highest launch seen of each PE, its pods included; `lost_widths` is what ParallelRegions
    that are gone required last, by name, unless it was refused. `strays` are ParallelRegions and
    HostPools that name the job and that no Job controls, `noted` what is wrong with them, by uid.
    `rooms` are the nodes that take pods, empty unless a resize goes on or an attempt may lack, or
    lacks, nodes; `bound` what the bound pods of PEs request, by PE, empty unless a resize goes on.
    `is_bundle_there`: the bundle that an attempt lacked was seen since. `resizes_in_place`:
    whether the cluster resizes pods that run, None before it was found for the newest plan.
    `width_max`, `pod_rules` and `runtime_image` (of PEs in Python whose Job names no image)
    are settings, and `has_bundle_folder`: whether the bundle root is a directory.
    """

    namespace: str
    name: str
    job: JobSeen | None = None
    children: Mapping[str, Mapping[str, Entry]] = field(default_factory=dict)
    strangers: tuple[Entry, ...] = ()
    pods: Mapping[int, tuple[Entry, ...]] = field(default_factory=dict)
    with_pods: frozenset[str] = frozenset()
    heads: Mapping[int, Entry] = field(default_factory=dict)
    plans: Mapping[int, KnownPlan] = field(default_factory=dict)
    damaged: Mapping[int, Damage] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    unplaced: Mapping[tuple[str, RequestedWidths], PlanRefused] = field(default_factory=dict)
    is_planning: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)
    troubled: Mapping[str, Trouble] = field(default_factory=dict)
    troubles: Mapping[str, Trouble] = field(default_factory=dict)
    name_taken: str = ""
    reported_gone: str = ""
    launches: Mapping[str, int] = field(default_factory=dict)
    lost_widths: Mapping[str, int] = field(default_factory=dict)
    provisions: Provisions = field(default_factory=Provisions)
    cluster: Cluster = field(default_factory=Cluster)
    strays: tuple[Entry, ...] = ()
    noted: Mapping[str, NotedReference] = field(default_factory=dict)
    rooms: tuple[NodeRoom, ...] = ()
    bound: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    is_bundle_there: bool = False
    has_bundle_folder: bool = False
    resizes_in_place: bool | None = None
    width_max: int = WIDTH_MAX
    pod_rules: PodRules = DEFAULT_RULES
    runtime_image: str = ""

    def pe_records(self, plan: KnownPlan) -> Mapping[int, PeRecord]:
        """The PEs of a plan by id; computed once for the newest plan."""
        if plan is self.newest:
            return self._newest_pes
        return {pe.id: pe for pe in plan.record.pes}

    @cached_property
    def _newest_pes(self) -> Mapping[int, PeRecord]:
        return {pe.id: pe for pe in self.newest.record.pes} if self.newest else {}

    def of(self, kind: str) -> Mapping[str, Entry]:
        """Children of a kind by name."""
        return self.children.get(kind) or {}

    @cached_property
    def newest_generation(self) -> int:
        """The newest generation that has a plan; -1 without a plan.

        A plan that we know and whose head somebody deleted still counts: it is written again.
        """
        return max((*self.heads, *self.plans), default=-1)

    @property
    def is_behind(self) -> bool:
        """Whether the status speaks of a newer generation than any plan that is left."""
        has_plan = self.newest_generation >= 0 and self.job is not None
        return has_plan and self.job.plan_generation > self.newest_generation  # type: ignore[union-attr]

    @property
    def newest(self) -> KnownPlan | None:
        """The newest plan, if its record was read."""
        return self.plans.get(self.newest_generation)


def job_uid_of(entry: Entry) -> str:
    """The uid of the Job that an object is of: its controller's, else that of its label."""
    owner = controlling_job(entry)
    return owner[1] if owner is not None else label(entry, labels.JOB_UID)


def stamp_of(entry: Entry) -> int:
    """The generation that last wrote an object; -1 where its label says nothing."""
    text = label(entry, labels.GENERATION)
    return int(text) if text.isdecimal() else -1


def plan_number(name: str, job: str) -> int | None:
    """The generation whose plan record has this name; None for parts and everything else."""
    prefix = labels.plan_name(job, 0)[:-1]
    rest = name.removeprefix(prefix)
    return int(rest) if rest != name and rest.isdecimal() else None


def plan_recorded_in(name: str, job: str) -> int | None:
    """The generation whose plan record, or a part of it, has this name; None for others."""
    whole = plan_number(name, job)
    return plan_number(name.rpartition(".")[0], job) if whole is None else whole
