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

_TEXT = "text"
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


def causes_of(errors: Iterable[jsonschema_rs.ValidationError]) -> list[Cause]:
    """All violations; of the length and the pattern of a string only the first one counts."""
    kept: dict[Any, jsonschema_rs.ValidationError] = {}
    for error in errors:
        place = tuple(error.instance_path)
        rank = _OF_STRINGS.get(error.kind.name)
        if rank is None:
            kept[place, len(kept)] = error
        elif (place, _TEXT) not in kept or rank < _OF_STRINGS[kept[place, _TEXT].kind.name]:
            kept[place, _TEXT] = error
    return [cause_of(error) for error in kept.values()]


def cause_of(error: jsonschema_rs.ValidationError) -> Cause:
    """One violation as a cause with path, reason and message."""
    path = path_text(error.instance_path)
    kind, value = error.kind.name, error.instance
    details: dict[str, Any] = error.kind.as_dict()
    shown_at = path or ROOT
    if kind == "required":
        missing = str(details["property"])
        return required(f"{path}.{missing}" if path else missing)
    if kind == "type":
        return _wrong_type(error, path)
    if kind == "enum":
        return not_supported(shown_at, value, details["options"])
    if kind == "maxLength":
        return too_long(shown_at, int(details["limit"]))
    if kind == "maxItems" and isinstance(value, list):
        return too_many(shown_at, len(value), int(details["limit"]))
    if kind == "maxProperties" and isinstance(value, dict):
        return too_many(shown_at, len(value), int(details["limit"]))
    said = _sentence(kind, details, error.message)
    body = f"{path or ROOT} in body {said}"
    if kind in {"anyOf", "oneOf", "not"}:
        body = f'"{path}" {said}'
    if kind == "format":
        return type_invalid(shown_at, value, f"{body}: {shown(value)}")
    return invalid_value(shown_at, value, body)


def _wrong_type(error: jsonschema_rs.ValidationError, path: str) -> Cause:
    wanted = [name for name in _names(error.kind.as_dict().get("types")) if name != "null"]
    found = json_type(error.instance)
    text = ",".join(wanted) if wanted else str(error.message)
    detail = f'{path or ROOT} in body must be of type {text}: "{found}"'
    return type_invalid(path or ROOT, found, detail)


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
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _valid_count(details: Mapping[str, Any]) -> str:
    count = sum(not errors for errors in details.get("context") or ())
    return f"{count} valid alternatives" if count else "none valid"


def _sentence(kind: str, details: Mapping[str, Any], message: str) -> str:
    limit = details.get("limit")
    sentences = {
        "minimum": f"should be greater than or equal to {limit}",
        "maximum": f"should be less than or equal to {limit}",
        "exclusiveMinimum": f"should be greater than {limit}",
        "exclusiveMaximum": f"should be less than {limit}",
        "minLength": f"should be at least {limit} chars long",
        "minItems": f"should have at least {limit} items",
        "minProperties": f"should have at least {limit} properties",
        "maxProperties": f"should have at most {limit} properties",
        "multipleOf": f"should be a multiple of {details.get('multiple_of')}",
        "pattern": f"should match '{details.get('pattern')}'",
        "format": f"must be of type {details.get('format')}",
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOf": f"must validate one and only one schema (oneOf). Found {_valid_count(details)}",
        "not": "must not validate the schema (not)",
    }
    return sentences.get(kind, message)
