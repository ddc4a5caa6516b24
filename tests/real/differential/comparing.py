"""Two sides of an exchange held against each other: every place where they differ, as a line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

_ABSENT = "<absent>"


def differences(sandbox: Any, real: Any, where: str = "") -> list[str]:
    """Lines `path: sandbox says …, the real one …`; empty when both say the same."""
    if isinstance(sandbox, dict) and isinstance(real, dict):
        return [
            line
            for key in sorted(sandbox.keys() | real.keys(), key=str)
            for line in differences(
                sandbox.get(key, _ABSENT), real.get(key, _ABSENT), f"{where}.{key}".lstrip(".")
            )
        ]
    if isinstance(sandbox, list) and isinstance(real, list):
        pairs = zip_longest(sandbox, real, fillvalue=_ABSENT)
        return [
            line
            for number, (mine, theirs) in enumerate(pairs)
            for line in differences(mine, theirs, f"{where}.{number}".lstrip("."))
        ]
    if sandbox == real and isinstance(sandbox, bool) == isinstance(real, bool):
        return []
    return [f"{where}:\n    sandbox {sandbox!r}\n    real    {real!r}"]


def surprises(found: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """What was not to be expected: a line at no allowed place, an allowed place without a line.

    A place is the path of a line, or the path of something that the line is a part of.
    """
    found, allowed = list(found), list(allowed)
    elsewhere = [line for line in found if not any(_is_at(line, place) for place in allowed)]
    agreeing = [place for place in allowed if not any(_is_at(line, place) for line in found)]
    return elsewhere + [f"{place}: agrees, take it out of the list" for place in agreeing]


def place_of(line: str) -> str:
    """The path of a line alone."""
    return line.partition(":\n")[0]


def _is_at(line: str, place: str) -> bool:
    return f"{place_of(line)}.".startswith(f"{place}.")
