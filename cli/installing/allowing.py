"""Whether a value is one that the chart allows: the part of JSON Schema that its schemas use.

Helm checks `values.schema.json`; here the same is checked without Helm. A keyword that is not known
here is an error of ours (`tests/unit/cli/installing/test_allowing.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

Json = dict[str, Any]

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def problem_of(path: str, value: Any, schema: Mapping[str, Any]) -> str:
    """What a schema refuses of a value, with the path of what it refuses; empty: nothing."""
    for keyword, limit in schema.items():
        problem = _RULES[keyword](path, value, limit, schema)
        if problem:
            return problem
    return ""


def _type(path: str, value: Any, names: str | list[str], _schema: Any) -> str:
    allowed = [names] if isinstance(names, str) else names
    if any(_is_of(value, name) for name in allowed):
        return ""
    return f"{path} is {value!r}, and has to be {' or '.join(allowed)}"


def _is_of(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _enum(path: str, value: Any, allowed: list[Any], _schema: Any) -> str:
    if value in allowed:
        return ""
    return f"{path} is {value!r}, and has to be one of {', '.join(map(str, allowed))}"


def _pattern(path: str, value: Any, pattern: str, _schema: Any) -> str:
    # In a schema `$` is the end alone, in Python also the place before a last line break.
    if not isinstance(value, str) or re.search(pattern.replace("$", r"\Z"), value):
        return ""
    return f"{path} is {value!r}, and has to match {pattern}"


def _compared(words: str, holds: Callable[[float, float], bool]) -> Callable[..., str]:
    def rule(path: str, value: Any, limit: float, _schema: Any) -> str:
        if not _is_of(value, "number") or holds(value, limit):
            return ""
        return f"{path} is {value!r}, and has to be {words} {limit}"

    return rule


def _any_of(path: str, value: Any, schemas: list[Json], _schema: Any) -> str:
    problems = [problem_of(path, value, each) for each in schemas]
    return "" if "" in problems else problems[0]


def _properties(path: str, value: Any, known: Mapping[str, Json], _schema: Any) -> str:
    if not isinstance(value, dict):
        return ""
    below = (
        problem_of(f"{path}.{key}", each, known[key]) for key, each in value.items() if key in known
    )
    return next(filter(None, below), "")


def _additional(path: str, value: Any, others: bool | Json, schema: Mapping[str, Any]) -> str:
    known = schema.get("properties", {})
    added = [key for key in value if key not in known] if isinstance(value, dict) else []
    if others is False and added:
        return f"{path}.{added[0]} is no value of the chart"
    if isinstance(others, bool):
        return ""
    below = (problem_of(f"{path}.{key}", value[key], others) for key in added)
    return next(filter(None, below), "")


def _items(path: str, value: Any, schema: Json, _schema: Any) -> str:
    if not isinstance(value, list):
        return ""
    below = (problem_of(f"{path}[{n}]", each, schema) for n, each in enumerate(value))
    return next(filter(None, below), "")


def _unique(path: str, value: Any, _limit: bool, _schema: Any) -> str:
    if not isinstance(value, list):
        return ""
    twice = [each for number, each in enumerate(value) if each in value[:number]]
    return f"{path} has {twice[0]!r} twice" if twice else ""


_RULES: Final[Mapping[str, Callable[..., str]]] = {
    "type": _type,
    "enum": _enum,
    "pattern": _pattern,
    "minimum": _compared("at least", lambda value, limit: value >= limit),
    "maximum": _compared("at most", lambda value, limit: value <= limit),
    "exclusiveMinimum": _compared("more than", lambda value, limit: value > limit),
    "anyOf": _any_of,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "uniqueItems": _unique,
}
