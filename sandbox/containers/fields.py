"""What a pod tells its own containers: `fieldRef` and `resourceFieldRef`. Pure.

https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.containers.programs import containers_of
from sandbox.store.quantities import amount

Obj = Mapping[str, Any]
_ENTRY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


@dataclass(frozen=True)
class Surroundings:
    """The addresses of a pod and of its node, and what the node can allocate."""

    pod_ip: str
    host_ip: str
    allocatable: Mapping[str, Any]


class UnknownField(Exception):
    """A field that containers cannot have; the message is the one of the kubelet."""


def field_value(path: str, pod: Obj, around: Surroundings) -> str:
    """The value of `fieldRef.fieldPath`. Raises UnknownField."""
    meta, spec = pod["metadata"], pod["spec"]
    if entry := _ENTRY.fullmatch(path):
        return str((meta.get(entry[1]) or {}).get(entry[2], ""))
    if path in {"metadata.labels", "metadata.annotations"}:
        entries = meta.get(path.partition(".")[2]) or {}
        return "\n".join(f"{name}={_quoted(str(entries[name]))}" for name in sorted(entries))
    simple = {
        "metadata.name": meta["name"],
        "metadata.namespace": meta.get("namespace", ""),
        "metadata.uid": meta.get("uid", ""),
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.hostIP": around.host_ip,
        "status.hostIPs": around.host_ip,
        "status.podIP": around.pod_ip,
        "status.podIPs": around.pod_ip,
    }
    if path not in simple:
        raise UnknownField(f"unsupported fieldPath: {path}")
    return str(simple[path])


def resource_value(ref: Obj, container: Obj, pod: Obj, around: Surroundings) -> str:
    """The value of `resourceFieldRef`, rounded up to its divisor. Raises UnknownField."""
    named = ref.get("containerName")
    if named:
        container = next((each for each in containers_of(pod) if each["name"] == named), {})
    kind, _, resource = str(ref.get("resource", "")).partition(".")
    if kind not in {"limits", "requests"} or not container:
        raise UnknownField(f"unsupported container resource : {ref.get('resource', '')}")
    given = container.get("resources") or {}
    size = (given.get(kind) or {}).get(resource)
    if size is None and kind == "limits":
        size = around.allocatable.get(resource)
    divisor = amount(str(ref.get("divisor") or "1")) or amount("1")
    return str(math.ceil(amount(str(size or "0")) / divisor))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
