"""Limits of ConfigMaps: key names, total size, and what immutable ones keep."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from sandbox.store.errors import Cause, forbidden_field, invalid_value, too_long
from sandbox.store.strategies import Body

DATA_BYTES_MAX = 1024 * 1024
KEY_CHARS_MAX = 253
_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_KEY_TOO_LONG = f"must be no more than {KEY_CHARS_MAX} characters"
_FIELDS = frozenset({"data", "binaryData"})
_IMMUTABLE = "field is immutable when `immutable` is set"


def without_empty(obj: Body) -> Body:
    """Fields that hold nothing are not stored."""
    return {key: value for key, value in obj.items() if value or key not in _FIELDS}


def causes(obj: Body) -> list[Cause]:
    """What is wrong with keys, values and size."""
    found: list[Cause] = []
    size = 0
    found.extend(
        invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData")
        for key in obj.get("data") or {}
        if key in (obj.get("binaryData") or {})
    )
    for field in ("data", "binaryData"):
        values = obj.get(field) or {}
        for key, value in values.items():
            if key in {".", ".."}:
                found.append(invalid_value(f"{field}[{key}]", key, f"must not be '{key}'"))
            elif len(key) > KEY_CHARS_MAX:
                found.append(invalid_value(f"{field}[{key}]", key, _KEY_TOO_LONG))
            elif not _KEY.fullmatch(key):
                found.append(invalid_value(f"{field}[{key}]", key, _KEY_TEXT))
            size += _decoded_bytes(value) if field == "binaryData" else len(value.encode())
    if size > DATA_BYTES_MAX:
        found.append(too_long("[]", DATA_BYTES_MAX))
    return found


def change_causes(obj: Body, old: Mapping[str, Any]) -> list[Cause]:
    """Metadata of an immutable ConfigMap may change, its content may not."""
    if not old.get("immutable"):
        return []
    found = []
    if not obj.get("immutable"):
        found.append(forbidden_field("immutable", _IMMUTABLE))
    found.extend(
        forbidden_field(field, _IMMUTABLE)
        for field in ("data", "binaryData")
        if (obj.get(field) or {}) != (old.get(field) or {})
    )
    return found


def _decoded_bytes(value: str) -> int:
    try:
        return len(base64.b64decode(value, validate=True))
    except binascii.Error:
        return len(value)
