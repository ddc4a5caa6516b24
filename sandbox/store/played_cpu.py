"""The CPU that a pod, or a node beside its pods, uses: no container runs, an annotation says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.store.quantities import units
from sandbox.store.steering import CPU


def played_mcpu(obj: Mapping[str, Any]) -> int | None:
    """Thousandths of a CPU, rounded up, of a stored pod or node; None if nothing says it."""
    text = (obj["metadata"].get("annotations") or {}).get(CPU)
    return None if text is None else units("cpu", text)
