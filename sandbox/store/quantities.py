"""Quantities of Kubernetes (`500m`, `1.5Gi`, `2e3`) as exact whole numbers.

As in kube-scheduler, cpu counts in thousandths and everything else in units, both rounded up.
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i))?$")
_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(1000 ** (power + 1)) for power, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024 ** (power + 1)) for power, suffix in enumerate("KMGTPE")},
}


class BadQuantity(ValueError):
    """A text that is not a quantity."""


@lru_cache(maxsize=4096)
def amount(text: str | int | float) -> Fraction:
    """The exact value of a quantity. Raises BadQuantity."""
    found = _FORM.match(str(text).strip())
    if found is None:
        raise BadQuantity(f"{text!r} is not a quantity")
    number, exponent, suffix = found.groups()
    value = Fraction(number)
    if exponent:
        return value * Fraction(10) ** int(exponent[1:])
    return value * _SUFFIXES[suffix] if suffix else value


@lru_cache(maxsize=4096)
def units(resource: str, text: str | int | float) -> int:
    """The quantity as the scheduler counts it: cpu in thousandths, others in ones."""
    value = amount(text)
    return math.ceil(value * 1000) if resource == "cpu" else math.ceil(value)
