"""Which hand-overs before the newest one are recorded still: PEs begin with them.

1. A hand-over is kept until each PE that it lists, or whose content its generation made, has begun
   since: its runtime reports its start when it has loaded and saved its state.
2. Where a PE of one that is kept was gone, those before it are kept as well: what was for that PE
   then is for others now, which look into them.
3. One that another replaced before its end is not kept: no PE begins with it.

What is kept changes only where a hand-over begins. PEs that have begun meanwhile see from their own
states that an older one is not for them (millrace/runtime/choosing.py, docs/adr/0082).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contracts.resources.hand_over import FORMER_MAX

LISTED_MAX: Final = 20_000
"""So many launches are listed by former hand-overs at most, of 13 bytes each in two maps."""


@dataclass(frozen=True, slots=True)
class Former:
    """A hand-over that is complete, with the launches that it lists, and those that sealed."""

    generation: int
    pes: Mapping[int, int] = field(hash=False)
    sealed: Mapping[int, int] = field(hash=False)

    @property
    def is_exact(self) -> bool:
        """Whether each of its PEs has sealed."""
        return self.pes.keys() == self.sealed.keys()

    @property
    def as_field(self) -> dict[str, Any]:
        """As the status has it."""
        return {
            "generation": self.generation,
            "pes": {str(pe): launch for pe, launch in self.pes.items()},
            "sealed": {str(pe): launch for pe, launch in self.sealed.items()},
        }


def recorded(field: Mapping[str, Any]) -> tuple[Former, ...]:
    """The complete hand-overs that a Job's `status.handOver` has, from the newest."""
    found = [field] if field.get("complete") else []
    return tuple(map(_read, (*found, *(field.get("former") or ()))))


def _read(field: Mapping[str, Any]) -> Former:
    return Former(
        int(field.get("generation") or 0),
        launches_in(field.get("pes")),
        launches_in(field.get("sealed")),
    )


def launches_in(field: Mapping[str, Any] | None) -> dict[int, int]:
    """Launches by PE id."""
    return {int(pe): int(launch) for pe, launch in (field or {}).items()}


def needed(formers: Iterable[Former], has_absent: Callable[[Former], bool]) -> tuple[Former, ...]:
    """Those that PEs still need, of all from the newest.

    `has_absent`: whether a PE that begins with it has not begun since.
    """
    found: list[Former] = []
    for each in formers:
        is_behind = any(not newer.is_exact for newer in found)
        if is_behind or has_absent(each):
            found.append(each)
    return tuple(found)


def is_full(formers: Iterable[Former]) -> bool:
    """Whether a status has no room for one more."""
    found = tuple(formers)
    return len(found) >= FORMER_MAX or sum(len(each.pes) for each in found) >= LISTED_MAX
