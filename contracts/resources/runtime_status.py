"""What the runtime in the pod of a PE reports of itself; pe-gateway writes it into the status."""

from __future__ import annotations

from pydantic import Field

from millrace.protocol import AWAITED_MAX, SOURCES_MAX

from .fields import Count, Fields, LongText, Message, Text


class RuntimeStatus(Fields):
    """What the runtime in the pod of a PE reports of itself; of one launch."""

    launch: Count = Field(description="The launch that reports.")
    name: Text | None = Field(default=None, description="Name and version of the runtime.")
    hands_over: bool = Field(
        default=False, description="Whether it seals its state before a resize replaces it."
    )
    sources: list[LongText] | None = Field(
        default=None,
        max_length=SOURCES_MAX,
        description="Sources of the PE that had not ended at its start, at most 20.",
    )
    reads_again: Message | None = Field(
        default=None,
        description="Which sources may give tuples again, and why: the launch began with an older"
        " state than they had reached.",
    )
    sealed: Count | None = Field(
        default=None, description="The plan generation for which it has sealed its state."
    )
    rests_for: Count | None = Field(
        default=None,
        description="The plan generation for which it comes to rest, if that takes long.",
    )
    waits_for: list[Count] | None = Field(
        default=None,
        max_length=AWAITED_MAX,
        description=(
            "Ids of the PEs that it waits for then, at most 20; none while it has work of its own."
        ),
    )
    rests_seconds: Count | None = Field(
        default=None,
        description="How long it had waited for them when it last reported that, to a pe-gateway"
        " that had heard PEs for long enough.",
    )
    ended: bool | None = Field(
        default=None,
        description="Whether its streams have ended, with all that they had to give.",
    )
    lost_tuples: Count | None = Field(
        default=None, description="How many tuples the launch has lost."
    )
    skipped_tuples: Count | None = Field(
        default=None, description="How many tuples functions of the launch failed at and skipped."
    )
    reason: Text | None = Field(default=None, description="What is wrong, as one CamelCase word.")
    message: Message | None = Field(default=None, description="What is wrong, as a sentence.")
