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

from collections.abc import Callable, Iterable
from typing import Any, Final

from contracts.resources.hand_over import FORMER_MAX
from millrace.protocol import HandOver

LISTED_MAX: Final = 20_000
"""So many launches are listed by former hand-overs at most, of 13 bytes each in two maps."""


def complete_in(newest: HandOver | None) -> tuple[HandOver, ...]:
    """The complete ones of all that a Job's status has, from the newest."""
    if newest is None:
        return ()
    return (newest, *newest.former) if newest.complete else newest.former


def field_of(former: HandOver) -> dict[str, Any]:
    """One that is kept, as the status has it."""
    return {
        "generation": former.generation,
        "pes": {str(pe): launch for pe, launch in former.pes.items()},
        "sealed": {str(pe): launch for pe, launch in former.sealed.items()},
    }


def needed(
    formers: Iterable[HandOver], has_absent: Callable[[HandOver], bool]
) -> tuple[HandOver, ...]:
    """Those that PEs still need, of all from the newest.

    `has_absent`: whether a PE that begins with it has not begun since.
    """
    found: list[HandOver] = []
    for each in formers:
        is_behind = any(newer.not_sealed for newer in found)
        if is_behind or has_absent(each):
            found.append(each)
    return tuple(found)


def is_full(formers: Iterable[HandOver]) -> bool:
    """Whether a status has no room for one more."""
    found = tuple(formers)
    return len(found) >= FORMER_MAX or sum(len(each.pes) for each in found) >= LISTED_MAX
