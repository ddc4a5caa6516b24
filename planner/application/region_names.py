"""The one rule by which people name parallel regions of an application.

`submit --width`, `scale`, `plan --resize` and `spec.parallelRegions[].alias` of a Job follow it. A
region is named by, in this order,

1. its full name (`Result.Region1`);
2. the end of it, in whole parts (`Region1`);
3. a pattern, in which `*` is any run of characters (`*Region1`).

White space does not count, as in the original. What names nothing is refused, and so is an end of
several names. A pattern means all regions that it matches; where only one can be meant, such as for
`scale`, a pattern of several is refused, too. The candidates are in the refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from contracts.reasons import Reason
from planner.application.suggesting import listed, suggested
from planner.refusals import PlanRefused, shown

_ENDS_OF_PARTS = re.compile(r"[.:]")
_IS_FULL, _IS_END, _IS_PATTERN = 2, 1, 0


def regions_named(words: str, names: Iterable[str], *, field: str) -> tuple[str, ...]:
    """The regions that these words name; `field` is where a person wrote them.

    Raises PlanRefused (UNKNOWN_REGION) for an unknown name, and for the end of several.
    """
    known = sorted(set(names))
    found = [name for name in known if matches(words, name)]
    if not found:
        found = [name for name in known if is_end(words, name)]
        if len(found) > 1:
            _refuse_several(words, found, field)
    if not found:
        refuse_unknown(words, known, field)
    return tuple(found)


def region_named(words: str, names: Iterable[str], *, field: str) -> str:
    """The one region that these words name. Raises PlanRefused (UNKNOWN_REGION)."""
    found = regions_named(words, names, field=field)
    if len(found) > 1:
        _refuse_several(words, found, field)
    return found[0]


def precision(words: str, name: str) -> int:
    """How exactly words name a region: a full name wins over an end, an end over a pattern."""
    given = _bare(words)
    if given == name:
        return _IS_FULL
    return _IS_PATTERN if "*" in given else _IS_END


def matches(pattern: str, name: str) -> bool:
    """Whether a full name or pattern means that region: `*` is any run of characters."""
    first, *rest = _bare(pattern).split("*")
    if not rest:
        return name == first
    *middle, last = rest
    if not (name.startswith(first) and name.endswith(last) and len(name) >= len(first + last)):
        return False
    position, end = len(first), len(name) - len(last)
    for part in middle:
        found = name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def is_end(words: str, name: str) -> bool:
    """Whether the words are the last parts of a name, such as `Region1` of `Result.Region1`."""
    given = _bare(words)
    before = name.removesuffix(given)
    return bool(given) and before != name and _ENDS_OF_PARTS.match(before[-1:]) is not None


def _bare(words: str) -> str:
    return "".join(words.split())


def refuse_unknown(words: str, known: Iterable[str], field: str) -> NoReturn:
    """Raises PlanRefused (UNKNOWN_REGION) with the names that there are, the likely ones first."""
    raise PlanRefused(
        Reason.UNKNOWN_REGION,
        field=field,
        value=words,
        message=(
            f"{field} names {shown(words)!r}, but the application has no such parallel region "
            f"(CDISR1411E); {suggested(words, known)}"
        ),
    )


def _refuse_several(words: str, found: Iterable[str], field: str) -> NoReturn:
    raise PlanRefused(
        Reason.UNKNOWN_REGION,
        field=field,
        value=words,
        message=(
            f"{field} names {shown(words)!r}, which is more than one parallel region "
            f"(CDISR1405E): {listed(found)}; give the full name of one"
        ),
    )
