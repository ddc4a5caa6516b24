"""What the specs and statuses of all custom resources are made of: the base class and field types.

The models are the source of the CRD schemas (`structural.py` converts them) and the way services
read an object: `JobSpec.model_validate(obj["spec"])`. Attributes are the API's names in snake case
(`submissionTimeOutInSeconds` → `submission_time_out_in_seconds`). No resource is described here.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from contracts.scheduling.quantities import QUANTITY_PATTERN

GROUP: Final = "streams.ibm.com"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

NAME_CHARS_MAX: Final = 253
TEXT_CHARS_MAX: Final = 4096
LONG_TEXT_CHARS_MAX: Final = 32_768
"""Of a text that may be a whole command or document, and of a name that an application gives."""
MESSAGE_CHARS_MAX: Final = 32_768
TIME_CHARS_MAX: Final = 64
QUANTITY_CHARS_MAX: Final = 256
"""More digits than `contracts/scheduling/quantities.py` reckons with."""
PROPERTIES_MAX: Final = 1024
NAMES_MAX: Final = 65_536
"""Of lists and maps that millrace fills from an application: more than one PE or pool has.

Where it refused what millrace writes, a job would be stuck: a plan of more regions is refused."""
WIDTH_MAX: Final = 100_000
"""Channels of a parallel region: of schema, planner and command. A plan of more has no room."""
INT32_MAX: Final = 2**31 - 1
"""The most that a number may be which goes into a pod, or counts launches."""
COUNT_MAX: Final = 2**53 - 1
"""The most that any other number may be: every reader of JSON has it exactly, and one more, too."""


class Fields(BaseModel):
    """A group of fields of a custom resource, frozen; unknown fields are dropped, as on the server.

    A field that may be absent and is mentioned by no rule accepts null as well: manifests written
    for the original say `restartFailedPod: null`.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    """The schema extra that attaches CEL rules, given as (rule, message), to a group of fields."""
    validations = [{"rule": rule, "message": message} for rule, message in pairs]
    return {"x-kubernetes-validations": validations}


NOT_NULLABLE: Final[dict[str, Any]] = {"nullable": False}
"""For optional fields that a CEL rule reads: the API server drops their null before it looks."""

Quantity = Annotated[
    int | str,
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "maxLength": QUANTITY_CHARS_MAX,
            "pattern": QUANTITY_PATTERN,
        }
    ),
]
"""A Kubernetes quantity such as `500m`, `2` or `16Gi`."""

SubmissionValue = Annotated[
    str,
    Field(coerce_numbers_to_str=True),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "maxLength": LONG_TEXT_CHARS_MAX}),
]
"""A submission-time value: text, or a number that a manifest left unquoted."""

NodeName = Annotated[str, Field(max_length=NAME_CHARS_MAX)]
"""The name of a node; empty where a place has none."""
ObjectName = Annotated[str, Field(min_length=1, max_length=NAME_CHARS_MAX)]
Text = Annotated[str, Field(max_length=TEXT_CHARS_MAX)]
LongText = Annotated[str, Field(max_length=LONG_TEXT_CHARS_MAX)]
Message = Annotated[str, Field(max_length=MESSAGE_CHARS_MAX)]
Number = Annotated[int, Field(le=COUNT_MAX, ge=-COUNT_MAX)]
Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
"""A number that only grows: a generation, an id, how many there are of something."""


class ResourceRequirements(Fields):
    """CPU and memory, as in a container's `resources`."""

    limits: dict[str, Quantity] | None = Field(
        default=None,
        max_length=PROPERTIES_MAX,
        description="The most that the container may use, such as memory 1Gi.",
    )
    requests: dict[str, Quantity] | None = Field(
        default=None,
        max_length=PROPERTIES_MAX,
        description="What the scheduler sets aside for the container, such as cpu 1.",
    )


class VolumeClaim(Fields):
    """A persistent volume claim and a path in it."""

    name: ObjectName = Field(description="Name of the persistent volume claim, same namespace.")
    sub_path: Text | None = Field(default=None, description="Path in the claim; absent: its root.")
