"""Where a source of a topic stands: its share of the partitions, where each begins, what is gone.

Plain decisions; `kafka_reading.py` carries them out. They keep that each record comes once:

1. A partition belongs to one channel, by its number: the share of a channel does not depend on
   when the partition was added, nor on what others read.
2. A source that begins for the first time begins where `begin` says. A partition that it meets
   later was added since then, so it begins with the oldest record.
3. A position never goes back, unless the broker does not have it any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from millrace.channels import Channel

Begin = Literal["earliest", "latest"]
BEGINS: Final[tuple[Begin, ...]] = ("earliest", "latest")


@dataclass(slots=True)
class Offsets:
    """The next offset of each partition. `has_begun`: the source has looked at the topic before."""

    next: dict[int, int] = field(default_factory=dict)
    has_begun: bool = False


def share(partitions: Iterable[int], mine: Channel) -> tuple[int, ...]:
    """The partitions that a channel reads."""
    return tuple(sorted(each for each in partitions if each % mine.count == mine.index))


def beginnings(mine: Iterable[int], offsets: Offsets, begin: Begin) -> dict[int, Begin]:
    """Where the partitions without a position begin."""
    has_begun = offsets.has_begun or bool(offsets.next)  # older states have no `has_begun`
    where: Begin = "earliest" if has_begun else begin
    return {each: where for each in mine if each not in offsets.next}


def gone(where: str, position: int, oldest: int) -> str:
    """What a warning says of a position that the broker does not have: how many are lost."""
    if oldest > position:
        count = oldest - position
        return (
            f"up to {count} records of {where} are lost, from offset {position} to {oldest - 1}: "
            f"the broker does not have them any more; the source goes on with {oldest}"
        )
    return (
        f"{where} has no offset {position} any more: it was made again, or has lost its end, and "
        f"records that were not read may be lost; the source goes on with its oldest, {oldest}"
    )


def has_ended(next_: Mapping[int, int], ends: Mapping[int, int], looked: Iterable[int]) -> bool:
    """Whether all records are read that were there at the start.

    `looked`: the partitions whose broker has answered. It alone knows whether a position behind the
    end is one of a former topic.
    """
    seen = frozenset(looked)
    return all(
        next_[each] == end or (next_[each] > end and each in seen) for each, end in ends.items()
    )
