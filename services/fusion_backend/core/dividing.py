"""Divides the resources of a job among its PEs: quantities of Kubernetes, exactly.

1. Limits and requests are each divided by the number of PEs, rounded down to three decimals,
   trailing zeros dropped, the suffix kept.
2. A share that would be 0 is written in the next smaller unit in which it is not.
3. The least share is what the API server knows no part of: 1m of CPU (it rounds up to that), a
   byte, a device. What is counted in whole numbers (devices, huge pages) is rounded down to them.

Shares never add up to more than the whole, but for rule 3's least.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_DOWN, Context, Decimal, localcontext
from typing import Any, Final

_QUANTITY: Final = re.compile(
    r"(?P<number>\d{1,99}(?:\.\d{1,99})?)"
    r"(?:[eE](?P<exponent>\d{1,2})|(?P<suffix>[numkKMGTPE]|[KMGTPE]i)?)"
)
_EXACT: Final = Context(prec=400)
"""Digits that are enough for every share of what _QUANTITY takes; more are nobody's resources."""
_DECIMALS: Final = Decimal("0.001")
_DECIMAL_UNITS: Final = ("E", "P", "T", "G", "M", "k", "", "m", "u", "n")
_BINARY_UNITS: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", "")
_THOUSANDS_AS_MANY_WRITE_IT: Final = "K"
_WHOLE_BYTES: Final = ("memory", "ephemeral-storage")
_WHOLE_PIECES: Final = ("hugepages-",)
_SHARED: Final = ("limits", "requests")

Json = dict[str, Any]


def share_of_job(whole: Mapping[str, Any] | None, pes: int) -> Json:
    """The share of one of `pes` PEs in the resources of the whole job; empty where it has none."""
    return {
        part: {name: divided(value, pes, resource=name) for name, value in amounts.items()}
        for part in _SHARED
        if (amounts := (whole or {}).get(part))
    }


def divided(quantity: object, parts: int, *, resource: str = "cpu") -> str:
    """One share of a quantity; what is none, or endless, is left for the API server to refuse."""
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None or parts < 1:
        return str(quantity)
    with localcontext(_EXACT):
        return _share_of(found, parts, resource)


def mcpu_of(quantity: object) -> int:
    """Thousandths of a CPU, rounded up; 0 for what is no quantity."""
    found = _QUANTITY.fullmatch(str(quantity))
    if found is None:
        return 0
    with localcontext(_EXACT):
        number = Decimal(found["number"]).scaleb(int(found["exponent"] or 0))
        return int((number * _factor(found["suffix"] or "") * 1000).to_integral(ROUND_CEILING))


def _share_of(found: re.Match[str], parts: int, resource: str) -> str:
    number = Decimal(found["number"]).scaleb(int(found["exponent"] or 0))
    suffix = found["suffix"] or ""
    if _is_whole(resource):
        return _whole_share(number * _factor(suffix), parts)
    return _share(number / parts, suffix, resource)


def _share(exact: Decimal, suffix: str, resource: str) -> str:
    if not exact:
        return f"0{suffix}"
    units = _BINARY_UNITS if suffix.endswith("i") else _DECIMAL_UNITS
    at = units.index("k" if suffix == _THOUSANDS_AS_MANY_WRITE_IT else suffix)
    least = _least(units, resource)
    step = 1024 if units is _BINARY_UNITS else 1000
    share, unit = exact, suffix
    while not (rounded := share.quantize(_DECIMALS, rounding=ROUND_DOWN)) and at < least:
        at, share = at + 1, share * step
        unit = units[at]
    is_below_least = at >= least and rounded < 1
    return f"1{unit}" if is_below_least else _text(rounded) + unit


def _least(units: tuple[str, ...], resource: str) -> int:
    """The place of the smallest unit that means something: bytes, or thousandths of a CPU."""
    smallest = "" if resource in _WHOLE_BYTES or "m" not in units else "m"
    return units.index(smallest)


def _is_whole(resource: str) -> bool:
    """Extended resources (they have a domain) and huge pages are counted, not measured."""
    return "/" in resource or resource.startswith(_WHOLE_PIECES)


def _whole_share(number: Decimal, parts: int) -> str:
    share = int(number / parts)
    return str(share if share or not number else 1)


def _factor(suffix: str) -> Decimal:
    if suffix.endswith("i"):
        return Decimal(1024) ** (_BINARY_UNITS.index("") - _BINARY_UNITS.index(suffix))
    unit = "k" if suffix == _THOUSANDS_AS_MANY_WRITE_IT else suffix
    return Decimal(1000) ** (_DECIMAL_UNITS.index("") - _DECIMAL_UNITS.index(unit))


def _text(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
