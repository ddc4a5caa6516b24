"""Divides the resources of a job among its PEs: quantities of Kubernetes, exactly.

1. Limits and requests are each divided by the number of PEs, rounded down to three decimals,
   trailing zeros dropped, the suffix kept.
2. A share that would be 0 is written in the next smaller unit in which it is not.
3. The least share is what the API server knows no part of: 1m of CPU (it rounds up to that), a
   byte, a device. What is counted in whole numbers (devices, huge pages) is rounded down to them.

Shares never add up to more than the whole, but for rule 3's least.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any, Final

from contracts.scheduling.quantities import EXACT, Quantity, quantity_of, rounded_up

_DECIMALS: Final = Decimal("0.001")
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
    """One share of a quantity; text that is not a quantity is left for the API server to refuse."""
    whole = quantity_of(quantity)
    if whole is None or parts < 1:
        return str(quantity)
    with localcontext(EXACT):
        return _pieces(whole, parts) if _is_counted(resource) else _share(whole, parts, resource)


def mcpu_of(quantity: object) -> int:
    """Thousandths of a CPU, rounded up; 0 for what is no quantity."""
    return rounded_up(quantity, 1000)


def _share(whole: Quantity, parts: int, resource: str) -> str:
    units, at, unit = whole.units, whole.place, whole.suffix
    share = whole.number / parts
    if not share:
        return f"0{unit}"
    least = _least(units, resource)
    while not (rounded := share.quantize(_DECIMALS, rounding=ROUND_DOWN)) and at < least:
        at, share = at + 1, share * whole.step
        unit = units[at]
    is_below_least = at >= least and rounded < 1
    return f"1{unit}" if is_below_least else _text(rounded) + unit


def _least(units: tuple[str, ...], resource: str) -> int:
    """The place of the smallest unit that means something: bytes, or thousandths of a CPU."""
    smallest = "" if resource in _WHOLE_BYTES or "m" not in units else "m"
    return units.index(smallest)


def _is_counted(resource: str) -> bool:
    """Extended resources (they have a domain) and huge pages are counted, not measured."""
    return "/" in resource or resource.startswith(_WHOLE_PIECES)


def _pieces(whole: Quantity, parts: int) -> str:
    share = int(whole.value / parts)
    return str(share if share or not whole.number else 1)


def _text(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
