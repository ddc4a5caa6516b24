"""Defaults and limits of Pods, and the two requests that only Pods have: binding and eviction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.store.errors import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
)
from sandbox.store.metadata import same
from sandbox.store.pod_scheduling import (
    change_of_scheduling_causes,
    scheduling_causes,
    with_label_keys,
)
from sandbox.store.quantities import amount
from sandbox.store.strategies import Body

UNREACHABLE_TOLERATION_S = 300
FILE_MODE = 420  # 0644 in octal
_TOPOLOGY = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_SPEC_DEFAULTS: dict[str, Any] = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "serviceAccountName": "default",
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
}
_CONTAINER_DEFAULTS: dict[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_EVICTION_KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_VOLUMES_WITH_MODE = ("configMap", "secret", "projected", "downwardAPI")
_MUTABLE = ("activeDeadlineSeconds", "schedulingGates", "tolerations")
_CHANGE_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


def with_defaults(obj: Body) -> Body:
    """A new Pod as admission and defaulting leave it: Pending and with its QoS class."""
    spec = {**_SPEC_DEFAULTS, **(obj.get("spec") or {})}
    spec["serviceAccount"] = spec["serviceAccountName"]
    spec.setdefault("securityContext", {})
    for field in ("containers", "initContainers"):
        if isinstance(spec.get(field), list):
            spec[field] = [_container_with_defaults(item) for item in spec[field]]
    if spec.get("volumes"):
        spec["volumes"] = [_volume_with_defaults(volume) for volume in spec["volumes"]]
    if spec.get("affinity"):
        spec = with_label_keys(spec, obj["metadata"].get("labels") or {})
    spec["tolerations"] = _with_eviction_tolerations(spec.get("tolerations") or [])
    status = {"phase": "Pending", "qosClass": qos_class(spec)}
    return {**obj, "spec": spec, "status": status}


def with_kept_defaults(obj: Body, old: Mapping[str, Any]) -> Body:
    """A changed Pod with its defaults again, as far as the change took them away."""
    made = with_defaults(obj)
    return {**made, "status": old["status"]} if "status" in old else made


def causes(obj: Body) -> list[Cause]:
    spec = obj["spec"]
    found: list[Cause] = []
    containers = spec.get("containers")
    if not containers:
        found.append(required("spec.containers"))
    seen: set[str] = set()
    for index, container in enumerate(containers or ()):
        path = f"spec.containers[{index}]"
        name = container.get("name")
        if not name:
            found.append(required(f"{path}.name"))
        elif name in seen:
            found.append(duplicate(f"{path}.name", name))
        seen.add(name)
        if not container.get("image"):
            found.append(required(f"{path}.image"))
        found += _excessive_requests(container.get("resources") or {}, f"{path}.resources.requests")
    if spec.get("restartPolicy") not in _RESTART_POLICIES:
        found.append(
            not_supported("spec.restartPolicy", spec.get("restartPolicy"), _RESTART_POLICIES)
        )
    return [*found, *scheduling_causes(spec)]


def _excessive_requests(resources: Mapping[str, Any], path: str) -> Iterator[Cause]:
    """Requests must not exceed limits."""
    limits = resources.get("limits") or {}
    for name, requested in sorted((resources.get("requests") or {}).items()):
        allowed = limits.get(name)
        if allowed is not None and amount(requested) > amount(allowed):
            detail = f"must be less than or equal to {name} limit of {allowed}"
            yield invalid_value(path, requested, detail)


def change_causes(obj: Body, old: Mapping[str, Any]) -> list[Cause]:
    """The spec of a Pod is fixed, apart from images, tolerations and deadlines."""
    if len(obj["spec"].get("containers") or ()) != len(old["spec"]["containers"]):
        return [forbidden_field("spec.containers", "pod updates may not add or remove containers")]
    found = change_of_scheduling_causes(obj["spec"], old["spec"])
    if same(_fixed(obj["spec"]), _fixed(old["spec"])):
        return found
    return [*found, forbidden_field("spec", _CHANGE_TEXT)]


def qos_class(spec: Mapping[str, Any]) -> str:
    """https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"""
    wanted = [container.get("resources") or {} for container in spec.get("containers") or ()]
    if not any(item.get("requests") or item.get("limits") for item in wanted):
        return "BestEffort"
    for item in wanted:
        limits, requests = item.get("limits") or {}, item.get("requests") or {}
        for name in ("cpu", "memory"):
            if name not in limits or requests.get(name) != limits[name]:
                return "Burstable"
    return "Guaranteed"


def why_not_bound(pod: Mapping[str, Any]) -> str:
    """What stands against a binding; empty where nothing does."""
    name = pod["metadata"]["name"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if assigned := pod["spec"].get("nodeName"):
        return f'pod {name} is already assigned to node "{assigned}"'
    return ""


def in_topology_of(pod: Body, node: Mapping[str, Any] | None) -> Body:
    """The Pod with its node's zone and region, in place of its own values."""
    theirs = (node["metadata"].get("labels") if node is not None else None) or {}
    topology = {key: theirs[key] for key in _TOPOLOGY if key in theirs}
    if not topology:
        return pod
    meta = pod["metadata"]
    return {**pod, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), **topology}}}


def bound(pod: Mapping[str, Any], node: str, now: str) -> Body:
    """The Pod after the scheduler has given it a node."""
    scheduled = {"type": "PodScheduled", "status": "True"}
    status = _with_condition(pod, scheduled, now)
    return {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": status}


def is_disrupted_by_eviction(pod: Mapping[str, Any]) -> bool:
    """Whether an eviction says so: not of a pod that never ran, is over, or is going anyway."""
    is_running = (pod.get("status") or {}).get("phase") == "Running"
    return is_running and "deletionTimestamp" not in pod["metadata"]


def evicted(pod: Mapping[str, Any], now: str) -> Body:
    """The Pod as an eviction marks it before it is deleted."""
    says = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    disrupted = {"type": "DisruptionTarget", "status": "True", **says}
    return {**pod, "status": _with_condition(pod, disrupted, now)}


def _with_condition(
    pod: Mapping[str, Any], condition: Mapping[str, Any], now: str
) -> dict[str, Any]:
    status = dict(pod.get("status") or {})
    others = [item for item in status.get("conditions") or () if item["type"] != condition["type"]]
    times = {"lastProbeTime": None, "lastTransitionTime": now}
    status["conditions"] = [*others, {**condition, **times}]
    return status


def _fixed(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in spec.items() if key not in _MUTABLE}
    for field in ("containers", "initContainers"):
        if field in kept:
            kept[field] = [
                {key: value for key, value in item.items() if key != "image"}
                for item in kept[field]
            ]
    return kept


def _container_with_defaults(container: Mapping[str, Any]) -> dict[str, Any]:
    result = {**_CONTAINER_DEFAULTS, **container}
    result.setdefault("imagePullPolicy", _pull_policy(str(container.get("image") or "")))
    resources = dict(container.get("resources") or {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    result["resources"] = resources
    if result.get("ports"):
        result["ports"] = [{"protocol": "TCP", **port} for port in result["ports"]]
    for name in _PROBES:
        if name in result:
            result[name] = _probe_with_defaults(result[name])
    if result.get("env"):
        result["env"] = [_variable_with_defaults(item) for item in result["env"]]
    return result


def _probe_with_defaults(probe: Mapping[str, Any]) -> dict[str, Any]:
    result = {**_PROBE_DEFAULTS, **probe}
    if "httpGet" in result:
        result["httpGet"] = {"path": "/", "scheme": "HTTP", **result["httpGet"]}
    return result


def _variable_with_defaults(variable: Mapping[str, Any]) -> dict[str, Any]:
    source = variable.get("valueFrom") or {}
    if "fieldRef" not in source:
        return dict(variable)
    field = {"apiVersion": "v1", **source["fieldRef"]}
    return {**variable, "valueFrom": {**source, "fieldRef": field}}


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in {"", "latest"} and "@" not in image else "IfNotPresent"


def _volume_with_defaults(volume: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(volume)
    for source in _VOLUMES_WITH_MODE:
        if isinstance(result.get(source), dict):
            result[source] = {"defaultMode": FILE_MODE, **result[source]}
    return result


def _with_eviction_tolerations(tolerations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods stay five minutes on a node that is lost, unless they say otherwise."""
    result = list(tolerations)
    for key in _EVICTION_KEYS:
        is_tolerated = any(
            item.get("key") in (key, None, "") and item.get("effect") in ("NoExecute", None, "")
            for item in tolerations
        )
        if not is_tolerated:
            result.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": UNREACHABLE_TOLERATION_S,
                }
            )
    return result
