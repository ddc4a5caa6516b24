"""What the runtime in the pod of a PE reports of itself; pe-gateway writes it into the status."""

from __future__ import annotations

from pydantic import Field

from .fields import Count, Fields, Message, Text


class RuntimeStatus(Fields):
    """What the runtime in the pod of a PE reports of itself; of one launch."""

    launch: Count = Field(description="The launch that reports.")
    name: Text | None = Field(default=None, description="Name and version of the runtime.")
    hands_over: bool = Field(
        default=False, description="Whether it seals its state before a resize replaces it."
    )
    sealed: Count | None = Field(
        default=None, description="The plan generation for which it has sealed its state."
    )
    ended: bool | None = Field(
        default=None,
        description="Whether its streams have ended, with all that they had to give.",
    )
    lost_tuples: Count | None = Field(
        default=None, description="How many tuples the launch has lost."
    )
    reason: Text | None = Field(default=None, description="What is wrong, as one CamelCase word.")
    message: Message | None = Field(default=None, description="What is wrong, as a sentence.")
