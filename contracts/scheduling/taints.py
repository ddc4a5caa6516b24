"""Taints of nodes and tolerations of pods, matched as the Kubernetes scheduler matches them.

https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"
REPELLING: Final = frozenset({NO_SCHEDULE, NO_EXECUTE})
"""Effects that keep a pod off a node; PreferNoSchedule only advises."""
CORDON: Final = "node.kubernetes.io/unschedulable"
"""Key of the taint by which Kubernetes says that a node is cordoned."""
PASSING: Final = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
    }
)
"""Keys of taints by which Kubernetes says that a node is not up yet, or not reached."""
ENDING_BY_THEMSELVES: Final = PASSING | {
    CORDON,
    *(f"node.kubernetes.io/{each}-pressure" for each in ("memory", "disk", "pid")),
}
"""Keys of taints that Kubernetes takes away when their cause ends."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = NO_SCHEDULE

    @property
    def repels(self) -> bool:
        """Whether it keeps pods off that do not tolerate it."""
        return self.effect in REPELLING

    def __str__(self) -> str:
        return f"{self.key}{self.value and f'={self.value}'}:{self.effect}"

    def manifest(self) -> dict[str, str]:
        """The taint as a manifest has it."""
        return {"key": self.key, "value": self.value, "effect": self.effect}


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod; an empty key or effect stands for every one."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether the taint does not keep the pod off."""
        if self.effect not in ("", taint.effect):
            return False
        if self.operator == "Exists":
            return self.key in ("", taint.key)
        return self.key == taint.key and self.value == taint.value


def taint_of(manifest: Mapping[str, Any]) -> Taint:
    """A taint of a node's `spec.taints`; a missing field is empty."""
    return Taint(*(str(manifest.get(field) or "") for field in ("key", "value", "effect")))


def toleration_of(manifest: Mapping[str, Any]) -> Toleration:
    """A toleration of a pod's `spec.tolerations`; a missing operator is Equal."""
    return Toleration(
        key=str(manifest.get("key") or ""),
        operator=str(manifest.get("operator") or "Equal"),
        value=str(manifest.get("value") or ""),
        effect=str(manifest.get("effect") or ""),
    )
