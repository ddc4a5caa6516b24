"""The functions that Kubernetes adds to CEL, as far as the CEL library lacks them.

https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, count_max: int = -1) -> list[str]:
    found = [match[0] for match in re.finditer(pattern, text)]
    return found if count_max < 0 else found[:count_max]


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise ValueError("index out of range")
    return text[start:end]


def _split(text: str, separator: str, count_max: int = -1) -> list[str]:
    if count_max == 0:
        return []
    if separator == "":
        return list(text)
    return text.split(separator, count_max - 1 if count_max > 0 else -1)


def _replace(text: str, old: str, new: str, count_max: int = -1) -> str:
    return text.replace(old, new, count_max)


def _index_of(where: Any, wanted: Any, offset: int = 0) -> int:
    if isinstance(where, str):
        return where.find(wanted, offset)
    return where.index(wanted) if wanted in where else -1


def _last_index_of(where: Any, wanted: Any) -> int:
    if isinstance(where, str):
        return where.rfind(wanted)
    return max((at for at, item in enumerate(where) if item == wanted), default=-1)


def _is_sorted(items: list[Any]) -> bool:
    return all(one <= other for one, other in itertools.pairwise(items))


def _join(items: list[str], separator: str = "") -> str:
    return separator.join(items)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "charAt": lambda text, at: text[at : at + 1],
    "find": _find,
    "findAll": _find_all,
    "indexOf": _index_of,
    "isSorted": _is_sorted,
    "join": _join,
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: text.lower(),
    "max": max,
    "min": min,
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "sum": sum,
    "trim": lambda text: text.strip(),
    "upperAscii": lambda text: text.upper(),
}
