"""The single values of core kinds as Go reads and writes them: numbers, bytes, times, quantities.

Texts of refusals are those of Go's decoder, because people search for them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from typing import Any

from sandbox.store.json_text import BeyondDouble
from sandbox.store.schema_causes import go_type

Read = Callable[[Any, tuple[Any, ...], list[str]], Any]
_INT32 = 1 << 31
_INT64 = 1 << 63
_RFC3339 = "2006-01-02T15:04:05Z07:00"
_RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_ALPHABET = re.compile(r"[A-Za-z0-9+/]*")
_QUANTITY = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?"
)
_QUANTITY_LIKE = re.compile(r"[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*")
_NO_QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_NO_SUFFIX = "unable to parse quantity's suffix"
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SMALLEST = Decimal(1).scaleb(-9)
QUANTITY_CHARS_MAX = 256
QUANTITY_EXPONENT_MAX = 256
"""Beyond these a quantity means nothing, and its digits would keep everybody else waiting."""
_EXACT = Context(prec=2 * (QUANTITY_CHARS_MAX + QUANTITY_EXPONENT_MAX))


class Misread(Exception):
    """A value that Go cannot read into its field; the text is what its decoder says."""


def mistyped(value: Any, path: tuple[Any, ...]) -> Misread:
    """JSON of another type than that of the field."""
    kind = go_type(value)
    return Misread(f"json: cannot unmarshal {kind} into Go struct field {path_text(path)}")


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
            field = path_text(path)
            raise Misread(f"json: cannot unmarshal number {value} into Go struct field {field}")
        return value

    return read


def _refuse_beyond(value: Any, path: tuple[Any, ...]) -> None:
    if isinstance(value, BeyondDouble):
        field = path_text(path)
        raise Misread(f"json: cannot unmarshal number {value} into Go struct field {field}")


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
        raise Misread(f"illegal base64 data at input byte {_illegal_byte(packed)}")
    return base64.b64encode(base64.b64decode(packed)).decode()


def _illegal_byte(text: str) -> int:
    """Where Go's decoder gives up."""
    plain = _ALPHABET.match(text)
    good = len(plain[0]) if plain else 0
    if good == len(text):
        return good - good % 4
    if text[good] != "=" or good % 4 < 2:
        return good
    if good % 4 == 3:
        return good + 1
    if good + 1 == len(text):
        return len(text)
    return good + 2 if text[good + 1] == "=" else good + 1


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


def _elements(layout: str) -> tuple[tuple[str, str], ...]:
    """A layout of Go in the pieces that it is read by, each with a pattern."""
    fraction = ((".000000", r"\.\d{6}"),) if layout == _RFC3339_MICRO else (("", r"(?:[.,]\d+)?"),)
    return (
        ("2006", r"\d{4}"),
        ("-", "-"),
        ("01", r"\d\d"),
        ("-", "-"),
        ("02", r"\d\d"),
        ("T", "T"),
        ("15", r"\d\d"),
        (":", ":"),
        ("04", r"\d\d"),
        (":", ":"),
        ("05", r"\d\d"),
        *fraction,
        ("Z07:00", r"Z|[+-]\d\d:\d\d"),
    )


_ELEMENTS = {layout: _elements(layout) for layout in (_RFC3339, _RFC3339_MICRO)}
_RANGES = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59)}
_RANGES["05"] = ("second", 0, 59)


@lru_cache(maxsize=1024)  # the same times are read again with every write of an object
def _parsed_time(text: str, layout: str) -> datetime:
    """A time in UTC, refused as Go's time.Parse refuses."""
    at, parts = 0, {}
    for element, pattern in _ELEMENTS[layout]:
        found = re.compile(pattern).match(text, at)
        if found is None:
            rest = text[at:]
            raise Misread(
                f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"'
            )
        parts[element] = found[0]
        at = found.end()
        if element in _RANGES:
            name, low, high = _RANGES[element]
            if not low <= int(found[0]) <= high:
                raise Misread(f'parsing time "{text}": {name} out of range')
    if text[at:]:
        raise Misread(f'parsing time "{text}": extra text: "{text[at:]}"')
    return _moment(text, parts)


def _moment(text: str, parts: Mapping[str, str]) -> datetime:
    fraction = (parts.get(".000000") or parts.get("") or "")[1:7].ljust(6, "0")
    try:
        moment = datetime(
            int(parts["2006"]),
            int(parts["01"]),
            int(parts["02"]),
            int(parts["15"]),
            int(parts["04"]),
            int(parts["05"]),
            int(fraction),
            tzinfo=UTC,
        )
        zone = parts["Z07:00"]
        if zone == "Z":
            return moment
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
        return moment - away if zone[0] == "+" else moment + away
    except (ValueError, OverflowError) as problem:
        raise Misread(f'parsing time "{text}": day out of range') from problem


def _quantity(value: Any, path: tuple[Any, ...], unknown: list[str]) -> str:
    """https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/"""
    text = value.strip() if isinstance(value, str) else str(value)
    is_text = not isinstance(value, bool | list | dict) and len(text) <= QUANTITY_CHARS_MAX
    if not is_text or not _QUANTITY_LIKE.fullmatch(text):
        raise Misread(_NO_QUANTITY)
    parts = _QUANTITY.fullmatch(text)
    if parts is None:
        raise Misread(_NO_SUFFIX)
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
            raise Misread(_NO_SUFFIX)
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
