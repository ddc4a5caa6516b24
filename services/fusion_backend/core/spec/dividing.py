"""Divides the resources of a job among its PEs: quantities of Kubernetes, exactly.

1. Limits and requests are each divided by the number of PEs, rounded down to three decimals,
   trailing zeros dropped, the suffix kept.
2. A share that would be 0 is written in the next smaller unit in which it is not.
3. The least share is what the API server knows no part of: 1m of CPU (it rounds up to that), a
   byte. What comes in units (devices, huge pages) is rounded down to whole ones, and a plan of more
   PEs than there are units is refused.

Shares never add up to more than the whole, but for rule 3's least.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal, localcontext
from typing import Any, Final

from contracts.reasons import Reason
from contracts.scheduling.quantities import EXACT, Quantity, quantity_of, rounded_up
from planner.refusals import PlanRefused

_DECIMALS: Final = Decimal("0.001")
_WHOLE_BYTES: Final = ("memory", "ephemeral-storage")
_HUGE_PAGES: Final = "hugepages-"
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
        unit = unit_of(resource)
        return _units(whole, parts, unit) if unit else _share(whole, parts, resource)


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


def unit_of(resource: str) -> Decimal | None:
    """What a resource comes in whole ones of; None for what is measured, as CPU and memory are.

    Extended resources (they have a domain) are devices; huge pages have their size in the name.
    """
    if resource.startswith(_HUGE_PAGES):
        page = quantity_of(resource.removeprefix(_HUGE_PAGES))
        return page.value if page is not None and page.value >= 1 else Decimal(1)
    return Decimal(1) if "/" in resource else None


def refusal_of_units(spec: Mapping[str, Any], pes: int) -> PlanRefused | None:
    """Why a plan of so many PEs cannot share the resources of its job: a PE would have no unit."""
    for part in _SHARED:
        for name, written in ((spec.get("resources") or {}).get(part) or {}).items():
            unit, whole = unit_of(name), quantity_of(written)
            if unit is not None and whole is not None and 0 < whole.value < unit * pes:
                return _too_few(f"spec.resources.{part}.{name}", written, unit, pes)
    return None


def _too_few(field: str, written: object, unit: Decimal, pes: int) -> PlanRefused:
    return PlanRefused(
        Reason.SPEC_INVALID,
        field=field,
        value=str(written),
        message=(
            f"{field} is {written}, and {pes} PEs would share it: it comes in whole units of"
            f" {unit:f}, and each PE needs one; ask for {unit * pes:f}, fuse into fewer PEs"
            " (spec.fusion), or give the resource to each PE in spec.processingElement.resources"
        ),
    )


def _units(whole: Quantity, parts: int, unit: Decimal) -> str:
    """Whole units; one where there are too few, for jobs that were planned before these rules."""
    share = int(whole.value / parts / unit)
    return f"{unit * (share or int(whole.number > 0)):f}"


def _text(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
