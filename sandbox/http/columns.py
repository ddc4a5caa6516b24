"""The columns that kubectl shows for the built-in kinds: which ones, and what stands in them.

One list of `Column`s per resource, each with a function from an object to its cell. Those of
custom resources come with their CRD and are read in tables.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.http import autoscaler_columns, pod_columns
from sandbox.http.durations import UNKNOWN, age

Obj = Mapping[str, Any]
Cell = Callable[[Obj, float], Any]
NONE = "<none>"
UNSET = "<unset>"
WIDE = 1
_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"
_ACCESS = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


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
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(kind: str) -> Cell:
    def cell(obj: Obj, _: float) -> str:
        for address in _status(obj).get("addresses") or ():
            if address.get("type") == kind:
                return str(address.get("address"))
        return NONE

    return cell


def _node_info(name: str) -> Cell:
    return lambda obj, _: (_status(obj).get("nodeInfo") or {}).get(name) or UNKNOWN


def _node_kernel(obj: Obj, _: float) -> str:
    info = _status(obj).get("nodeInfo") or {}
    architecture = f" ({info['architecture']})" if info.get("architecture") else ""
    return (info.get("kernelVersion") or UNKNOWN) + architecture


def _service_address(obj: Obj, _: float) -> str:
    addresses = _spec(obj).get("clusterIPs")
    return str(addresses[0]) if addresses else NONE


def _service_external(obj: Obj, _: float) -> str:
    """Where a Service is reached from outside, which depends on its type."""
    spec = _spec(obj)
    addresses = list(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return ",".join(addresses) or NONE
        case "LoadBalancer":
            ingress = (_status(obj).get("loadBalancer") or {}).get("ingress") or ()
            given = [str(item.get("ip") or item.get("hostname") or "") for item in ingress]
            return ",".join([*given, *addresses]) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName") or "")
    return UNKNOWN


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
    kind, name = str(about.get("kind", "")).lower(), about.get("name")
    return f"{kind}/{name}" if name else kind


def _event_source(obj: Obj, _: float) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent") or ""
    instance = source.get("host") or obj.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _event_first_seen(obj: Obj, now: float) -> str:
    return age(obj.get("firstTimestamp") or obj.get("eventTime"), now)


def _event_last_seen(obj: Obj, now: float) -> str:
    if series := obj.get("series"):
        return age(series.get("lastObservedTime"), now)
    last = obj.get("lastTimestamp")
    return age(last, now) if last else _event_first_seen(obj, now)


def _event_count(obj: Obj, _: float) -> int:
    if series := obj.get("series"):
        return int(series.get("count") or 0)
    return int(obj.get("count") or 1)


def _claim_status(obj: Obj, _: float) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(_status(obj).get("phase") or "")


def _claim_of_bound(name: str) -> Cell:
    """Capacity and access modes are known of a claim that has a volume."""

    def cell(obj: Obj, _: float) -> str:
        if not _spec(obj).get("volumeName"):
            return ""
        if name == "capacity":
            return str((_status(obj).get("capacity") or {}).get("storage", "0"))
        modes = _status(obj).get("accessModes") or ()
        return ",".join(short for mode, short in _ACCESS.items() if mode in modes)

    return cell


def _claim_class(obj: Obj, _: float) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    return str(annotations.get(_CLASS_ANNOTATION, _spec(obj).get("storageClassName") or ""))


def _text(name: str) -> Cell:
    return lambda obj, _: str(obj.get(name) or "")


BUILTIN: dict[str, tuple[Column, ...]] = {
    "pods": (
        NAME,
        Column("Ready", pod_columns.ready),
        Column("Status", pod_columns.status),
        Column("Restarts", pod_columns.restarts),
        AGE,
        Column("IP", pod_columns.address, priority=WIDE),
        Column("Node", _field("spec", "nodeName"), priority=WIDE),
        Column("Nominated Node", _field("status", "nominatedNodeName"), priority=WIDE),
        Column("Readiness Gates", pod_columns.readiness_gates, priority=WIDE),
    ),
    "nodes": (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column(
            "Version", lambda obj, _: (_status(obj).get("nodeInfo") or {}).get("kubeletVersion", "")
        ),
        Column("Internal-IP", _node_address("InternalIP"), priority=WIDE),
        Column("External-IP", _node_address("ExternalIP"), priority=WIDE),
        Column("OS-Image", _node_info("osImage"), priority=WIDE),
        Column("Kernel-Version", _node_kernel, priority=WIDE),
        Column("Container-Runtime", _node_info("containerRuntimeVersion"), priority=WIDE),
    ),
    "services": (
        NAME,
        Column("Type", _field("spec", "type", "ClusterIP")),
        Column("Cluster-IP", _service_address),
        Column("External-IP", _service_external),
        Column("Port(s)", _service_ports),
        AGE,
        Column("Selector", _selector, priority=WIDE),
    ),
    "configmaps": (NAME, Column("Data", _data_count), AGE),
    "secrets": (NAME, Column("Type", _text("type")), Column("Data", _data_count), AGE),
    "serviceaccounts": (NAME, AGE),
    "namespaces": (NAME, Column("Status", _field("status", "phase", "")), AGE),
    "persistentvolumeclaims": (
        NAME,
        Column("Status", _claim_status),
        Column("Volume", _field("spec", "volumeName", "")),
        Column("Capacity", _claim_of_bound("capacity")),
        Column("Access Modes", _claim_of_bound("accessModes")),
        Column("StorageClass", _claim_class),
        Column("VolumeAttributesClass", _field("spec", "volumeAttributesClassName", UNSET)),
        AGE,
        Column("VolumeMode", _field("spec", "volumeMode", UNSET), priority=WIDE),
    ),
    "events": (
        Column("Last Seen", _event_last_seen),
        Column("Type", _text("type")),
        Column("Reason", _text("reason")),
        Column("Object", _event_object),
        Column("Subobject", _field("involvedObject", "fieldPath", ""), priority=WIDE),
        Column("Source", _event_source, priority=WIDE),
        Column("Message", lambda obj, _: str(obj.get("message") or "").strip()),
        Column("First Seen", _event_first_seen, priority=WIDE),
        Column("Count", _event_count, priority=WIDE),
        Column("Name", name_of, priority=WIDE, format="name"),
    ),
    "leases.coordination.k8s.io": (
        NAME,
        Column("Holder", _field("spec", "holderIdentity", "")),
        AGE,
    ),
    "horizontalpodautoscalers.autoscaling": (
        NAME,
        Column("Reference", autoscaler_columns.reference),
        Column("Targets", autoscaler_columns.targets),
        Column("MinPods", autoscaler_columns.replicas_min),
        Column("MaxPods", autoscaler_columns.replicas_max),
        Column("Replicas", autoscaler_columns.replicas),
        AGE,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (
        NAME,
        Column("Created At", lambda obj, _: obj["metadata"].get("creationTimestamp"), "date"),
    ),
}
