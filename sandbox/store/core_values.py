"""The single values of core kinds as Go reads them: numbers, bytes, times, quantities."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import Any

from sandbox.store.errors import json_type, shown
from sandbox.store.json_text import BeyondDouble

Read = Callable[[Any, tuple[Any, ...], list[str]], Any]
_INT32 = 1 << 31
_INT64 = 1 << 63
_SECONDS = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_RFC3339 = re.compile(rf"{_SECONDS}(?:[.,](\d+))?{_ZONE}", re.ASCII)
_RFC3339_MICRO = re.compile(rf"{_SECONDS}\.(\d{{6}}){_ZONE}", re.ASCII)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_QUANTITY = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?"
)
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SMALLEST = Decimal(1).scaleb(-9)
QUANTITY_CHARS_MAX = 256
QUANTITY_EXPONENT_MAX = 256
"""Beyond these a quantity means nothing, and its digits would keep everybody else waiting."""
_EXACT = Context(prec=2 * (QUANTITY_CHARS_MAX + QUANTITY_EXPONENT_MAX))


class Misread(Exception):
    """A value that its field cannot hold."""


def mistyped(value: Any, path: tuple[Any, ...]) -> Misread:
    """JSON of another type than that of the field."""
    return Misread(f"{path_text(path)} cannot be of type {json_type(value)}")


def path_text(path: tuple[Any, ...]) -> str:
    """`spec.ports[0].name` of the nested pairs that readers hand down."""
    return path_under(*path) if path else ""


def path_under(path: tuple[Any, ...], name: Any) -> str:
    """The path of something below `path`."""
    above = path_text(path)
    if isinstance(name, int):
        return f"{above}[{name}]"
    return f"{above}.{name}" if above else str(name)


def _text(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    if not isinstance(value, str):
        raise mistyped(value, path)
    return value


def _flag(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    if not isinstance(value, bool):
        raise mistyped(value, path)
    return value


def _integer(limit: int) -> Read:
    def read(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
        _refuse_beyond(value, path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise mistyped(value, path)
        if isinstance(value, float) or not -limit <= value < limit:
            raise Misread(f"{path_text(path)} cannot be {value}")
        return value

    return read


def _refuse_beyond(value: Any, path: tuple[Any, ...]) -> None:
    if isinstance(value, BeyondDouble):
        raise Misread(f"{path_text(path)} cannot be {value}")


def _number(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    _refuse_beyond(value, path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise mistyped(value, path)
    return value


def _bytes(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    """Base64, written without the line ends that Go skips."""
    text = _text(value, path, unknown)
    packed = text.replace("\r", "").replace("\n", "")
    if not _BASE64.fullmatch(packed):
        raise Misread(f"{path_text(path)} is not in base64")
    return base64.b64encode(base64.b64decode(packed)).decode()


def _any(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    return value


def _int_or_text(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    if isinstance(value, str):
        return value
    return READERS["int32"](value, path, unknown)


def _time(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    return f"{_parsed_time(_text(value, path, unknown), _RFC3339):%Y-%m-%dT%H:%M:%SZ}"


def _micro_time(value: Any, path: tuple[Any, ...], unknown: list[str]) -> Any:
    return f"{_parsed_time(_text(value, path, unknown), _RFC3339_MICRO):%Y-%m-%dT%H:%M:%S.%fZ}"


@lru_cache(maxsize=1024)  # the same times are read again with every write of an object
def _parsed_time(text: str, pattern: re.Pattern[str]) -> datetime:
    """A time in UTC."""
    parts = pattern.fullmatch(text)
    if parts is None:
        raise Misread(f"{text!r} is no time as 2026-01-31T12:00:00Z")
    moment, fraction, zone = parts.groups()
    try:
        read = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        read += timedelta(microseconds=int((fraction or "")[:6].ljust(6, "0")))
        if zone == "Z":
            return read
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
        return read - away if zone[0] == "+" else read + away
    except (ValueError, OverflowError) as problem:
        raise Misread(f"{text!r} is no time: {problem}") from problem


def _quantity(value: Any, path: tuple[Any, ...], unknown: list[str]) -> str:
    """https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/"""
    text = value.strip() if isinstance(value, str) else str(value)
    is_text = not isinstance(value, bool | list | dict) and len(text) <= QUANTITY_CHARS_MAX
    parts = _QUANTITY.fullmatch(text) if is_text else None
    if parts is None:
        raise Misread(f"{shown(value)} is no quantity as 100m or 1.5Gi")
    with localcontext(_EXACT):
        return _canonical(parts[1], parts[2], parts[3] or "")


def _canonical(sign: str, digits: str, suffix: str) -> str:
    amount = Decimal(digits)
    amount = -amount if sign == "-" else amount
    if suffix.endswith("i"):
        return _binary(amount * 1024 ** _BINARY.index(suffix))
    if suffix[:1] in {"e", "E"} and suffix != "E":
        exponent = int(suffix[1:])
        if abs(exponent) > QUANTITY_EXPONENT_MAX:
            raise Misread(f"the exponent of a quantity is at most {QUANTITY_EXPONENT_MAX}")
        return _decimal(amount.scaleb(exponent), _as_exponent)
    return _decimal(amount.scaleb(_DECIMAL[suffix]), _SUFFIX_OF.__getitem__)


def _binary(amount: Decimal) -> str:
    """In the largest unit that divides it; what is small or broken is written in decimals."""
    if abs(amount) < 1024 or amount != amount.to_integral_value():
        return _decimal(amount, _SUFFIX_OF.__getitem__)
    whole, power = int(amount), 0
    while whole % 1024 == 0 and power < len(_BINARY) - 1:
        whole, power = whole // 1024, power + 1
    return f"{whole}{_BINARY[power]}"


def _decimal(amount: Decimal, written: Callable[[int], str]) -> str:
    """With the largest unit of a thousand that leaves no fraction; rounded up to nano."""
    if amount == 0:
        return "0"
    nanos = int((amount / _SMALLEST).to_integral_value(rounding="ROUND_UP"))
    exponent = -9
    while nanos % 1000 == 0 and exponent < max(_SUFFIX_OF):
        nanos, exponent = nanos // 1000, exponent + 3
    return f"{nanos}{written(exponent)}"


def _as_exponent(exponent: int) -> str:
    return f"e{exponent}" if exponent else ""


READERS: Mapping[str, Read] = {
    "any": _any,
    "bool": _flag,
    "bytes": _bytes,
    "float64": _number,
    "int32": _integer(_INT32),
    "int64": _integer(_INT64),
    "intOrString": _int_or_text,
    "microTime": _micro_time,
    "quantity": _quantity,
    "string": _text,
    "time": _time,
}
# What a field holds that is always written, without a value.
ZEROES: Mapping[str, Any] = {
    "any": None,
    "bool": False,
    "bytes": "",
    "float64": 0,
    "int32": 0,
    "int64": 0,
    "intOrString": 0,
    "microTime": None,
    "quantity": "0",
    "string": "",
    "time": None,
}
