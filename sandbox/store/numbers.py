"""Numbers as Go has them: what is whole, what fits, and how they come back.

JSON knows one kind of number. kube-apiserver reads what has no fraction, no exponent and fits into
64 bits as int64, everything else as float64, and prints a whole float64 without a point: from etcd
it comes back as int64. What schemas make of numbers is in number_checks.py.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
_ENCODED_MAX = 2**64 - 1
FLOAT32 = frozenset({"float", "float32"})
FLOAT32_MAX = 3.4028234663852886e38
_JSON_INTEGER_MAX = 2**53 - 1  # above it, a double cannot tell a whole number from the next
_NEARLY = 1e-9  # how far from whole, in relation to itself, is still called whole


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_int64(value: Any) -> bool:
    return (
        isinstance(value, int) and not isinstance(value, bool) and INT64_MIN <= value <= INT64_MAX
    )


def is_whole(value: float) -> bool:
    """Whether a schema takes this float64 for an integer; 1.0000000001 is near enough."""
    if not abs(value) <= _JSON_INTEGER_MAX:
        return False
    whole = float(int(value))
    return value == whole or (value >= 1 and (value - whole) / (value + whole) < _NEARLY)


def fits(value: float, kind: str, form: str) -> bool:
    """Whether the number, written out, is one of the type and format."""
    if kind == "number":
        return form not in FLOAT32 or abs(value) <= FLOAT32_MAX
    exact = _exact(value)
    if exact is None:
        return False
    return INT32_MIN <= exact <= INT32_MAX if form == "int32" else INT64_MIN <= exact <= INT64_MAX


def read_back(value: float) -> float:
    """The number after it was written as JSON and read again, as far as our encoder goes."""
    if is_int64(value):
        return value
    exact = _exact(float(value))
    if exact is None or not INT64_MIN <= exact <= _ENCODED_MAX:
        return float(value)
    return exact


def _exact(value: float) -> int | None:
    """The whole number that the shortest digits of `value` say; None if they have a fraction."""
    if isinstance(value, int):
        return value
    exact = Decimal(repr(value))
    return int(exact) if exact == exact.to_integral_value() else None
