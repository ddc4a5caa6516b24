"""Whether rules fit their schema: they can be read, name fields that exist, say yes or no.

A real API server checks types statically. Here a rule is followed through the schema along its
chains of fields, and evaluated once on a value that the schema allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import cel

from sandbox.store import rules
from sandbox.store.errors import Cause, invalid_value

Obj = Mapping[str, Any]
REASONS = rules.REASONS
_CHAIN = re.compile(r"(?<![\w.])(?:self|oldSelf)((?:\.\w+)+)(\s*\()?")
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_OPEN = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
_META = {"name": {"type": "string"}, "generateName": {"type": "string"}}
_OBJECT = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", "properties": _META},
}
_SAMPLES: Mapping[str, Any] = {"boolean": True, "integer": 1, "number": 1.0, "string": "a"}
_TIMES = frozenset({"date", "date-time", "datetime", "duration"})


def rule_causes(schema: Obj, path: str) -> Iterator[Cause]:
    """What is wrong with the rules at and below a schema, given that all else is right."""
    yield from _causes({**schema, "properties": _with_meta(schema)}, path)


def _with_meta(schema: Obj) -> dict[str, Any]:
    return {**(schema.get("properties") or {}), **_OBJECT}


def _causes(schema: Obj, path: str) -> Iterator[Cause]:
    for name, below in (schema.get("properties") or {}).items():
        yield from _causes(below, f"{path}.properties[{name}]")
    for keyword in ("additionalProperties", "items"):
        if isinstance(schema.get(keyword), dict):
            yield from _causes(schema[keyword], f"{path}.{keyword}")
    for index, entry in enumerate(schema.get("x-kubernetes-validations") or ()):
        if (problem := _problem(entry, schema)) is not None:
            where = f"{path}.x-kubernetes-validations[{index}].rule"
            yield invalid_value(where, entry.get("rule"), problem)


def _problem(entry: Obj, schema: Obj) -> str | None:
    try:
        rule = rules.compile_rule(entry)
    except rules.RuleError as error:
        return str(error)
    if (unknown := _unknown_field(rule.text, schema)) is not None:
        return f"the schema has no field {unknown}"
    sample = _sample(schema)
    context = cel.Context({"self": sample, "oldSelf": sample})
    for name, function in rule.functions.items():
        context.add_function(name, function)
    try:
        found = rule.program.execute(context)
    except Exception:  # noqa: BLE001 - of one value; what the rule says of others is not known
        return None
    return None if isinstance(found, bool) else "has to be true or false"


def _unknown_field(text: str, schema: Obj) -> str | None:
    """The first field along a chain that no schema declares."""
    for chain in _CHAIN.finditer(_TEXT.sub("''", text)):
        names = chain[1].split(".")[1:]
        if chain[2]:
            names = names[:-1]  # a function
        below = schema
        for name in names:
            declared = _declared(below, name)
            if declared is None:
                return str(name)
            below = declared
    return None


def _declared(schema: Obj, name: str) -> Obj | None:
    """The schema of a field; an empty one where anything may be."""
    name = rules.unescaped(name)
    found = (schema.get("properties") or {}).get(name)
    if found is not None:
        return found if isinstance(found, dict) else {}
    if isinstance(schema.get("additionalProperties"), dict):
        below: Obj = schema["additionalProperties"]
        return below
    open_ended = any(schema.get(keyword) for keyword in _OPEN) or not schema.get("type")
    if open_ended or schema.get("format") in _TIMES or schema.get("additionalProperties"):
        return {}
    return None


def _sample(schema: Obj) -> Any:
    """A value with everything in it that the schema declares."""
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("properties"):
        return {name: _sample(below) for name, below in schema["properties"].items()}
    if isinstance(schema.get("additionalProperties"), dict):
        return {"a": _sample(schema["additionalProperties"])}
    if isinstance(schema.get("items"), dict):
        return [_sample(schema["items"])]
    return _SAMPLES.get(schema.get("type", ""), {})
