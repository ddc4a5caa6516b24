"""Protobuf bodies, as JSON would say them: what kubectl sends where it works with typed clients.

Lives here: the wire format and the envelope of Kubernetes. Which fields a message has is in
protobuf_messages.py. Answers are never protobuf: every client that sends it takes JSON too.
https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sandbox.http.protobuf_messages import MESSAGES, Field, Message
from sandbox.store.errors import bad_request, unsupported_media_type

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_WITHOUT_TABLE = ("application/json", "application/yaml")
_VARINT_BITS_MAX = 64
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}


class Unreadable(ValueError):
    """The bytes are no message; the text says why."""


def sent_object(body: bytes, wanted: str) -> dict[str, Any]:
    """The object in an envelope; 400 for other bytes, 415 for kinds without a table."""
    try:
        return _decoded(body)
    except Unreadable as problem:
        raise bad_request(f"the body has to be a {wanted} in protobuf: {problem}") from problem


def _decoded(body: bytes) -> dict[str, Any]:
    if not body.startswith(_MAGIC) or body == _MAGIC:
        raise Unreadable("it is no message of Kubernetes")
    envelope = _read(body[len(_MAGIC) :], MESSAGES["Unknown"])
    type_meta = envelope.get("typeMeta", {})
    kind, version = type_meta.get("kind", ""), type_meta.get("apiVersion", "")
    message = MESSAGES.get(f"{version} {kind}") or MESSAGES.get(kind)
    if message is None:
        raise unsupported_media_type(_WITHOUT_TABLE)
    return {**type_meta, **_read(base64.b64decode(envelope.get("raw", "")), message)}


def _read(data: bytes, message: Message) -> dict[str, Any]:
    """A message as the JSON object that Go would write: what is empty is left out."""
    result: dict[str, Any] = {}
    for number, value in _fields(data):
        field = message.get(number)
        if field is None:
            continue
        if field.is_map:
            key, item = _entry(value, field)
            result.setdefault(field.name, {})[key] = item
        elif field.repeated:
            result.setdefault(field.name, []).append(_value(value, field))
        else:
            shown = _value(value, field)
            if field.optional or shown not in ("", 0, False, None, {}):
                result[field.name] = shown
    return result


def _entry(value: int | bytes, field: Field) -> tuple[str, Any]:
    parts = dict(_fields(_bytes(value)))
    return _text(parts.get(1, b"")), _value(parts.get(2, b""), field)


def _value(value: int | bytes, field: Field) -> Any:
    match field.type:
        case "text":
            return _text(value)
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "flag":
            return bool(_number(value))
        case "int":
            return _number(value)
        case "Time" | "MicroTime":
            return _time(_bytes(value), field.type)
        case "Quantity":
            return _text(dict(_fields(_bytes(value))).get(1, b""))
        case "IntOrString":
            parts = dict(_fields(_bytes(value)))
            if _number(parts.get(1, 0)):
                return _text(parts.get(3, b""))
            return _number(parts.get(2, 0))
    return _read(_bytes(value), MESSAGES[field.type])


def _time(data: bytes, kind: str) -> str | None:
    parts = dict(_fields(data))
    if not parts:
        return None
    try:
        moment = datetime.fromtimestamp(_number(parts.get(1, 0)), UTC)
    except (ValueError, OverflowError, OSError):
        raise Unreadable("a time outside of the years 1 to 9999") from None
    if kind == "Time":
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{_number(parts.get(2, 0)) // 1000:06d}Z"


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and raw value of each field: an int, or the bytes of what has a length."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint(data, at)
        elif kind in _FIXED_BYTES:
            length = _FIXED_BYTES[kind]
        else:
            raise Unreadable(f"proto: illegal wireType {kind}")
        if at + length > len(data):
            raise Unreadable("unexpected EOF")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise Unreadable("unexpected EOF")
        if shift >= _VARINT_BITS_MAX:
            raise Unreadable("proto: integer overflow")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Unreadable("proto: wrong wireType")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as problem:
        raise Unreadable("string field contains invalid UTF-8") from problem


def _number(value: int | bytes) -> int:
    """A varint as the signed number it stands for."""
    if not isinstance(value, int):
        raise Unreadable("proto: wrong wireType")
    return value - (1 << 64) if value >> 63 else value
