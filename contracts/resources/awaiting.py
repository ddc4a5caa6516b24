"""What an attempt that failed lacked, recorded so that its appearance starts the next attempt."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from .fields import Count, Fields, LongText, Quantity

AWAITED_NODES_MAX: Final = 16
"""Of one attempt: the first pools and hosts that lack nodes."""
AWAITED_NAMES_MAX: Final = 64


class AwaitedNodes(Fields):
    """Nodes that take the pods of the job. When there are so many, the next attempt begins."""

    tags: list[LongText] | None = Field(
        default=None, max_length=AWAITED_NAMES_MAX, description="Tags that each of them carries."
    )
    hosts: list[LongText] | None = Field(
        default=None,
        max_length=AWAITED_NAMES_MAX,
        description="Names or addresses: each of them is one of these.",
    )
    count: Count | None = Field(default=None, description="How many there have to be.")
    free: dict[str, Quantity] | None = Field(
        default=None,
        max_length=AWAITED_NAMES_MAX,
        description="What bound pods have to leave of all of them together.",
    )


AwaitedField = Annotated[
    list[AwaitedNodes] | None,
    Field(
        max_length=AWAITED_NODES_MAX,
        description="What the last attempt lacked: when one of these is there, the next begins.",
    ),
]
