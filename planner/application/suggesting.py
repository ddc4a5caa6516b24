"""What somebody may have meant by a name that there is not: the end of a sentence for people.

A region's name is long (`Outer.Inner.Region1`) and people say its last part; a value's name has its
composite in front or not. The name that is meant ends like the given one, or resembles it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from planner.refusals import shown

NAMED_MAX = 8
MEANT_MAX = 3
LIKENESS_MIN = 0.75
"""The least likeness of two names of which one may be a typing error of the other (1: equal)."""
COMPARED_MAX = 2_000
"""Comparing is slow: among more names only equal endings are found."""
_PARTS = re.compile(r"[.:]+")


def suggested(given: str, names: Iterable[str]) -> str:
    """`did you mean …? it has: …`, bounded; the last half if nothing resembles the given name."""
    known = sorted(names)
    found = meant(given, known)
    question = f"did you mean {' or '.join(map(shown, found))}? " if found else ""
    return f"{question}it has: {listed(known)}"


def listed(names: Iterable[str]) -> str:
    """Names with commas, the first few of many."""
    known = sorted(names)
    more = len(known) - NAMED_MAX
    named = ", ".join(map(shown, known[:NAMED_MAX]))
    return (named + (f" and {more} more" if more > 0 else "")) or "none"


def meant(given: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that were likely meant, likeliest first."""
    known = sorted(names)
    parts = _PARTS.split(given.replace("*", "").strip().lower())
    ends_so = [name for name in known if _PARTS.split(name.lower())[-len(parts) :] == parts]
    if ends_so or len(known) > COMPARED_MAX:
        return tuple(ends_so[:MEANT_MAX])
    by_likeness = {name: _likeness(".".join(parts), name.lower()) for name in known}
    alike = [name for name in known if by_likeness[name] >= LIKENESS_MIN]
    return tuple(sorted(alike, key=lambda name: -by_likeness[name])[:MEANT_MAX])


def _likeness(given: str, name: str) -> float:
    """That of the whole, or of the last part."""
    return max(
        difflib.SequenceMatcher(None, given, each).ratio()
        for each in (name, _PARTS.split(name)[-1])
    )
