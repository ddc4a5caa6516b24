"""Names a moment of a replay: a place in the log, a time, or the number of a decision."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from contracts.moments import unix_s_of
from history.entries import Place
from history.replaying import Step

FORMS = "PARTITION@OFFSET (decisions/3@17), a time (2026-11-26T12:00:00Z), or a number"
_PLACE = re.compile(r"(?P<partition>[a-z]+/\d{1,6})@(?P<offset>\d{1,18})")
_NUMBER = re.compile(r"#?(\d{1,12})")
_UNIX_S = re.compile(r"\d{9,11}(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Target:
    """The first decision with this number, at this place, with this fact known, or at this time."""

    number: int = 0
    place: Place | None = None
    time_s: float = math.inf

    @property
    def is_decision(self) -> bool:
        """Whether it names one decision, and not a moment between two."""
        return self.number > 0 or (
            self.place is not None and self.place.partition.startswith("decisions/")
        )

    def is_reached(self, step: Step) -> bool:
        """Whether this decision, or one before it, is meant."""
        if self.number:
            return step.number >= self.number
        if self.place is None:
            return step.recorded.time_s > self.time_s
        if self.is_decision:
            return step.place == self.place
        offsets = step.recorded.decision.position.offsets
        return offsets.get(self.place.partition, 0) > self.place.offset


def target_of(text: str) -> Target:
    """What a text names. Raises ValueError with the forms that there are."""
    text = text.strip()
    if found := _PLACE.fullmatch(text):
        return Target(place=Place(found["partition"], int(found["offset"])))
    if _UNIX_S.fullmatch(text):
        return Target(time_s=float(text))
    if (numbered := _NUMBER.fullmatch(text)) and int(numbered[1]):
        return Target(number=int(numbered[1]))
    try:
        return Target(time_s=unix_s_of(text))
    except ValueError:
        raise ValueError(f"{text!r} is not {FORMS}") from None
