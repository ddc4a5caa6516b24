"""Memory in whole bytes: a share of a job's memory (21.333Gi) is rarely a whole number.

The API server accepts such a quantity, warns, and shows it in thousandths of bytes. The container
runtime rounds it up; so does this.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING
from typing import Any, Final

from contracts.scheduling.quantities import THOUSANDS_AS_MANY_WRITE_IT, quantity_of

_IN_BYTES: Final = frozenset({"memory", "ephemeral-storage"})


def in_whole_bytes(resources: Mapping[str, Any]) -> dict[str, Any]:
    """A container's resources, with fractions of a byte rounded up."""
    return {
        part: {name: _rounded(name, value) for name, value in amounts.items()}
        for part, amounts in resources.items()
    }


def _rounded(name: str, value: Any) -> Any:
    size = quantity_of(value)
    if name not in _IN_BYTES or size is None or size.suffix == THOUSANDS_AS_MANY_WRITE_IT:
        return value  # the API server refuses what is no quantity
    whole = size.value.to_integral_value(ROUND_CEILING)
    return value if whole == size.value else f"{whole:f}"
