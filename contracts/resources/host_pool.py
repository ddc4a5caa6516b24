"""HostPool: a set of nodes that PEs of a job ask for.

fusion-backend creates it, hostpool-manager says its members, and node-tainter marks them: each with
a label that says its place, and those of an exclusive pool with a taint that keeps all other pods
out. A pool is marked where it is exclusive or `labelsMembers`; it has a finalizer as long as it is.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field

from contracts.topics import CLUSTER

from .conditions import Conditions
from .custom_resource import (
    AGE_COLUMN,
    MESSAGE_COLUMN,
    STATUS_COLUMN,
    CustomResource,
    PrinterColumn,
    never_falls,
)
from .fields import (
    NAMES_MAX,
    NOT_NULLABLE,
    Count,
    Fields,
    LongText,
    Message,
    NodeName,
    ObjectName,
    Text,
)

MEMBERS_MAX: Final = 16_384
"""Of a pool: more nodes than a cluster is made for."""


class MembershipMode(StrEnum):
    """Whether PEs of others may run on the members of a pool."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


class HostPoolDeclaration(Fields):
    """A host pool as the application declares it."""

    name: Text = Field(min_length=1, description="Name in the application, such as $default.")
    index: Count | None = Field(default=None, description="Index of the pool in the job.")
    membership_mode: MembershipMode = Field(
        default=MembershipMode.SHARED, description="Whether PEs of others may run on the members."
    )
    size: Count | None = Field(
        default=None, description="Number of members; absent: as many as needed."
    )
    hosts: list[LongText] = Field(
        default=[], max_length=NAMES_MAX, description="Names or addresses of the members."
    )
    tags: list[LongText] = Field(
        default=[], max_length=NAMES_MAX, description="Tags that a node must carry to be a member."
    )


class HostPoolSpec(Fields):
    """What the application asks for."""

    hostpool: HostPoolDeclaration = Field(description="The pool as the application declares it.")
    job: ObjectName | None = Field(default=None, description="Name of the Job.")
    labels_members: bool = Field(
        default=False,
        description="Whether members get a node label with their place, which a PE may ask for.",
    )


class HostPoolStatus(Fields):
    """What is true of the pool."""

    members: list[NodeName] | None = Field(
        default=None,
        max_length=MEMBERS_MAX,
        description="Names of the member nodes in their order; empty where a place has none.",
    )
    claimed: list[NodeName] | None = Field(
        default=None,
        max_length=MEMBERS_MAX,
        description="Members that carry the pool's marks and run nothing that the pool keeps out.",
    )
    generation: Count | None = Field(
        default=None,
        description="Plan generation that the members serve; never falls.",
        json_schema_extra=NOT_NULLABLE,
    )
    observed_generation: Count | None = Field(
        default=None, description="The metadata.generation that the status speaks of."
    )
    reason: Text | None = Field(default=None, description="Why, as one CamelCase word.")
    message: Message | None = Field(default=None, description="Why, as a sentence.")
    conditions: Conditions = Field(default=[], description="Aspects of the pool's state.")


HOST_POOL = CustomResource(
    kind="HostPool",
    plural="streamshostpools",
    singular="streamshostpool",
    short_name="sthp",
    spec=HostPoolSpec,
    status=HostPoolStatus,
    description="A set of nodes that processing elements of a job ask for.",
    topic=CLUSTER,
    root="Job",
    status_writers=("hostpool-manager", "fusion-backend", "watch-ingest"),
    created_by="fusion-backend",
    columns=(
        STATUS_COLUMN,
        PrinterColumn("Alias", "string", ".spec.hostpool.name", "Name in the application."),
        PrinterColumn(
            "Mode", "string", ".spec.hostpool.membershipMode", "Whether others may share members."
        ),
        PrinterColumn("Members", "string", ".status.members", "Names of the member nodes."),
        MESSAGE_COLUMN,
        AGE_COLUMN,
    ),
    rules=(never_falls("status", "generation"),),
)
