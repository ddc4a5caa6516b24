"""Which resource types are served: those of the store, and `metrics.k8s.io` while it is played.

A real cluster has `metrics.k8s.io` where the metrics server is installed. Here it is served if the
cluster was made with it, or while a pod or a node plays how much CPU it uses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sandbox.store.played_cpu import played_mcpu
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER, NODE, POD, ResourceType
from sandbox.store.store import Store

METRICS_GROUP: Final = "metrics.k8s.io"
_VERBS = ("get", "list")
NODE_METRICS: Final = ResourceType(
    METRICS_GROUP, "v1beta1", "nodes", "", "NodeMetrics", namespaced=False, verbs=_VERBS
)
POD_METRICS: Final = ResourceType(
    METRICS_GROUP, "v1beta1", "pods", "", "PodMetrics", namespaced=True, verbs=_VERBS
)
MEASURED: Final = (NODE_METRICS, POD_METRICS)
AUTOSCALER_V1: Final = replace(
    HORIZONTAL_POD_AUTOSCALER,
    version="v1",
    verbs=("create", "get", "list"),
    subresources=frozenset(),
)
"""Stored as v2: the registry of the store does not know it."""
_V1 = (AUTOSCALER_V1.group, AUTOSCALER_V1.version, AUTOSCALER_V1.plural)


class Served:
    """The registry of the store, and the types of `metrics.k8s.io` beside it."""

    def __init__(self, store: Store, *, has_metrics: bool) -> None:
        self._store = store
        self._registry = store.registry
        self._has_metrics = has_metrics

    @property
    def revision(self) -> int:
        """Another number after every change, so that documents can be cached."""
        return self._registry.revision * 2 + self._measures()

    def all(self) -> list[ResourceType]:
        """Every type."""
        return [*self._registry.all(), AUTOSCALER_V1, *(MEASURED if self._measures() else ())]

    def find(self, group: str, version: str, plural: str) -> ResourceType | None:
        """The type at a path, if it is served."""
        if (group, version, plural) == _V1:
            return AUTOSCALER_V1
        if group != METRICS_GROUP:
            return self._registry.find(group, version, plural)
        served = MEASURED if self._measures() else ()
        return next((rt for rt in served if (rt.version, rt.plural) == (version, plural)), None)

    def _measures(self) -> bool:
        """Nothing that happens often asks this."""
        return self._has_metrics or any(
            played_mcpu(obj) is not None
            for rt in (NODE, POD)
            for obj in self._store.list(rt, None).items
        )
