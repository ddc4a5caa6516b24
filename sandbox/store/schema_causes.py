"""What the JSON schema library found wrong: its sentences, with the reasons of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema_rs

from sandbox.store.errors import Cause, cut, invalid_value
from sandbox.store.number_checks import Level, Place, enum_takes, misfits
from sandbox.store.numbers import is_int64, is_whole

_REASONS: Mapping[str, str] = {
    "enum": "FieldValueNotSupported",
    "format": "FieldValueTypeInvalid",
    "maxItems": "FieldValueTooMany",
    "maxLength": "FieldValueTooLong",
    "maxProperties": "FieldValueTooMany",
    "required": "FieldValueRequired",
    "type": "FieldValueTypeInvalid",
}
_OF_STRINGS = {"maxLength": 0, "minLength": 1, "pattern": 2}
ROOT = "<nil>"  # how Kubernetes names the object itself


def path_text(steps: Iterable[str | int]) -> str:
    """`spec.ports[1].name`"""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return "".join(parts).removeprefix(".")


def causes_of(
    errors: Iterable[jsonschema_rs.ValidationError], level: Level, obj: Mapping[str, Any]
) -> list[Cause]:
    """All violations of a schema; of what is wrong with a string, only the first counts."""
    kept: dict[Any, jsonschema_rs.ValidationError] = {}
    for error in errors:
        place = tuple(error.instance_path)
        rank = _OF_STRINGS.get(error.kind.name)
        if rank is None:
            kept[place, len(kept)] = error
        elif (place, "") not in kept or rank < _OF_STRINGS[kept[place, ""].kind.name]:
            kept[place, ""] = error
    found = [
        _cause_of(error)
        for error in kept.values()
        if not _is_taken(error, *_found_at(level, obj, tuple(error.instance_path)))
    ]
    for place, wanted in misfits(level, obj):
        found.append(invalid_value(ROOT, path_text(place), f"has to be of type {wanted}"))
    return found


def _found_at(level: Level | None, value: Any, place: Place) -> tuple[Level | None, Any]:
    """The schema and the value at a place."""
    for step in place:
        level = level and (level.items if isinstance(step, int) else level.at(step))
        value = value[step]
    return level, value


def _is_taken(error: jsonschema_rs.ValidationError, level: Level | None, value: Any) -> bool:
    """Whether kube-apiserver takes a value that the library does not."""
    kind = error.kind.name
    details: dict[str, Any] = error.kind.as_dict()
    if kind == "enum":
        return enum_takes(value, details["options"])
    if kind == "minimum":
        return is_int64(value) and bool(value >= int(details["limit"]))
    if kind != "type":
        return False
    types = details.get("types")
    wanted = [types] if isinstance(types, str) else types or ()
    if isinstance(value, float):
        return is_whole(value) and "integer" in wanted
    of_text = level is not None and level.format and "string" in wanted
    return bool(of_text) and isinstance(value, list)  # formats of text let lists pass


def _cause_of(error: jsonschema_rs.ValidationError) -> Cause:
    path = path_text(error.instance_path)
    if error.kind.name == "required":
        missing = str(error.kind.as_dict()["property"])
        path = f"{path}.{missing}" if path else missing
    reason = _REASONS.get(error.kind.name, "FieldValueInvalid")
    return Cause(path or ROOT, cut(error.message), reason)
