"""A tuple as JSON. What JSON does not have is refused, or it would come back as another value.

Adapters that read JSON say here why a text is no tuple.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from millrace.errors import worded


def json_of(item: Any) -> bytes:
    """The JSON of a tuple. Raises ValueError if it has NaN or an infinity: JSON has no such number.

    The encoder writes `null` for them, so only texts with a `null` are looked at.
    """
    text = msgspec.json.encode(item)
    if b"null" in text and (found := next(_not_finite(item, ""), None)) is not None:
        where, number = found
        raise ValueError(
            f"{where or 'the tuple'} is {number}, and JSON has no such number: leave the tuple out,"
            " or give None for it"
        )
    return text


def refusal(problem: Exception) -> str:
    """Why a text is no tuple. A decoder says it; depth and code of the author raise others."""
    return str(problem) if isinstance(problem, ValueError) else worded(problem)


def _not_finite(value: Any, where: str) -> Iterator[tuple[str, float]]:
    """The numbers in a value that are not finite, and where they are."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield where, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _not_finite(key, f"a key of {where}")
            yield from _not_finite(each, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple | set | frozenset):
        for number, each in enumerate(value):
            yield from _not_finite(each, f"{where}[{number}]")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            name = f"{where}.{field.name}" if where else field.name
            yield from _not_finite(getattr(value, field.name, None), name)
