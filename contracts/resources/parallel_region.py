"""ParallelRegion: the width of one parallel region of a job.

fusion-backend creates it; people and autoscalers change `spec.width`, also through `/scale`;
fusion-backend says in the status which width is in force.
"""

from __future__ import annotations

from pydantic import Field

from contracts.topics import RESOURCES

from .awaiting import AwaitedField
from .conditions import Conditions, Time
from .custom_resource import (
    AGE_COLUMN,
    MESSAGE_COLUMN,
    STATUS_COLUMN,
    CustomResource,
    PrinterColumn,
    Scale,
    never_falls,
)
from .fields import NOT_NULLABLE, WIDTH_MAX, Count, Fields, Message, ObjectName, Text


class ParallelRegionSpec(Fields):
    """The requested width."""

    alias: Text = Field(min_length=1, description="Logical name, such as Result.Region1.")
    width: int = Field(
        ge=1,
        le=WIDTH_MAX,
        description="Number of channels.",
    )
    index: Count | None = Field(default=None, description="Index of the region in the job.")
    job: ObjectName | None = Field(default=None, description="Name of the Job.")


class RefusedWidth(Fields):
    """A width that is not put in force; removed by a new width, or once it is accepted."""

    width: Count = Field(description="The refused width.")
    reason: Text = Field(description="Why, as one CamelCase word.")
    message: Message = Field(description="Why, as a sentence.")
    inputs_digest: Text = Field(
        description="SHA-256 of the inputs of the refused plan, hex; empty if none was made."
    )
    generation: Count = Field(description="Plan generation that stays in force instead.")
    attempts: Count | None = Field(
        default=None, description="How often no placement was found; absent if it is not retried."
    )
    since: Time | None = Field(default=None, description="When the first attempt ended.")
    tried_at: Time | None = Field(default=None, description="When the last attempt ended.")
    awaited_nodes: AwaitedField = None


class ParallelRegionStatus(Fields):
    """What is true of the region."""

    width: Count | None = Field(default=None, description="Number of channels in force.")
    replicas: Count | None = Field(
        default=None, description="The width in force, for the scale subresource."
    )
    selector: Text | None = Field(
        default=None,
        description="Label selector of one pod of each channel, or of no pod: see Scalable.",
    )
    generation: Count | None = Field(
        default=None,
        description="Plan generation that the status was written for; never falls.",
        json_schema_extra=NOT_NULLABLE,
    )
    observed_generation: Count | None = Field(
        default=None, description="The metadata.generation that the status speaks of."
    )
    reason: Text | None = Field(default=None, description="Why, as one CamelCase word.")
    message: Message | None = Field(default=None, description="Why, as a sentence.")
    refused: RefusedWidth | None = Field(default=None, description="The refused width, if any.")
    conditions: Conditions = Field(default=[], description="Aspects of the region's state.")


PARALLEL_REGION = CustomResource(
    kind="ParallelRegion",
    plural="streamsprs",
    singular="streamspr",
    short_name="stpr",
    spec=ParallelRegionSpec,
    status=ParallelRegionStatus,
    description="A parallel region of a job; change its width to resize the job.",
    topic=RESOURCES,
    root="Job",
    status_writers=("fusion-backend", "watch-ingest"),
    created_by="fusion-backend",
    columns=(
        STATUS_COLUMN,
        PrinterColumn("Alias", "string", ".spec.alias", "Logical name of the region."),
        PrinterColumn("Width", "integer", ".spec.width", "Number of channels requested."),
        PrinterColumn("InForce", "integer", ".status.width", "Number of channels in force."),
        MESSAGE_COLUMN,
        AGE_COLUMN,
    ),
    rules=(never_falls("status", "generation"),),
    scale=Scale(
        spec_replicas_path=".spec.width",
        status_replicas_path=".status.replicas",
        label_selector_path=".status.selector",
    ),
)
