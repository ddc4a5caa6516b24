"""How fast and how patient the controllers of the embedded cluster are.

The defaults of time-outs are those of a real cluster; the delays of pods are short, so that a demo
does not wait for images that nobody pulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def _node_capacity() -> Mapping[str, str]:
    return {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "1000"}


@dataclass(frozen=True)
class Settings:
    """Periods, delays and limits; all times in seconds."""

    start_delay_s: float = 0.05  # bound pod → Running
    stop_delay_s: float = 0.02  # deletion → gone; never more than the pod's grace period
    crash_back_off_min_s: float = 10.0  # before the second restart in place; then doubled
    crash_back_off_max_s: float = 300.0
    heartbeat_period_s: float = 10.0  # Lease of each node
    node_status_period_s: float = 300.0  # Node status at rest
    node_grace_s: float = 40.0  # silence of a kubelet until its node is unreachable
    orphan_quarantine_s: float = 40.0  # a node's object is gone → its pods are gone
    reschedule_delay_s: float = 0.05  # between a change of the cluster and another attempt
    event_repeat_min_s: float = 10.0  # the same Event is not counted more often
    retry_min_s: float = 0.1  # after an error, per key; then doubled
    retry_max_s: float = 30.0
    autoscaler_period_s: float = 15.0  # how often each autoscaler looks at its target
    has_metrics: bool = False  # metrics.k8s.io is served although nothing plays it
    gc_requests_per_s: float | None = None  # 20 in kube-controller-manager; None: no limit
    gc_burst: int = 30
    node_capacity: Mapping[str, str] = field(default_factory=_node_capacity)
