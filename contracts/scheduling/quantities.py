"""Quantities of Kubernetes such as `500m`, `2`, `2e3` or `16Gi`: what they look like, exactly.

https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

Custom resources take what QUANTITY_PATTERN says. What is reckoned with has a limit on its digits:
more are nobody's resources, and would keep everybody else waiting.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Final

DECIMAL_UNITS: Final = ("E", "P", "T", "G", "M", "k", "", "m", "u", "n")
BINARY_UNITS: Final = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", "")
THOUSANDS_AS_MANY_WRITE_IT: Final = "K"
"""Read as `k`; the API server refuses it."""

QUANTITY_PATTERN: Final = r"^[0-9]+(\.[0-9]+)?([numkMGTPE]|[KMGTPE]i|[eE][0-9]+)?$"

EXACT: Final = Context(prec=400)
"""Digits that are enough to divide everything that `quantity_of` takes."""
_LIMITED: Final = re.compile(
    r"(?P<number>[0-9]{1,99}(?:\.[0-9]{1,99})?)"
    r"(?:[eE](?P<exponent>[0-9]{1,2})|(?P<suffix>[numkKMGTPE]|[KMGTPE]i)?)"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the unit that it is written in; an exponent is part of the number."""

    number: Decimal
    suffix: str

    @property
    def units(self) -> tuple[str, ...]:
        """The units of its kind, the largest first."""
        return BINARY_UNITS if self.suffix.endswith("i") else DECIMAL_UNITS

    @property
    def place(self) -> int:
        """Where its own unit stands among them."""
        is_capital = self.suffix == THOUSANDS_AS_MANY_WRITE_IT
        return self.units.index("k" if is_capital else self.suffix)

    @property
    def step(self) -> int:
        """How many of a unit make one of the next larger one."""
        return 1024 if self.units is BINARY_UNITS else 1000

    @property
    def value(self) -> Decimal:
        """In ones: bytes, CPUs, devices."""
        power = self.units.index("") - self.place
        return EXACT.multiply(self.number, EXACT.power(Decimal(self.step), power))


def quantity_of(written: object) -> Quantity | None:
    """What is written; None for what is no quantity, or has too many digits.

    `is_enormous` tells the two apart.
    """
    found = _LIMITED.fullmatch(str(written))
    if found is None:
        return None
    number = EXACT.scaleb(Decimal(found["number"]), int(found["exponent"] or 0))
    return Quantity(number, found["suffix"] or "")


def is_enormous(written: object) -> bool:
    """Whether this is a quantity with more digits than can be reckoned with, and not nothing."""
    text = str(written)
    is_one = re.fullmatch(QUANTITY_PATTERN, text) is not None and _LIMITED.fullmatch(text) is None
    number = re.split("[eE]", text)[0]
    return is_one and any(digit in number for digit in "123456789")


def rounded_up(written: object, parts: int = 1) -> int:
    """A quantity in ones, or in so many parts of one, rounded up; 0 for what is no quantity."""
    quantity = quantity_of(written)
    if quantity is None:
        return 0
    return int(EXACT.multiply(quantity.value, parts).to_integral_value(ROUND_CEILING))
