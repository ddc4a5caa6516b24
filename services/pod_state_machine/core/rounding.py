"""Memory in whole bytes: a share of a job's memory (21.333Gi) mostly ends within one.

The API server takes such a quantity, warns, and shows it in thousandths of bytes. What runs the
container rounds up; so does this, and says the same in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from typing import Any, Final

_IN_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
_QUANTITY: Final = re.compile(
    r"(?P<number>\d{1,99}(?:\.\d{1,99})?)"
    r"(?:[eE](?P<exponent>\d{1,2})|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)
_EXACT: Final = Context(prec=400)
_POWERS: Final = {unit: power for power, unit in enumerate("numkMGTPE", start=-3)}
"""Of 1000; there is no letter for 1, which lies between m and k."""


def in_whole_bytes(resources: Mapping[str, Any]) -> dict[str, Any]:
    """A container's resources with memory rounded up to bytes where it is not in whole ones."""
    return {
        part: {name: _rounded(name, value) for name, value in amounts.items()}
        for part, amounts in resources.items()
    }


def _rounded(name: str, value: Any) -> Any:
    found = _QUANTITY.fullmatch(str(value))
    if name not in _IN_BYTES or found is None:
        return value  # what is none is left for the API server to refuse
    with localcontext(_EXACT):
        size = Decimal(found["number"]).scaleb(int(found["exponent"] or 0))
        size *= _factor(found["suffix"] or "")
        whole = size.to_integral_value(ROUND_CEILING)
        return value if whole == size else f"{whole:f}"


def _factor(suffix: str) -> Decimal:
    if suffix.endswith("i"):
        return Decimal(1024) ** ("KMGTPE".index(suffix[0]) + 1)
    if not suffix:
        return Decimal(1)
    power = _POWERS[suffix]
    return Decimal(1000) ** (power if power < 0 else power + 1)
