"""What somebody may have meant by a name that there is not: the end of a sentence for people.

A region's name is long (`Outer.Inner.Region1`) and people say its last part; a value's name has its
composite in front or not. What is meant ends like what was said, or resembles it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from planner.refusals import shown

NAMED_MAX = 8
MEANT_MAX = 3
LIKENESS_MIN = 0.75
"""How alike two names are at least of which one is meant to be the other (1 is equal)."""
COMPARED_MAX = 2_000
"""Comparing is slow: of more names none is looked for that only resembles what was said."""
_PARTS = re.compile(r"[.:]+")


def suggested(said: str, names: Iterable[str], *, is_pattern: bool = False) -> str:
    """`did you mean …? it has: …`, bounded; the last half where nothing resembles what was said.

    `is_pattern`: a star is understood, so the last part of a name can be said with one before it.
    """
    known = sorted(names)
    found = [*meant(said, known)]
    if is_pattern and any(name.endswith(said) for name in found):
        found.append(f"*{said}")
    asked = f"did you mean {' or '.join(map(shown, found))}? " if found else ""
    return f"{asked}it has: {listed(known)}"


def listed(names: Iterable[str]) -> str:
    """Names with commas, the first few of many."""
    known = sorted(names)
    more = len(known) - NAMED_MAX
    named = ", ".join(map(shown, known[:NAMED_MAX]))
    return (named + (f" and {more} more" if more > 0 else "")) or "none"


def meant(said: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that were likely meant, likeliest first."""
    known = sorted(names)
    asked = _PARTS.split(said.replace("*", "").strip().lower())
    ends_so = [name for name in known if _PARTS.split(name.lower())[-len(asked) :] == asked]
    if ends_so or len(known) > COMPARED_MAX:
        return tuple(ends_so[:MEANT_MAX])
    by_likeness = {name: _likeness(".".join(asked), name.lower()) for name in known}
    alike = [name for name in known if by_likeness[name] >= LIKENESS_MIN]
    return tuple(sorted(alike, key=lambda name: -by_likeness[name])[:MEANT_MAX])


def _likeness(said: str, name: str) -> float:
    """That of the whole, or of the last part."""
    return max(
        difflib.SequenceMatcher(None, said, each).ratio() for each in (name, _PARTS.split(name)[-1])
    )
