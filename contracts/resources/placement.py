"""Placement: a request of a job, and where it may run, as one answer.

fusion-backend writes the spec of each plan generation before anything else of it, or of a plan in
force whose pods no node takes (docs/placement.md, Admission); hostpool-manager answers in the
status. An answer speaks of the `metadata.generation` in `observedGeneration`. What stands in
`status.pools` and `status.assignments` is in force, and of `status.generation`: a refusal of a
newer one leaves it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from contracts.id_runs import ids_of
from contracts.labels import HOSTNAME
from contracts.topics import CLUSTER

from .conditions import Conditions
from .custom_resource import (
    AGE_COLUMN,
    MESSAGE_COLUMN,
    REASON_COLUMN,
    CustomResource,
    PrinterColumn,
    never_falls,
)
from .fields import (
    NAMES_MAX,
    NOT_NULLABLE,
    PROPERTIES_MAX,
    Count,
    Fields,
    LongText,
    Message,
    NodeName,
    Quantity,
    Text,
)
from .host_pool import MEMBERS_MAX, HostPoolDeclaration
from .pod_structure import ITEMS_MAX
from .processing_element import HostPoolLocation

CLASSES_MAX: Final = 16_384
POOLS_MAX: Final = 4_096
NEAREST_MAX: Final = 16
FAMILIES_MAX: Final = 64
PES_MAX: Final = 20_000
"""Of one Placement, requested or assigned: what is decided as a whole must end."""
RUNS_CHARS_MAX: Final = 65_536
"""Every second of so many PEs: ids of up to five digits, each with a comma."""


class PlacementPhase(StrEnum):
    """What is known of the newest question; absent before the first answer."""

    PLACED = "Placed"
    REFUSED = "Refused"
    UNKNOWN = "Unknown"


class NodeSelectorRequirement(Fields):
    """One expression over the labels of a node, as in a pod's node affinity."""

    key: Text = Field(min_length=1, description="Key of the label.")
    operator: Text = Field(description="In, NotIn, Exists, DoesNotExist, Gt or Lt.")
    values: list[Text] | None = Field(
        default=None, max_length=ITEMS_MAX, description="Values for In, NotIn, Gt and Lt."
    )


class NodeSelectorTerm(Fields):
    """Expressions that must hold together."""

    match_expressions: list[NodeSelectorRequirement] = Field(
        default=[], max_length=ITEMS_MAX, description="Expressions over the labels of a node."
    )
    match_fields: list[NodeSelectorRequirement] = Field(
        default=[],
        max_length=ITEMS_MAX,
        description="Expressions over the fields of a node: metadata.name.",
    )


class TolerationOfPods(Fields):
    """A toleration as in a pod."""

    key: Text | None = Field(default=None, description="Key of the taint; absent: every key.")
    operator: Text | None = Field(default=None, description="Exists or Equal; absent: Equal.")
    value: Text | None = Field(default=None, description="Value of the taint.")
    effect: Text | None = Field(
        default=None, description="Effect of the taint; absent: every effect."
    )


class PeClass(Fields):
    """PEs that ask for the same."""

    pes: str = Field(
        min_length=1,
        max_length=RUNS_CHARS_MAX,
        description="Ids of the PEs in runs, such as 0-9,12.",
    )
    requests: dict[str, Quantity] = Field(
        default={},
        max_length=NAMES_MAX,
        description="What the pod of each PE requests, all containers together.",
    )
    host: Text | None = Field(default=None, description="Name or address of the required host.")
    host_pool_location: HostPoolLocation | None = Field(
        default=None, description="The host pool that the PEs run in, and perhaps their place."
    )
    co_locations: list[LongText] = Field(
        default=[],
        max_length=NAMES_MAX,
        description="PEs that share one of these names run on one host.",
    )
    ex_locations: list[LongText] = Field(
        default=[],
        max_length=NAMES_MAX,
        description="PEs that share one of these names run on different hosts.",
    )
    isolation: bool = Field(
        default=False, description="Whether no other PE of the job may run on the host of one."
    )
    node_selector: dict[str, LongText] = Field(
        default={},
        max_length=PROPERTIES_MAX,
        description="Labels that the node must have, from the template of the pods.",
    )
    node_selector_terms: list[NodeSelectorTerm] = Field(
        default=[],
        max_length=ITEMS_MAX,
        description="One of these must hold, where there are any, from the template of the pods.",
    )
    tolerations: list[TolerationOfPods] = Field(
        default=[],
        max_length=ITEMS_MAX,
        description="What the pods tolerate, from their template.",
    )


class PlacementSpec(Fields):
    """What a job asks for."""

    generation: Count = Field(description="Plan generation that the request is about.")
    topology_key: Text = Field(
        default=HOSTNAME,
        min_length=1,
        description="Node label whose values are the hosts of colocation and its opposites.",
        json_schema_extra={"default": HOSTNAME},
    )
    required: bool = Field(
        default=True, description="Whether colocation and its opposites must hold."
    )
    in_force: bool = Field(
        default=False,
        description="Whether the PEs exist already: then a refusal is never final.",
    )
    pools: list[HostPoolDeclaration] = Field(
        default=[], max_length=POOLS_MAX, description="The host pools of the job."
    )
    classes: list[PeClass] = Field(
        default=[],
        max_length=CLASSES_MAX,
        description="All PEs that stay, by what they ask for; what others take counts as free.",
    )


class NearestNode(Fields):
    """A node that came close."""

    node: Text = Field(description="Name of the node.")
    lacks: list[Message] = Field(
        max_length=NAMES_MAX, description="All that it lacks, each as a phrase about the node."
    )


class PoolMembers(Fields):
    """The members of one pool."""

    index: Count = Field(description="Index of the host pool.")
    members: list[NodeName] = Field(
        max_length=MEMBERS_MAX,
        description="Names of the nodes in their order; empty where a place has none.",
    )


class Assignment(Fields):
    """The PEs that go to one node."""

    node: Text = Field(description="Name of the node.")
    pes: str = Field(
        max_length=RUNS_CHARS_MAX, description="Ids of the PEs in runs, such as 0-9,12."
    )


class PlacementStatus(Fields):
    """The answer."""

    phase: PlacementPhase | None = Field(
        default=None, description="What is known of the newest question."
    )
    reason: Text | None = Field(default=None, description="Why, as one CamelCase word.")
    message: Message | None = Field(default=None, description="Why, as a sentence.")
    observed_generation: Count | None = Field(
        default=None, description="The metadata.generation that the answer speaks of."
    )
    generation: Count | None = Field(
        default=None,
        description="Plan generation of pools and assignments; never falls.",
        json_schema_extra=NOT_NULLABLE,
    )
    waits: bool | None = Field(
        default=None, description="Whether the refused may yet fit: capacity alone is missing."
    )
    families: list[Text] | None = Field(
        default=None,
        max_length=FAMILIES_MAX,
        description="Families of constraints that stand in the way together.",
    )
    nearest: list[NearestNode] | None = Field(
        default=None, max_length=NEAREST_MAX, description="The nodes that came closest."
    )
    as_preferred: bool | None = Field(
        default=None, description="Whether what was only preferred holds, too."
    )
    pools: list[PoolMembers] | None = Field(
        default=None, max_length=POOLS_MAX, description="The members of the job's host pools."
    )
    assignments: list[Assignment] | None = Field(
        default=None, max_length=MEMBERS_MAX, description="The node of each PE."
    )
    conditions: Conditions = Field(default=[], description="Aspects of the answer.")


def assigned(assignments: Iterable[Mapping[str, Any]]) -> Iterator[tuple[int, str]]:
    """Each PE of `status.assignments` (as JSON) with its node.

    Runs are short, and what they name is not: all together are no more PEs than a Placement has.
    What hostpool-manager never writes, in words or number, names none.
    """
    left = PES_MAX
    for each in assignments:
        try:
            ids = ids_of(each["pes"], left)
        except ValueError:
            continue
        left -= len(ids)
        yield from ((pe_id, str(each["node"])) for pe_id in ids)


PLACEMENT = CustomResource(
    kind="Placement",
    plural="streamsplacements",
    singular="streamsplacement",
    short_name="stpl",
    spec=PlacementSpec,
    status=PlacementStatus,
    description="Where a job may run.",
    topic=CLUSTER,
    root="Job",
    status_writers=("hostpool-manager", "watch-ingest"),
    created_by="fusion-backend",
    columns=(
        PrinterColumn("Status", "string", ".status.phase", "Whether the job is placed."),
        PrinterColumn("Generation", "integer", ".status.generation", "Plan generation in force."),
        PrinterColumn("Asked", "integer", ".spec.generation", "Plan generation of the request."),
        REASON_COLUMN,
        MESSAGE_COLUMN,
        AGE_COLUMN,
    ),
    rules=(never_falls("status", "generation"),),
)
