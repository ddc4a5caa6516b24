"""What the JSON schema library found wrong, in the words of the API server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jsonschema_rs

from sandbox.store.errors import (
    Cause,
    invalid_value,
    not_supported,
    required,
    shown,
    too_long,
    too_many,
    type_invalid,
)
from sandbox.store.folding import Folded
from sandbox.store.json_text import BeyondDouble
from sandbox.store.number_checks import Level, Place, enum_takes, misfits
from sandbox.store.numbers import is_int64, is_number, is_whole, printed

_TEXT = "text"
_FORMATS_OF_NUMBERS = {"integer": "int64", "number": "float64"}
_RANKS = {
    kind: rank
    for rank, kinds in enumerate(
        (
            ("type",),
            ("allOf", "anyOf", "oneOf", "not"),
            ("minLength", "maxLength", "pattern"),
            ("format",),
            ("misfit",),
            ("multipleOf",),
            ("maximum", "exclusiveMaximum"),
            ("minimum", "exclusiveMinimum"),
            ("minItems", "maxItems"),
            ("enum",),
        )
    )
    for kind in kinds
}
_OF_STRINGS = {"maxLength": 0, "minLength": 1, "pattern": 2}
ROOT = "<nil>"  # how Kubernetes prints the path of the object itself


def path_text(steps: Iterable[str | int]) -> str:
    """`spec.ports[1].name`"""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def causes_of(
    errors: Iterable[jsonschema_rs.ValidationError], level: Level, obj: Mapping[str, Any]
) -> list[Cause]:
    """All violations of the schema `level`; of what is wrong with a string only the first counts.

    In the order of the object, and at one place in that of kube-apiserver, which itself takes the
    fields of an object in an order of chance.
    """
    kept: dict[Any, jsonschema_rs.ValidationError] = {}
    for error in errors:
        place = tuple(error.instance_path)
        rank = _OF_STRINGS.get(error.kind.name)
        if rank is None:
            kept[place, len(kept)] = error
        elif (place, _TEXT) not in kept or rank < _OF_STRINGS[kept[place, _TEXT].kind.name]:
            kept[place, _TEXT] = error
    found: list[tuple[tuple[int, ...], int, Cause]] = []
    for error in kept.values():
        place = tuple(error.instance_path)
        at, value, position = _found_at(level, obj, place)
        if not _is_taken(error, at, value):
            rank = _RANKS.get(error.kind.name, len(_RANKS))
            found.append((position, rank, cause_of(error, at, value)))
    for place, wanted in misfits(level, obj):
        sentence = f"Checked value must be of type {wanted} in {path_text(place)}"
        position = _found_at(level, obj, place)[2]
        found.append((position, _RANKS["misfit"], invalid_value(ROOT, "", sentence)))
    return [cause for _, _, cause in sorted(found, key=lambda each: each[:2])]


def _found_at(level: Level | None, value: Any, place: Place) -> tuple[Level | None, Any, Any]:
    """The schema and the value at a place, and which of its siblings each step to it is."""
    position = []
    for step in place:
        if isinstance(step, int):
            level = level and level.items
            position.append(step)
        else:
            level = level and level.at(step)
            position.append(list(value).index(step))
        value = value[step]
    return level, value, tuple(position)


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
    wanted = _names(details.get("types"))
    if isinstance(value, float):
        return is_whole(value) and "integer" in wanted
    of_text = level is not None and level.format and "string" in wanted
    return bool(of_text) and isinstance(value, list)  # formats of text let lists pass


def cause_of(error: jsonschema_rs.ValidationError, level: Level | None, value: Any) -> Cause:
    """One violation as a cause with path, reason and message."""
    path = path_text(error.instance_path)
    kind = error.kind.name
    details: dict[str, Any] = error.kind.as_dict()
    shown_at = path or ROOT
    if kind == "required":
        missing = str(details["property"])
        return required(f"{path}.{missing}" if path else missing)
    if kind == "type":
        return _wrong_type(error, shown_at, level, value)
    if kind == "enum":
        return not_supported(shown_at, value, details["options"])
    if kind == "maxLength":
        return too_long(shown_at, int(details["limit"]))
    if kind == "maxItems" and isinstance(value, list):
        return too_many(shown_at, len(value), int(details["limit"]))
    if kind == "maxProperties" and isinstance(value, dict):
        return too_many(shown_at, len(value), int(details["limit"]))
    sentence = _sentence(kind, details, error.message, value)
    body = f"{path or ROOT} in body {sentence}"
    if kind in {"anyOf", "oneOf", "not"}:
        body = f'"{path}" {sentence}'
    if kind == "format":
        return type_invalid(shown_at, value, f"{body}: {shown(value)}")
    return invalid_value(shown_at, value, body)


def _wrong_type(
    error: jsonschema_rs.ValidationError, path: str, level: Level | None, value: Any
) -> Cause:
    """The format is named instead of the type, where there is one, but of text and lists."""
    wanted = [name for name in _names(error.kind.as_dict().get("types")) if name != "null"]
    found = json_type(value)
    text = ",".join(wanted) if wanted else str(error.message)
    if level is not None and level.format and not (value is None or isinstance(value, str | list)):
        text, found = level.format, _FORMATS_OF_NUMBERS.get(found, "")
    return type_invalid(path, found, f'{path} in body must be of type {text}: "{found}"')


def _names(types: Any) -> list[str]:
    return [types] if isinstance(types, str) else [str(item) for item in types or ()]


def go_type(value: Any) -> str:
    """The word of Go's decoder for a type of JSON."""
    kind = json_type(value)
    if kind in {"integer", "number"}:
        return "number"
    return {"boolean": "bool"}.get(kind, kind)


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if is_int64(value) else "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, BeyondDouble):
        return "number"
    if isinstance(value, Folded):
        return "object" if value.is_object else "array"
    return "array" if isinstance(value, list) else "object"


def _valid_count(details: Mapping[str, Any]) -> str:
    count = sum(not errors for errors in details.get("context") or ())
    return f"{count} valid alternatives" if count else "none valid"


def _limit(limit: Any, value: Any) -> str:
    """A limit as it is printed beside a value: a whole number beside one, and else a float."""
    if not is_number(limit) or not is_number(value):
        return str(limit)
    return str(int(limit)) if is_int64(value) else printed(float(limit))


def _sentence(kind: str, details: Mapping[str, Any], message: str, value: Any) -> str:
    limit = _limit(details.get("limit"), value)
    sentences = {
        "minimum": f"should be greater than or equal to {limit}",
        "maximum": f"should be less than or equal to {limit}",
        "exclusiveMinimum": f"should be greater than {limit}",
        "exclusiveMaximum": f"should be less than {limit}",
        "minLength": f"should be at least {limit} chars long",
        "minItems": f"should have at least {limit} items",
        "minProperties": f"should have at least {limit} properties",
        "maxProperties": f"should have at most {limit} properties",
        "multipleOf": f"should be a multiple of {_limit(details.get('multiple_of'), value)}",
        "pattern": f"should match '{details.get('pattern')}'",
        "format": f"must be of type {details.get('format')}",
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOf": f"must validate one and only one schema (oneOf). Found {_valid_count(details)}",
        "not": "must not validate the schema (not)",
    }
    return sentences.get(kind, message)
