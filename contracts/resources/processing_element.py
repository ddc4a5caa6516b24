"""ProcessingElement: one PE of a job, and the template for all PEs at a Job's `processingElement`.

fusion-backend writes the spec (people may raise `spec.launchCount`), pod-state-machine the status.
Fields of the original that its operator wrote into the spec are accepted everywhere; what becomes
of them is in `accepting.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from contracts.labels import PE_CONTAINER
from contracts.topics import RESOURCES

from .checkpoint_store import CheckpointStore
from .conditions import Conditions, Time
from .custom_resource import (
    AGE_COLUMN,
    REASON_COLUMN,
    CustomResource,
    PrinterColumn,
    never_changes,
    never_falls,
)
from .fields import (
    INT32_MAX,
    NAMES_MAX,
    NOT_NULLABLE,
    Count,
    Fields,
    LongText,
    Message,
    Number,
    ObjectName,
    ResourceRequirements,
    Text,
    VolumeClaim,
    rules,
)
from .pod_template import PodTemplate
from .runtime_status import RuntimeStatus


class ImagePullPolicy(StrEnum):
    """When a node pulls an image."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class BuildType(StrEnum):
    """Which build of the runtime a PE runs."""

    DEBUG = "debug"
    RELEASE = "release"


class Connectivity(StrEnum):
    """How many of a PE's connections are up."""

    FULL = "Full"
    PARTIAL = "Partial"
    NONE = "None"


class HostPoolLocation(Fields):
    """The host pool, and perhaps the host in it, that a PE asks for."""

    pool_index: Count = Field(description="Index of the host pool.")
    inpool_index: Count | None = Field(default=None, description="Which host of the pool.")


class PlacementRequest(Fields):
    """Where a PE must run, as its operators ask for it."""

    host: Text | None = Field(default=None, description="Name or address of the required host.")
    co_locations: list[LongText] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="PEs that share one of these names run on one host.",
    )
    ex_locations: list[LongText] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="PEs that share one of these names run on different hosts.",
    )
    isolation: Text | None = Field(
        default=None, description="Name of the first operator that asks for a host of its own."
    )
    isolations: list[LongText] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="Names of all operators of the PE that ask for a host of its own.",
    )
    isolation_labels: list[LongText] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="Isolated operators of other PEs, whose hosts are to be avoided.",
    )
    host_pool_location: HostPoolLocation | None = Field(
        default=None, description="The host pool that the PE runs in."
    )
    topology_key: Text | None = Field(
        default=None,
        description="Node label whose values count as hosts; absent: kubernetes.io/hostname.",
    )
    required: bool = Field(
        default=True,
        description="Whether coLocations, exLocations and isolation must hold.",
    )
    node_name: bool = Field(
        default=False,
        description="Whether pods are bound to their node by spec.nodeName, past the scheduler.",
    )


_ONE_BUNDLE_NAME = (
    "!(has(self.sabName) && has(self.bundleName)) || self.sabName == self.bundleName",
    "sabName and bundleName are two names of one field",
)
_ONE_CHECKPOINT_STORE = (
    "!(has(self.checkpointRepository) && has(self.checkpointDataStore))",
    "checkpointRepository and checkpointDataStore are two names of one field: give one",
)

NO_ENCRYPTION: Final = "none"


def is_encrypted(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec, or of this template of a Job, talks over TLS."""
    return bool((spec.get("transportSecurityType") or NO_ENCRYPTION) != NO_ENCRYPTION)


_CHECKPOINT_STORES: Final = ("checkpointRepository", "checkpointDataStore")


def keeps_state(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec has a place where its state is kept."""
    return any(spec.get(name) for name in _CHECKPOINT_STORES)


def required_redis(spec: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The redis that a PE of this spec or template keeps checkpoints in, and the field's name."""
    for name in _CHECKPOINT_STORES:
        redis = (spec.get(name) or {}).get("redis")
        if redis:
            return name, redis
    return None


DEFAULT_RESOURCES: Final[JsonDict] = {"requests": {"cpu": "100m", "memory": "128Mi"}}


class ProcessingElementTemplate(Fields):
    """Options of every PE of a job."""

    model_config = ConfigDict(json_schema_extra=rules(_ONE_BUNDLE_NAME, _ONE_CHECKPOINT_STORE))

    # Image
    image: Text | None = Field(
        default=None,
        description="Full image reference; absent: that of millrace's runtime for an application "
        "in Python, else that of buildType.",
    )
    image_pull_policy: ImagePullPolicy | None = Field(
        default=None, description="When the image is pulled; absent: the Job's imagePullPolicy."
    )
    image_pull_secret: ObjectName | None = Field(
        default=None, description="Secret to pull the image with; absent: the Job's."
    )
    build_type: BuildType | None = Field(
        default=None,
        description="Build of the runtime: debug or release; absent: that of pod-state-machine's"
        " settings, which is debug.",
    )
    sab_name: ObjectName | None = Field(
        default=None,
        description="Name of the bundle that the PE loads; absent: the Job's bundle.",
        json_schema_extra=NOT_NULLABLE,
    )
    bundle_name: ObjectName | None = Field(
        default=None, description="Another name of sabName.", json_schema_extra=NOT_NULLABLE
    )

    # Debugging and tracing
    allow_ptrace: bool = Field(
        default=False, description="Adds the capability SYS_PTRACE, so that gdb can attach."
    )
    run_with_valgrind: bool = Field(
        default=False,
        description="Runs the PE under valgrind; implies buildType debug and allowPtrace.",
    )
    app_trace_level: Text | None = Field(
        default=None, description="Trace level of the application; absent: as compiled."
    )
    runtime_trace_level: Text = Field(
        default="INFO", description="Trace level of the runtime, such as INFO or DEBUG."
    )

    # Restart policies
    delete_failed_pod: bool = Field(
        default=True,
        description="Whether failed pods are deleted; false keeps them, and so their logs.",
    )
    failed_pod_time_to_live_in_seconds: int = Field(
        default=86_400,
        ge=0,
        le=INT32_MAX,
        description="Seconds for which a failed pod that is kept stays after its end.",
    )
    failed_pod_history_limit: int = Field(
        default=3,
        ge=0,
        le=INT32_MAX,
        description="How many failed pods of a PE are kept; the newest ones stay.",
    )
    failed_pod_retention_seconds: int = Field(
        default=3_600,
        ge=0,
        le=INT32_MAX,
        description="Seconds for which the failed pod of a PE that will not run again stays.",
    )
    restart_completed_pod: bool = Field(
        default=False,
        description="Whether a pod that ended with exit code 0 is restarted. Default: false.",
    )
    restart_deleted_pod: bool = Field(
        default=False,
        description="Whether a PE is launched again when somebody deletes its pod; by default that"
        " stops the PE.",
    )
    restart_failed_pod: bool | None = Field(
        default=None,
        description="Whether a failed pod is restarted; null: if all operators are restartable.",
    )
    max_restarts_in_a_row: int | None = Field(
        default=None,
        ge=1,
        le=INT32_MAX,
        description="Restarts in a row after which a failed PE stays Failed; absent: no limit.",
    )
    node_loss_time_out_in_seconds: int = Field(
        default=300,
        ge=0,
        le=INT32_MAX,
        description="Seconds after which a pod that still terminates counts as lost with its node.",
    )
    force_relaunch: bool = Field(
        default=False,
        description="Whether a pod that terminates is replaced after nodeLossTimeOutInSeconds.",
    )

    # Liveness probe
    initial_probe_delay_in_seconds: int = Field(
        default=30,
        ge=0,
        le=INT32_MAX,
        description="Seconds from the start to the first liveness probe.",
    )
    probe_interval_in_seconds: int = Field(
        default=10, ge=1, le=INT32_MAX, description="Seconds between two liveness probes."
    )
    probe_timeout_in_seconds: int | None = Field(
        default=None,
        ge=1,
        le=INT32_MAX,
        description="Seconds that a liveness probe may take; absent: 5 for the image"
        " millrace/runtime, 1 for others.",
    )
    probe_failure_threshold: int | None = Field(
        default=None,
        ge=1,
        le=INT32_MAX,
        description="Failed probes in a row after which the PE is killed; absent: 3 for the image"
        " millrace/runtime, 1 for others.",
    )

    # Resources, storage and secrets
    resources: ResourceRequirements = Field(
        default_factory=lambda: ResourceRequirements.model_validate(DEFAULT_RESOURCES),
        description="CPU and memory of a PE; resources of the Job, divided by its PEs, win.",
        json_schema_extra={"default": DEFAULT_RESOURCES},
    )
    transport_security_type: Text = Field(
        default=NO_ENCRYPTION,
        pattern=r"^(none|TLSv1(\.[0-3])?)$",
        description="Encryption between PEs: none, or a version of TLS such as TLSv1.2.",
    )
    data_path: Text | None = Field(
        default=None, description="Path on the node mounted at /data; dataVolumeClaim wins."
    )
    data_volume_claim: VolumeClaim | None = Field(
        default=None, description="Claim mounted at /data."
    )
    checkpoint_repository: CheckpointStore | None = Field(
        default=None,
        description="Where checkpoints are kept; absent: nowhere.",
        json_schema_extra=NOT_NULLABLE,
    )
    checkpoint_data_store: CheckpointStore | None = Field(
        default=None,
        description="Another name of checkpointRepository.",
        json_schema_extra=NOT_NULLABLE,
    )
    app_properties_secret: ObjectName | None = Field(
        default=None, description="Secret mounted at /etc/config/app."
    )
    restricted_properties_secret: ObjectName | None = Field(
        default=None, description="Secret mounted at /etc/config/restricted."
    )

    pod_template: PodTemplate | None = Field(
        default=None, description="What is added to the pods, in the form of a PodTemplateSpec."
    )

    # Written by fusion-backend
    id: Count | None = Field(default=None, description="PE id; written by fusion-backend.")
    content_id: Text | None = Field(
        default=None, description="SHA-256 of what the PE runs, hex; written by fusion-backend."
    )
    launch_count: int | None = Field(
        default=None,
        ge=0,
        le=INT32_MAX,
        description="Floor of status.launchCount: raise it to launch the PE again.",
    )
    placement: PlacementRequest | None = Field(
        default=None, description="Where the PE must run; written by fusion-backend."
    )
    operators: list[LongText] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="Names of the operators in the PE; written by fusion-backend.",
    )
    regions: list[Number] | None = Field(
        default=None,
        max_length=NAMES_MAX,
        description="Consistent regions of the PE; written by fusion-backend.",
    )
    connectivity: Connectivity | None = Field(
        default=None, description="Accepted from the original and ignored: see status."
    )

    @property
    def bundle(self) -> str | None:
        """The bundle's name under either of its names."""
        return self.sab_name or self.bundle_name

    @property
    def is_encrypted(self) -> bool:
        """Whether PEs talk over TLS, for which they need a certificate."""
        return self.transport_security_type != NO_ENCRYPTION

    @property
    def checkpoints(self) -> CheckpointStore | None:
        """The checkpoint store under either of its names."""
        return self.checkpoint_repository or self.checkpoint_data_store


class PackedContent(Fields):
    """Where the AADL of a PE is."""

    name: ObjectName = Field(description="Name of the ConfigMap.")
    key: Text = Field(description="Key of the PE's AADL in it.")


class ProcessingElementSpec(ProcessingElementTemplate):
    """What a PE runs and how."""

    id: Count = Field(description="PE id, unique in the job and never reused.")
    job: ObjectName | None = Field(default=None, description="Name of the Job.")
    generation: Count | None = Field(
        default=None,
        description="Plan generation that last changed the PE; never falls.",
        json_schema_extra=NOT_NULLABLE,
    )
    launch_count: int = Field(
        default=0,
        ge=0,
        le=INT32_MAX,
        description="Floor of status.launchCount: raise it to launch the PE again.",
    )
    service_name: Text | None = Field(
        default=None,
        max_length=63,
        pattern="^[a-z][-a-z0-9]*$",
        description="The headless Service in which pods have the host name JOB-PE; written by"
        " fusion-backend.",
    )
    pack: PackedContent | None = Field(
        default=None,
        description="The pack with the AADL of the PE; absent: a ConfigMap of its own, as older"
        " releases made it. Written by fusion-backend.",
    )
    starts_last: bool | None = Field(
        default=None,
        description="Whether the first pod waits until the job's other PEs are on nodes; written by"
        " fusion-backend.",
    )
    resizes_in_place: bool | None = Field(
        default=None,
        description="Whether the pod that runs takes other resources without a new launch; written"
        " by fusion-backend.",
    )


RESIZED_IN_PLACE: Final = "ResizedInPlace"
"""A condition of a PE: whether its pod took other resources; there only after a refusal."""


class PePhase(StrEnum):
    """Where a PE stands."""

    WAITING = "Waiting"
    STARTING = "Starting"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
    STOPPED = "Stopped"


class ProcessingElementStatus(Fields):
    """What is true of a PE."""

    phase: PePhase | None = Field(default=None, description="Where the PE stands.")
    reason: Text | None = Field(default=None, description="Why, as one CamelCase word.")
    message: Message | None = Field(default=None, description="Why, as a sentence.")
    observed_generation: Count | None = Field(
        default=None, description="The metadata.generation that the status speaks of."
    )
    generation: Count | None = Field(
        default=None,
        description="Plan generation of the newest launch.",
        json_schema_extra=NOT_NULLABLE,
    )
    launch_count: Count | None = Field(
        default=None,
        description="Number of launches so far; never falls.",
        json_schema_extra=NOT_NULLABLE,
    )
    pod: Text | None = Field(default=None, description="Name of the pod of the newest launch.")
    node: Text | None = Field(default=None, description="Node that the pod runs on.")
    content_id: Text | None = Field(
        default=None, description="SHA-256 of what the newest launch runs, hex."
    )
    restarts: Count | None = Field(
        default=None, description="Restarts in a row after failures; they space the next."
    )
    next_restart_time: Time | None = Field(
        default=None, description="When the next restart is due, while it backs off."
    )
    observed_restart: Text | None = Field(
        default=None,
        description="The value of annotation streams.ibm.com/restart that was acted upon last.",
    )
    connectivity: Connectivity | None = Field(
        default=None, description="How many of the PE's connections are up, as it reports."
    )
    runtime: RuntimeStatus | None = Field(
        default=None, description="What the runtime reports; absent where it reports nothing."
    )
    conditions: Conditions = Field(default=[], description="Aspects of the PE's state.")


PROCESSING_ELEMENT = CustomResource(
    kind="ProcessingElement",
    plural="streamspes",
    singular="streamspe",
    short_name="stp",
    spec=ProcessingElementSpec,
    status=ProcessingElementStatus,
    description="A processing element: a part of a job's operators that runs as one pod.",
    topic=RESOURCES,
    root="Job",
    container=PE_CONTAINER,
    status_writers=("pe-gateway", "pod-state-machine", "watch-ingest"),
    created_by="fusion-backend",
    columns=(
        PrinterColumn("Status", "string", ".status.phase", "Where the PE stands."),
        PrinterColumn("Launches", "integer", ".status.launchCount", "Number of launches so far."),
        PrinterColumn("Pod", "string", ".status.pod", "Pod of the newest launch."),
        PrinterColumn("Node", "string", ".status.node", "Node that the pod runs on."),
        REASON_COLUMN,
        AGE_COLUMN,
        PrinterColumn("Message", "string", ".status.message", "Why, as a sentence.", wide=True),
        PrinterColumn(
            "Connectivity",
            "string",
            ".status.connectivity",
            "How many of the PE's connections are up.",
            wide=True,
        ),
    ),
    rules=(
        never_falls("status", "launchCount"),
        never_falls("status", "generation"),
        never_falls("spec", "generation"),
        never_changes("spec", "id"),
    ),
)
