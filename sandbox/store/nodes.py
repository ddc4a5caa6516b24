"""Defaults of Nodes. The taint not-ready, which the node controller would remove, is left out."""

from __future__ import annotations

from typing import Any

from sandbox.store.errors import Cause
from sandbox.store.pod_scheduling import taint_causes
from sandbox.store.strategies import Body

_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)


def with_defaults(obj: Body) -> Body:
    """A new Node; what its kubelet would say of itself is empty."""
    status: dict[str, Any] = {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(_INFO, ""),
        **(obj.get("status") or {}),
    }
    return {**obj, "spec": dict(obj.get("spec") or {}), "status": status}


def causes(obj: Body) -> list[Cause]:
    """What is wrong with the taints."""
    return list(taint_causes((obj.get("spec") or {}).get("taints") or (), "metadata.taints"))
