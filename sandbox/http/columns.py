"""The columns that kubectl shows for the built-in kinds: which ones, and what stands in them.

One list of `Column`s per resource, each with a function from an object to its cell. Those of
custom resources come with their CRD and are read in tables.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.http.durations import UNKNOWN, age

Obj = Mapping[str, Any]
Cell = Callable[[Obj, float], Any]
NONE = "<none>"
WIDE = 1
_ROLE_PREFIX = "node-role.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `cell` gets the object and the time, `priority` 1 is shown by `-o wide` only."""

    name: str
    cell: Cell
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""


def name_of(obj: Obj, _: float) -> Any:
    return obj["metadata"].get("name", "")


def age_of(obj: Obj, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


NAME = Column("Name", name_of, format="name")
AGE = Column("Age", age_of)


def _spec(obj: Obj) -> Mapping[str, Any]:
    return obj.get("spec") or {}


def _status(obj: Obj) -> Mapping[str, Any]:
    return obj.get("status") or {}


def _field(part: str, name: str, otherwise: Any = NONE) -> Cell:
    return lambda obj, _: (obj.get(part) or {}).get(name) or otherwise


def _containers(obj: Obj) -> list[Mapping[str, Any]]:
    return _status(obj).get("containerStatuses") or []


def _pod_ready(obj: Obj, _: float) -> str:
    ready = sum(1 for status in _containers(obj) if status.get("ready"))
    return f"{ready}/{len(_spec(obj).get('containers') or ())}"


def _pod_status(obj: Obj, _: float) -> str:
    """The most telling word: deletion, then a container that waits or ended, then the phase."""
    status = _status(obj)
    shown = str(status.get("reason") or status.get("phase") or "Unknown")
    for container in reversed(_containers(obj)):
        state = container.get("state") or {}
        for name in ("waiting", "terminated"):
            if reason := (state.get(name) or {}).get("reason"):
                shown = reason
    if obj["metadata"].get("deletionTimestamp"):
        return "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return shown


def _pod_restarts(obj: Obj, _: float) -> str:
    return str(sum(status.get("restartCount", 0) for status in _containers(obj)))


def _pod_gates(obj: Obj, _: float) -> str:
    gates = _spec(obj).get("readinessGates")
    return f"0/{len(gates)}" if gates else NONE


def _condition(obj: Obj, name: str) -> str:
    for condition in _status(obj).get("conditions") or ():
        if condition.get("type") == name:
            return str(condition.get("status"))
    return ""


def _node_status(obj: Obj, _: float) -> str:
    ready = {"True": "Ready", "": "Unknown"}.get(_condition(obj, "Ready"), "NotReady")
    return f"{ready},SchedulingDisabled" if _spec(obj).get("unschedulable") else ready


def _node_roles(obj: Obj, _: float) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = [key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)]
    return ",".join(sorted(roles)) or NONE


def _node_address(kind: str) -> Cell:
    def cell(obj: Obj, _: float) -> str:
        for address in _status(obj).get("addresses") or ():
            if address.get("type") == kind:
                return str(address.get("address"))
        return NONE

    return cell


def _node_info(name: str) -> Cell:
    return lambda obj, _: (_status(obj).get("nodeInfo") or {}).get(name) or UNKNOWN


def _service_ports(obj: Obj, _: float) -> str:
    ports = _spec(obj).get("ports") or ()
    return ",".join(_service_port(port) for port in ports) or NONE


def _service_port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _selector(obj: Obj, _: float) -> str:
    pairs = (_spec(obj).get("selector") or {}).items()
    return ",".join(f"{key}={value}" for key, value in sorted(pairs)) or NONE


def _data_count(obj: Obj, _: float) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _event_object(obj: Obj, _: float) -> str:
    about = obj.get("involvedObject") or {}
    return f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"


def _event_source(obj: Obj, _: float) -> str:
    source = obj.get("source") or {}
    parts = [source.get("component") or obj.get("reportingComponent"), source.get("host")]
    return ", ".join(part for part in parts if part)


def _event_seen(obj: Obj, now: float, *, first: bool) -> str:
    created = obj["metadata"].get("creationTimestamp")
    named = "firstTimestamp" if first else "lastTimestamp"
    return age(obj.get(named) or obj.get("eventTime") or created, now)


def _text(name: str) -> Cell:
    return lambda obj, _: str(obj.get(name) or "")


BUILTIN: dict[str, tuple[Column, ...]] = {
    "pods": (
        NAME,
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts),
        AGE,
        Column("IP", _field("status", "podIP"), priority=WIDE),
        Column("Node", _field("spec", "nodeName"), priority=WIDE),
        Column("Nominated Node", _field("status", "nominatedNodeName"), priority=WIDE),
        Column("Readiness Gates", _pod_gates, priority=WIDE),
    ),
    "nodes": (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", _node_info("kubeletVersion")),
        Column("Internal-IP", _node_address("InternalIP"), priority=WIDE),
        Column("External-IP", _node_address("ExternalIP"), priority=WIDE),
        Column("OS-Image", _node_info("osImage"), priority=WIDE),
        Column("Kernel-Version", _node_info("kernelVersion"), priority=WIDE),
        Column("Container-Runtime", _node_info("containerRuntimeVersion"), priority=WIDE),
    ),
    "services": (
        NAME,
        Column("Type", _field("spec", "type", "ClusterIP")),
        Column("Cluster-IP", _field("spec", "clusterIP")),
        Column("External-IP", _field("spec", "externalName")),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", _selector, priority=WIDE),
    ),
    "configmaps": (NAME, Column("Data", _data_count, "integer"), AGE),
    "secrets": (NAME, Column("Type", _text("type")), Column("Data", _data_count, "integer"), AGE),
    "serviceaccounts": (
        NAME,
        Column("Secrets", lambda obj, _: len(obj.get("secrets") or ()), "integer"),
        AGE,
    ),
    "namespaces": (NAME, Column("Status", _field("status", "phase", "")), AGE),
    "persistentvolumeclaims": (
        NAME,
        Column("Status", _field("status", "phase", "")),
        Column("Volume", _field("spec", "volumeName", "")),
        Column("StorageClass", _field("spec", "storageClassName", "")),
        AGE,
    ),
    "events": (
        Column("Last Seen", lambda obj, now: _event_seen(obj, now, first=False)),
        Column("Type", _text("type")),
        Column("Reason", _text("reason")),
        Column("Object", _event_object),
        Column("Source", _event_source, priority=WIDE),
        Column("Message", lambda obj, _: str(obj.get("message") or "").strip()),
        Column("First Seen", lambda obj, now: _event_seen(obj, now, first=True), priority=WIDE),
        Column("Count", lambda obj, _: obj.get("count") or 1, "integer", WIDE),
        Column("Name", name_of, priority=WIDE, format="name"),
    ),
    "leases.coordination.k8s.io": (
        NAME,
        Column("Holder", _field("spec", "holderIdentity", "")),
        AGE,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (
        NAME,
        Column("Created At", lambda obj, _: obj["metadata"].get("creationTimestamp"), "date"),
    ),
}
