"""What a DELETE sends, and what its answer says."""

from __future__ import annotations

from typing import Any


def still_exists(answer: dict[str, Any]) -> bool:
    """Whether a DELETE answered with an object that waits for its grace period or a finalizer."""
    meta = answer.get("metadata") or {}
    if answer.get("kind") == "Status" or not meta.get("deletionTimestamp"):
        return False
    return bool(meta.get("finalizers")) or meta.get("deletionGracePeriodSeconds") != 0


def delete_options(propagation: str) -> dict[str, Any]:
    """The body of a DELETE."""
    return {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
