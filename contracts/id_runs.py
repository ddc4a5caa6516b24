"""Many ids as a short text: `0-9,12`. Objects name thousands of PEs this way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

IDS_MAX: Final = 1_000_000
"""Of one text: a run of two numbers must not ask for all memory there is."""

_RUN: Final = re.compile("(?P<first>[0-9]{1,12})(?:-(?P<last>[0-9]{1,12}))?")


def runs_of(ids: Iterable[int]) -> str:
    """The text of some ids, each once, in their order."""
    runs: list[list[int]] = []
    for number in sorted(set(ids)):
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def ids_of(text: str, at_most: int = IDS_MAX) -> tuple[int, ...]:
    """The ids of a text; raises ValueError for what `runs_of` does not write, and for too many."""
    ids: list[int] = []
    for run in text.split(",") if text else ():
        read = _RUN.fullmatch(run)
        if read is None:
            raise ValueError(f"{run[:40]!r} is no id and no run of ids such as 0-9")
        each = range(int(read["first"]), int(read["last"] or read["first"]) + 1)
        if not each or len(ids) + len(each) > at_most:
            raise ValueError(f"{run[:40]!r} is empty, or more than {at_most} ids")
        ids += each
    return tuple(ids)
