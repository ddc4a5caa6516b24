"""What a run does to the world, one effect after the other: the places where something can fail.

A run writes down every request that writes, every batch that is appended to or read from the log,
every commit, and every event that a watch says. A plan names one of these places by its number;
because a run is the same each time, the effect of that number is the same one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What an effect is."""

    WRITE = "write"
    APPEND = "append"
    COMMIT = "commit"
    READ = "read"
    EVENT = "event"


class Mishap(StrEnum):
    """What goes wrong at one effect."""

    CRASH_BEFORE = "crash-before"
    CRASH_AFTER = "crash-after"
    LOST_APPLIED = "lost-applied"
    LOST_UNAPPLIED = "lost-unapplied"
    DUPLICATE = "duplicate"
    REDELIVERY = "redelivery"
    LATE_WATCH = "late-watch"
    OLD_WATCH = "old-watch"
    OLD_LIST = "old-list"
    EXPIRED = "expired"
    ZOMBIE = "zombie"


MEANING: Mapping[Mishap, str] = {
    Mishap.CRASH_BEFORE: "the service dies before the effect, and is started again",
    Mishap.CRASH_AFTER: "the service dies after the effect, before it hears of its outcome",
    Mishap.LOST_APPLIED: "the effect takes place, and its answer is lost",
    Mishap.LOST_UNAPPLIED: "the effect does not take place, and the request times out",
    Mishap.DUPLICATE: "the batch or event is said twice in a row",
    Mishap.REDELIVERY: "the batch comes again later, after newer ones",
    Mishap.LATE_WATCH: "the watch of one kind lags behind all others for a while",
    Mishap.OLD_WATCH: "the watch is cut and goes on from an older version: the past comes again",
    Mishap.OLD_LIST: "the watch is cut, and the list after it is of an older version",
    Mishap.EXPIRED: "the event is hidden behind a 410: only a new list shows what happened",
    Mishap.ZOMBIE: "the instance sleeps; another has its partitions or its Lease when it wakes",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect; `whose` is the service instance, `text` what a person needs to recognise it."""

    kind: Kind
    whose: str
    text: str
    at_s: float

    @property
    def service(self) -> str:
        """The service of the instance."""
        return self.whose.partition("#")[0]

    @property
    def is_renewal(self) -> bool:
        """Whether somebody says that it still has its Lease."""
        return self.kind is Kind.WRITE and "/leases/" in self.text

    @property
    def subject(self) -> str:
        """The resource that an event is of."""
        return self.text.partition(" ")[2].partition("/")[0]


@dataclass
class Tap:
    """Numbers the effects of a run and says which of them meet a mishap."""

    mishaps: Mapping[int, Mishap] = field(default_factory=dict)
    trace: list[Effect] = field(default_factory=list)
    is_open: bool = False
    pending: int = 0
    """Mishaps that have begun and are not over yet."""
    met: set[int] = field(default_factory=set)

    def reach(self, effect: Effect) -> Mishap | None:
        """Note an effect that is about to happen; what goes wrong with it, if anything."""
        if not self.is_open:
            return None
        number = len(self.trace)
        self.trace.append(effect)
        if number not in self.mishaps:
            return None
        self.met.add(number)
        return self.mishaps[number]
