"""The names of saved states: one folder for each PE and launch, never written twice.

pe-4/launch-2/handover-5.state     the seal for the hand-over to generation 5
pe-4/launch-2/stopped.state        the seal of a launch that was stopped
pe-4/launch-2/checkpoint-7.state   saved while it ran
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast

Kind = Literal["handover", "checkpoint", "stopped"]
_RANKS: Final = {"handover": 0, "checkpoint": 1, "stopped": 2}
_PATH: Final = re.compile(
    r"pe-(\d{1,9})/launch-(\d{1,9})/(?:(handover|checkpoint)-(\d{1,9})|stopped)\.state"
)

_FOLDER: Final = re.compile(r"pe-(0|[1-9]\d{0,8})")


@dataclass(frozen=True, slots=True)
class StateName:
    """One saved state. `number`: the generation of a hand-over, or that of the checkpoint."""

    pe: int
    launch: int
    kind: Kind
    number: int = 0

    @property
    def path(self) -> str:
        """The path below the folder of the job."""
        number = "" if self.kind == "stopped" else f"-{self.number}"
        return f"pe-{self.pe}/launch-{self.launch}/{self.kind}{number}.state"

    @property
    def age(self) -> tuple[int, int, int]:
        """States of one PE in the order in which they were saved.

        In one launch the seal of a stop comes last. A seal for a hand-over comes first: if the
        launch went on after it, its checkpoints are newer.
        """
        return (self.launch, _RANKS[self.kind], self.number)


def pes_in(folders: Iterable[str]) -> tuple[int, ...]:
    """The ids of PEs whose folders these are, in order; other names are ignored."""
    found = map(_FOLDER.fullmatch, folders)
    return tuple(sorted(int(match[1]) for match in found if match is not None))


def parsed(path: str) -> StateName | None:
    """The name of a path; None if it is no saved state."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    pe, launch, kind, number = match.groups()
    found = StateName(int(pe), int(launch), cast(Kind, kind or "stopped"), int(number or 0))
    return found if found.path == path else None
