"""What fusion-backend can do to the world, as values; `adapters/carry_out.py` does it.

An effect says which object and which outcome, never the object's text: bodies are made of the
snapshot by `children.py`, `recording.py` and `conditions.py` when the effect is carried out. No
effect carries the time, so that one that failed is recognised when it is decided on again. What
people read of an effect is shown (`contracts/showing.py`) when the effect is made: names and values
in it are of the author of the Job, and what is compared with a status is what is written to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from contracts.reasons import Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import shown
from planner.refusals import PlanRefused
from services.chassis.running.stage import Urgency
from services.fusion_backend.core.hand_over_changes import HandOverChange
from services.fusion_backend.core.retrying import Failure
from services.fusion_backend.core.seen import RefusedWidth
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs
from services.fusion_backend.core.spec.provisions import RedisRequest

ConditionState = Literal["True", "False", "Unknown"]
FieldValue = str | int | None | tuple[tuple[str, int], ...] | tuple[int, ...] | HandOverChange
RequestedWidths = tuple[tuple[str, int, int], ...]
"""Regions whose width is to change, each with the metadata.generation that says so, and how many
attempts to find a placement for it have failed."""
_PODS_WAIT_FOR = frozenset({"ConfigMap", "ProcessingElement", "HostPool", "Placement"})


def _urgency_of_child(kind: str, pe: int) -> Urgency:
    is_of_whole_job = kind == "Service" and pe < 0
    return Urgency.PROMPT if is_of_whole_job or kind in _PODS_WAIT_FOR else Urgency.PATIENT


class _WithMessage:
    """What has a `message` for people."""

    __slots__ = ()
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shown(self.message, MESSAGE_CHARS_MAX))


@dataclass(frozen=True, slots=True)
class DesiredCondition(_WithMessage):
    """One condition as it should stand."""

    type: str
    status: ConditionState
    reason: Reason
    message: str = ""


@dataclass(frozen=True, slots=True)
class Announcement(_WithMessage):
    """An Event about the Job. Its name has reason and `generation`, so it is emitted once."""

    reason: Reason
    message: str
    generation: int
    warning: bool = False


@dataclass(frozen=True, slots=True)
class JobStatusChange(_WithMessage):
    """What the Job's status should say; `starts` sets `startedAt` to the time of writing.

    A change without a phase changes conditions only. `is_of_older_spec`: it speaks of a spec that
    was edited since, so that `observedGeneration` stays as it is. `failure`: an attempt ends;
    when the next one begins depends on the time of writing, and the message says so. `missing` are
    names of PEs that the API server must not have. `reports_health`: what runs is reported, and not
    only that a plan was put in force a moment ago, whose pods are still to come up.
    """

    phase: str = ""
    reason: Reason = Reason.NOTHING_TO_CHANGE
    message: str = ""
    conditions: tuple[DesiredCondition, ...] = ()
    fields: tuple[tuple[str, FieldValue], ...] = ()
    starts: bool = False
    is_of_older_spec: bool = False
    reports_health: bool = False
    announcements: tuple[Announcement, ...] = ()
    missing: tuple[str, ...] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class TakeJobId:
    """Take an id for the Job and write it with the first status, in one patch."""

    job_uid: str
    change: JobStatusChange


@dataclass(frozen=True, slots=True)
class WriteJobStatus:
    """Patch the Job's status (and say its Events first)."""

    job_uid: str
    change: JobStatusChange


@dataclass(frozen=True, slots=True)
class Plan:
    """Ask the planner, and do not wait: its answer is kept under the digest and wakes the job."""

    job_uid: str
    inputs: PlanInputs

    @property
    def subject(self) -> str:
        """What it is for."""
        return f"plan of generation {self.inputs.generation}"


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """Read a plan record that was written before, once for its uid."""

    generation: int
    uid: str


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """Create the plan record of a generation from a result: this is the generation."""

    generation: int
    inputs: PlanInputs


@dataclass(frozen=True, slots=True)
class RefusalKept:
    """A refusal of the planner, of a placement, or of what PEs share."""

    reason: Reason
    field: str
    value: str
    message: str

    @staticmethod
    def of(refusal: PlanRefused) -> RefusalKept:
        """The refusal as a value."""
        return RefusalKept(refusal.reason, refusal.field, str(refusal.value), refusal.message)

    def refusal(self) -> PlanRefused:
        """The refusal again."""
        return PlanRefused(self.reason, field=self.field, value=self.value, message=self.message)


@dataclass(frozen=True, slots=True)
class WidthsUnplaced:
    """The observation that inputs have no placement for widths as they were requested."""

    job_uid: str
    digest: str
    widths: RequestedWidths
    refusal: RefusalKept


@dataclass(frozen=True, slots=True)
class KeepRefusal:
    """Remember that these widths have no placement, as if the planner had refused the inputs."""

    unplaced: WidthsUnplaced


@dataclass(frozen=True, slots=True)
class CreateChild:
    """POST one child of generation `generation`; `pe` is its PE's id, or -1.

    `confirmed` asks for a look at the Job first: a child that vanished may be the first sign of a
    deletion whose fact is still on its way. `planned_from` are the inputs of a plan that has no
    record yet: a host pool has to exist before the placement is requested. `starts_last`: the first
    pod of a new PE waits for the other PEs of the job.
    """

    kind: str
    name: str
    generation: int
    pe: int = -1
    confirmed: bool = False
    planned_from: PlanInputs | None = None
    starts_last: bool = False

    @property
    def urgency(self) -> Urgency:
        """Pods wait for some kinds; nothing waits for the others (docs/adr/0006, 0050)."""
        return _urgency_of_child(self.kind, self.pe)


@dataclass(frozen=True, slots=True)
class PatchChild:
    """Bring one child to what generation `generation` says, under the version decided on.

    `planned_from` as in CreateChild.
    """

    kind: str
    name: str
    generation: int
    resource_version: int
    pe: int = -1
    planned_from: PlanInputs | None = None

    @property
    def urgency(self) -> Urgency:
        """Pods wait for some kinds; nothing waits for the others (docs/adr/0006, 0050)."""
        return _urgency_of_child(self.kind, self.pe)


@dataclass(frozen=True, slots=True)
class AdoptChild:
    """Write again what somebody took off a child, owner or labels, under the version seen."""

    kind: str
    name: str
    resource_version: int

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class DeleteChild:
    """Delete a child that no plan names, or that no patch can repair, under uid and version."""

    kind: str
    name: str
    uid: str
    resource_version: int

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class DeleteChildren:
    """Delete by collection what was written for a Job's uid."""

    kind: str
    job_uid: str


@dataclass(frozen=True, slots=True)
class WriteRegionStatus(_WithMessage):
    """Patch the status of a ParallelRegion: the width in force, and what becomes of a new one.

    That is `refused`, or `awaited` is why it waits. `selector` and `scalable`: see counting.py.
    `wrong` is what the object names wrongly.
    """

    kind: ClassVar[str] = "ParallelRegion"
    name: str
    index: int
    width: int
    generation: int
    observed_generation: int
    reason: Reason
    message: str
    selector: str
    scalable: DesiredCondition
    refused: RefusedWidth | None = None
    awaited: Reason | None = None
    wrong: str = ""

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class NoteReference:
    """Remember since when an object names what does not exist; forget it without a message."""

    uid: str
    message: str

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class ReportReference(_WithMessage):
    """Write or, without a reason, remove the condition Accepted of an object that no Job controls.

    The message names field and value.
    """

    kind: str
    name: str
    uid: str
    reason: Reason | None = None
    message: str = ""

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class LookForBundle:
    """See whether the bundle that the last attempt lacked is in the bundle root, and whole."""

    job_uid: str
    source: BundleSource

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class ConfirmJobGone:
    """GET a Job that a record calls deleted: if the record is false, no other would correct it.

    The table learns one that is there; one that is not is not looked for again.
    """

    job_uid: str


@dataclass(frozen=True, slots=True)
class FindServers:
    """Look the servers of a redis up, and write them into the Job's status, for good."""

    job_uid: str
    request: RedisRequest


@dataclass(frozen=True, slots=True)
class FindResizing:
    """Find out whether the cluster resizes pods in place, for the plan of this generation."""

    job_uid: str
    generation: int


@dataclass(frozen=True, slots=True)
class KeepCertificate:
    """See that the Secret of the Job's certificate is there and fresh, and that the status says so.

    A new one is valid for `days`.
    """

    job_uid: str
    days: int


@dataclass(frozen=True, slots=True)
class DeleteCertificate:
    """Delete by collection the Secret that was made for a Job's uid."""

    job_uid: str


Effect = (
    TakeJobId
    | WriteJobStatus
    | Plan
    | ReadPlan
    | RecordPlan
    | KeepRefusal
    | CreateChild
    | PatchChild
    | AdoptChild
    | DeleteChild
    | DeleteChildren
    | WriteRegionStatus
    | FindResizing
    | FindServers
    | KeepCertificate
    | DeleteCertificate
    | NoteReference
    | ReportReference
    | ConfirmJobGone
    | LookForBundle
)
