"""Job: what a person submits.

People write the spec, fusion-backend the status. Defaults are those of the public documentation of
IBM Streams on Kubernetes; where the original's code differs, the documentation wins
(`imagePullPolicy: Always`, `buildType: debug`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import ConfigDict, Field

from contracts.labels import JOB_NAME_MAX_CHARS
from contracts.topics import RESOURCES

from .awaiting import AwaitedField
from .bundle import Bundle
from .conditions import Conditions, Time
from .custom_resource import (
    AGE_COLUMN,
    MESSAGE_COLUMN,
    REASON_COLUMN,
    CustomResource,
    PrinterColumn,
    Rule,
    condition_column,
    condition_message_column,
    never_changes,
    never_falls,
)
from .fields import (
    INT32_MAX,
    MESSAGE_CHARS_MAX,
    NAMES_MAX,
    NOT_NULLABLE,
    PROPERTIES_MAX,
    Count,
    Fields,
    Message,
    Number,
    ObjectName,
    ResourceRequirements,
    SubmissionValue,
    Text,
    rules,
)
from .hand_over import HandOverField
from .losses import LOSS_RETENTION_S, LossesField, LossRetention
from .processing_element import ImagePullPolicy, ProcessingElementTemplate
from .scaling import RegionWidth, Scaling
from .statistics import Statistics

PARALLEL_REGIONS_MAX: Final = 1024
CERTIFICATE_DAYS_MAX: Final = 36_500
RETRY_S: Final = 3_600
PES_DELETED_MAX: Final = 100_000
"""As many as a plan may have PEs."""


class FusionType(StrEnum):
    """How fusion treats the channels of parallel regions."""

    NO_CHANNEL_INFLUENCE = "noChannelInfluence"
    CHANNEL_ISOLATION = "channelIsolation"
    CHANNEL_EXLOCATION = "channelExlocation"


class Fusion(Fields):
    """How operators are fused into PEs: automatic, legacy or manual; nothing means automatic."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "[has(self.automatic) && self.automatic, has(self.legacy) && self.legacy, "
                "has(self.manual)].filter(on, on).size() <= 1",
                "automatic, legacy and manual exclude each other",
            )
        )
    )

    type: FusionType | None = Field(
        default=None,
        description="Channels fuse like all else, each by itself alone, or not with each other.",
    )
    automatic: bool | None = Field(
        default=None,
        description="The number of PEs follows from threads and CPU; channels stay whole.",
        json_schema_extra=NOT_NULLABLE,
    )
    legacy: bool | None = Field(
        default=None,
        description="One PE for each operator or group of operators that must share one.",
        json_schema_extra=NOT_NULLABLE,
    )
    manual: int | None = Field(
        default=None,
        ge=1,
        le=INT32_MAX,
        description="The number of PEs, at least 1.",
        json_schema_extra=NOT_NULLABLE,
    )


class DynamicThreading(Fields):
    """A pool of threads runs the operators of a PE."""

    elastic: bool = Field(default=False, description="Whether the PE adjusts the thread count.")
    thread_count: int | None = Field(
        default=None, ge=1, le=INT32_MAX, description="Number of threads."
    )


class ThreadingModel(Fields):
    """Which threads run the operators of a PE; absent: the runtime decides."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "[has(self.automatic) && self.automatic, has(self.dedicated) && self.dedicated, "
                "has(self.manual) && self.manual, has(self.dynamic)].filter(on, on).size() <= 1",
                "automatic, dedicated, dynamic and manual exclude each other",
            )
        )
    )

    automatic: bool | None = Field(
        default=None,
        description="The runtime chooses.",
        json_schema_extra=NOT_NULLABLE,
    )
    dedicated: bool | None = Field(
        default=None, description="One thread for each input port.", json_schema_extra=NOT_NULLABLE
    )
    dynamic: DynamicThreading | None = Field(
        default=None, description="A pool of threads.", json_schema_extra=NOT_NULLABLE
    )
    manual: bool | None = Field(
        default=None,
        description="Threads only where the application says so.",
        json_schema_extra=NOT_NULLABLE,
    )


class Admission(StrEnum):
    """What is done about whether a job without host constraints fits on the nodes."""

    CHECK = "Check"
    REQUIRE = "Require"
    IGNORE = "Ignore"


class Services(StrEnum):
    """Which headless Services lead to the PEs of a job."""

    PER_JOB = "PerJob"
    PER_PE = "PerPE"


class JobPlacement(Fields):
    """How host constraints of the application are put into force."""

    topology_key: Text | None = Field(
        default=None,
        min_length=1,
        description="Node label whose values count as hosts; absent: kubernetes.io/hostname.",
    )
    required: bool = Field(
        default=True,
        description="Whether hostColocation, hostExlocation and hostIsolation must hold.",
    )
    node_name: bool = Field(
        default=False,
        description="Whether pods are bound to their node by spec.nodeName, past the scheduler.",
    )


class JobSpec(Fields):
    """What to run and how."""

    bundle: Bundle = Field(description="The application bundle.")
    fusion: Fusion = Field(
        default=Fusion(automatic=True),
        description="How operators are fused into PEs: one of automatic, legacy and manual.",
        json_schema_extra={"default": {"automatic": True}},
    )
    parallel_regions: list[RegionWidth] | None = Field(
        default=None,
        max_length=PARALLEL_REGIONS_MAX,
        description="First widths of parallel regions; later widths are set on ParallelRegion.",
    )
    submission_time_values: dict[str, SubmissionValue] | None = Field(
        default=None,
        max_length=PROPERTIES_MAX,
        description="Values of the application's submission-time parameters, by name.",
    )
    submission_time_out_in_seconds: int = Field(
        default=300,
        ge=1,
        le=INT32_MAX,
        description="Seconds until a job that is not submitted yet fails.",
    )
    retry_seconds: int = Field(
        default=RETRY_S,
        ge=0,
        le=INT32_MAX,
        description="Seconds for which a submission that fails is tried again, if its cause can"
        " pass; 0: never.",
    )
    loss_retention_seconds: LossRetention = LOSS_RETENTION_S
    threading_model: ThreadingModel | None = Field(
        default=None, description="Which threads run the operators of a PE."
    )
    processing_element: ProcessingElementTemplate = Field(
        default_factory=ProcessingElementTemplate,
        description="Options of every PE of the job.",
        json_schema_extra={"default": {}},
    )
    resources: ResourceRequirements | None = Field(
        default=None,
        description="CPU and memory of the whole job, divided by the number of its PEs.",
    )
    image_pull_policy: ImagePullPolicy = Field(
        default=ImagePullPolicy.ALWAYS, description="When the image of a PE is pulled."
    )
    image_pull_secret: ObjectName | None = Field(
        default=None, description="Secret to pull the image of a PE with."
    )
    placement: JobPlacement | None = Field(
        default=None, description="How host constraints of the application are put into force."
    )
    admission: Admission | None = Field(
        default=None,
        description="Whether PEs without host constraints have to fit: Check reports, Require "
        "refuses; absent: Check.",
    )
    services: Services | None = Field(
        default=None,
        description="One headless Service for all PEs, or one for each; absent: PerJob.",
    )
    scaling: Scaling | None = Field(
        default=None, description="How new widths of parallel regions are taken up."
    )
    transport_certificate_validity_in_days: int = Field(
        default=30,
        ge=1,
        le=CERTIFICATE_DAYS_MAX,
        description="Days that a certificate between PEs is valid.",
    )

    # Written by the original's operator
    id: Number | None = Field(default=None, description="Ignored: see status.id.")
    generation_id: Number | None = Field(
        default=None, description="Ignored: see status.generation."
    )
    status: Text | None = Field(default=None, description="Ignored: see status.phase.")
    statistics: Statistics | None = Field(default=None, description="Ignored: see status.")
    parallel_region_widths: dict[str, Number] | None = Field(
        default=None,
        max_length=PROPERTIES_MAX,
        description="Ignored: see status.widths and ParallelRegion.",
    )


class JobPhase(StrEnum):
    """Where a job stands."""

    SUBMITTING = "Submitting"
    SUBMITTED = "Submitted"
    RESIZING = "Resizing"
    FAILED = "Failed"
    COMPLETED = "Completed"
    DELETING = "Deleting"


class JobCondition(StrEnum):
    """The conditions of a job, in the order in which they come true."""

    ACCEPTED = "Accepted"
    FUSED = "Fused"
    PLACED = "Placed"
    SUBMITTED = "Submitted"
    HEALTHY = "Healthy"
    COMPLETED = "Completed"


class TransportCertificate(Fields):
    """The certificate that the job's PEs share; its key is in the Secret and nowhere else."""

    secret_name: ObjectName = Field(description="Secret that holds certificate and key.")
    not_after: Time = Field(description="When the certificate expires.")
    renewed_from: Time = Field(description="When it is replaced by a new one.")


class JobStatus(Fields):
    """What is true of a job."""

    phase: JobPhase | None = Field(default=None, description="Where the job stands.")
    reason: Text | None = Field(default=None, description="Why, as one CamelCase word.")
    message: Message | None = Field(default=None, description="Why, as a sentence.")
    observed_generation: Count | None = Field(
        default=None, description="The metadata.generation that the status speaks of."
    )
    id: Count | None = Field(
        default=None,
        description="Job id, unique in the namespace; never changes.",
        json_schema_extra=NOT_NULLABLE,
    )
    generation: Count | None = Field(
        default=None,
        description="Plan generation: 0 at submission, one more with each resize; never falls.",
        json_schema_extra=NOT_NULLABLE,
    )
    bundle_digest: Text | None = Field(
        default=None, description="SHA-256 of the bundle that the job runs, hex."
    )
    processing_elements: Count | None = Field(
        default=None, description="Number of PEs of the plan in force."
    )
    widths: dict[str, Count] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="Width in force of each parallel region, by alias.",
    )
    started_at: Time | None = Field(
        default=None, description="When submission began; its time-out counts from here."
    )
    attempts: Count | None = Field(
        default=None, description="How many attempts to submit the job failed in a row."
    )
    first_failed_at: Time | None = Field(
        default=None, description="When the first of them failed; retrySeconds count from here."
    )
    next_attempt_at: Time | None = Field(
        default=None, description="When the next attempt begins, at the latest; absent without one."
    )
    awaited_nodes: AwaitedField = None
    observed_retry: Text | None = Field(
        default=None,
        description="Value of the annotation streams.ibm.com/retry that the status speaks of.",
    )
    deleted_processing_elements: list[Count] | None = Field(
        default=None,
        max_length=PES_DELETED_MAX,
        description="Ids of PEs that somebody deleted, and that their flag keeps from coming back.",
    )
    transport_certificate: TransportCertificate | None = Field(
        default=None, description="Where the certificate of PEs that talk over TLS is."
    )
    health_reported_at: Time | None = Field(
        default=None, description="When it was last reported how many PEs run; changes wait."
    )
    redis_config: str | None = Field(
        default=None, max_length=MESSAGE_CHARS_MAX, description="The redis servers of states."
    )
    hand_over: HandOverField = None
    losses: LossesField = None
    has_ended: bool | None = Field(default=None, description="Whether nothing is left to do.")
    conditions: Conditions = Field(default=[], description="Aspects of the job's state.")


NAME_RULE = Rule(
    rule=(
        f"size(self.metadata.name) <= {JOB_NAME_MAX_CHARS} && "
        "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    ),
    message=(
        f"metadata.name must be at most {JOB_NAME_MAX_CHARS} characters: a lower-case letter, then "
        "lower-case letters, digits and '-', not ending with '-'"
    ),
)


JOB = CustomResource(
    kind="Job",
    plural="streamsjobs",
    singular="streamsjob",
    short_name="stj",
    spec=JobSpec,
    status=JobStatus,
    description="A streaming application that runs.",
    topic=RESOURCES,
    root="Job",
    status_writers=("fusion-backend", "pe-gateway"),
    columns=(
        PrinterColumn("Status", "string", ".status.phase", "Where the job stands."),
        condition_column("Accepted", "Whether the spec, as it is now, is accepted."),
        condition_column("Healthy", "Whether every pod runs, and no loss is unacknowledged."),
        PrinterColumn("Generation", "integer", ".status.generation", "Plan generation."),
        PrinterColumn("PEs", "integer", ".status.processingElements", "Number of PEs."),
        REASON_COLUMN,
        MESSAGE_COLUMN,
        condition_message_column("Health", "Healthy"),
        AGE_COLUMN,
    ),
    rules=(NAME_RULE, never_changes("status", "id"), never_falls("status", "generation")),
)
