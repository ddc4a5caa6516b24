"""Every limit of a schema, each with an object that breaks this limit and no other by intention.

1. Walk the schema: every keyword that refuses something is a limit at a place. 2. For each, build
the smallest object that has the place and satisfies what is required on the way there. 3. Put a
value there that breaks the limit. A keyword that is neither known to refuse nor known to be
harmless is an error, so that no limit can be added without being broken here. Of a pod template's
thousand fields one of each kind is tried.
Rules in CEL cannot be broken by looking at them: their cases are written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
Steps = tuple[str | int, ...]
KEY = "k"  # of maps
_TIME = "2026-01-02T03:04:05Z"
_OURS = ("spec", "status")  # what else there is belongs to every object
_WORDS = ("one", "1", "none")  # one of them fits every pattern of ours
_WORD = "!"  # no word that a pattern or enum of ours allows
_HARMLESS = frozenset(
    {
        "additionalProperties",
        "default",
        "description",
        "items",
        "nullable",
        "properties",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    }
)
_BITS = {"int32": 32, "int64": 64}  # formats of integers; a bound may say more
_NOWHERE = "<nil>"  # the field of a number that exceeds its format
_OF_KUBERNETES = ("podTemplate", "spec")
_OF_JSON: Mapping[str, Any] = {
    "array": 1,
    "boolean": "x",
    "integer": "x",
    "number": "x",
    "object": 1,
    "string": 1,
}
_REASONS: Mapping[str, str] = {
    "enum": "FieldValueNotSupported",
    "format": "FieldValueTypeInvalid",
    "maxItems": "FieldValueTooMany",
    "maxLength": "FieldValueTooLong",
    "maxProperties": "FieldValueTooMany",
    "required": "FieldValueRequired",
    "type": "FieldValueTypeInvalid",
    "x-kubernetes-int-or-string": "FieldValueTypeInvalid",
    "x-kubernetes-list-type": "FieldValueDuplicate",
}
_INVALID = "FieldValueInvalid"


@dataclass(frozen=True)
class Limit:
    """One keyword of a schema. `broken` is the whole object; `field` and `reason` its cause."""

    keyword: str
    field: str
    reason: str
    broken: Obj


def limits(root: Obj) -> list[Limit]:
    """Every limit of a schema, apart from rules in CEL."""
    found = []
    for steps, schema in _chosen(root):
        for keyword in sorted(schema):
            for below, value in _broken(keyword, schema):
                where, reason = text_of((*steps, *below)), _REASONS.get(keyword, _INVALID)
                found.append(Limit(keyword, where, reason, _around(root, steps, value)))
        if schema.get("format") in _BITS and "maximum" not in schema:
            broken = _around(root, steps, 2 ** (_BITS[schema["format"]] - 1))
            found.append(Limit("format", _NOWHERE, _INVALID, broken))
    found += [Limit("required", name, _REASONS["required"], {}) for name in root["required"]]
    return found


def _chosen(root: Obj) -> Iterator[tuple[Steps, Obj]]:
    """The schemas of what is ours, and one of each kind of those of a pod."""
    known = set()
    for steps, schema in places(root):
        if not steps or steps[0] not in _OURS:
            continue
        at = [steps[here : here + 2] for here in range(len(steps))]
        if _OF_KUBERNETES in at[:-2]:
            own = {key: value for key, value in schema.items() if key not in _HARMLESS}
            kind = repr((sorted(own.items()), "properties" in schema))
            if kind in known:
                continue
            known.add(kind)
        yield steps, schema


def places(schema: Obj, steps: Steps = ()) -> Iterator[tuple[Steps, Obj]]:
    """Every schema in a schema with the way to a value that it is for."""
    yield steps, schema
    for name, below in (schema.get("properties") or {}).items():
        yield from places(below, (*steps, name))
    if isinstance(schema.get("items"), dict):
        yield from places(schema["items"], (*steps, 0))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from places(schema["additionalProperties"], (*steps, KEY))


def text_of(steps: Steps) -> str:
    """`spec.ports[0].name`"""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(parts).removeprefix(".")


def valid(schema: Obj) -> Any:
    """The smallest value that a schema allows, with what it requires."""
    kind = schema.get("type")
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "object":
        return {name: valid(schema["properties"][name]) for name in schema.get("required") or ()}
    if kind == "array":
        return []
    if kind == "string":
        return _text(schema)
    if kind == "boolean":
        return False
    return schema.get("minimum", 0)


def _text(schema: Obj) -> str:
    if schema.get("format") == "date-time":
        return _TIME
    return next(word for word in _WORDS if re.search(schema.get("pattern", ""), word))


def _around(schema: Obj, steps: Steps, value: Any) -> Any:
    """The smallest object with `value` at the end of `steps`."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        return [_around(schema["items"], rest, value)]
    below = (schema.get("properties") or {}).get(step) or schema.get("additionalProperties")
    assert isinstance(below, dict)
    return {**valid(schema), step: _around(below, rest, value)}


def _broken(keyword: str, schema: Obj) -> Iterator[tuple[Steps, Any]]:
    """For each way to break a keyword: where below the cause is, and the value."""
    if keyword == "required":
        whole = valid(schema)
        for name in schema["required"]:
            yield (name,), {key: value for key, value in whole.items() if key != name}
    elif keyword == "format":
        if schema["format"] not in _BITS:
            yield (), "yesterday"
    elif keyword == "x-kubernetes-list-type":
        item = valid(schema["items"])
        assert schema[keyword] in {"map", "set"}
        yield (1,), [item, item]
    elif keyword in _BREAKERS:
        yield (), _BREAKERS[keyword](schema[keyword], schema)
    else:
        assert keyword in _HARMLESS, f"nobody knows what breaks {keyword}"


def _unmatched(pattern: str, schema: Obj) -> str:
    assert not re.search(pattern, _WORD)
    return _WORD


def _wide(limit: int, schema: Obj) -> Obj:
    item = valid(schema["additionalProperties"])
    return {f"k{number}": item for number in range(limit + 1)}


_BREAKERS: Mapping[str, Callable[[Any, Obj], Any]] = {
    "enum": lambda allowed, schema: _WORD,
    "maximum": lambda limit, schema: limit + 1,
    "maxItems": lambda limit, schema: [valid(schema["items"]) for _ in range(limit + 1)],
    "maxLength": lambda limit, schema: "a" * (limit + 1),
    "maxProperties": _wide,
    "minimum": lambda limit, schema: limit - 1,
    "minLength": lambda limit, schema: "a" * (limit - 1),
    "pattern": _unmatched,
    "type": lambda kind, schema: _OF_JSON[kind],
    "x-kubernetes-int-or-string": lambda yes, schema: True,
}
