"""What the API server adds to, and refuses in, the core kinds.

Only what something here depends on: defaults of Pods and Services, limits of ConfigMaps, life
cycle of Namespaces. Which fields there are, and of what types, is in core_fields.py.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.store import autoscalers, config_maps, nodes, pod_resizing, pods, services
from sandbox.store.errors import Cause, invalid_value
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER, ResourceType
from sandbox.store.steering import steering_causes
from sandbox.store.strategies import Body

Admission = Callable[[Body], Body]
Check = Callable[[Body], list[Cause]]
ChangeCheck = Callable[[Body, Mapping[str, Any]], list[Cause]]


class BuiltinStrategy:
    """The strategy of a core kind, put together from plain functions."""

    def __init__(self, rt: ResourceType, addresses: services.Addresses) -> None:
        self._rt = rt
        self._addresses = addresses
        self._admit: Admission = {
            "pods": pods.with_defaults,
            "namespaces": _namespace_with_defaults,
            "services": lambda obj: services.with_defaults(obj, addresses),
            "nodes": nodes.with_defaults,
            "secrets": _secret_with_defaults,
            "persistentvolumeclaims": _claim_with_defaults,
            "configmaps": config_maps.without_empty,
            HORIZONTAL_POD_AUTOSCALER.key: autoscalers.as_new,
        }.get(rt.key, _unchanged)
        self._causes: Check = {
            "pods": pods.causes,
            "services": services.causes,
            "configmaps": config_maps.causes,
            "events": _event_causes,
            "leases.coordination.k8s.io": _lease_causes,
            "nodes": nodes.causes,
            HORIZONTAL_POD_AUTOSCALER.key: autoscalers.causes,
        }.get(rt.key, _no_causes)
        self._change_causes: ChangeCheck = {
            "pods": pods.change_causes,
            "services": services.change_causes,
            "configmaps": config_maps.change_causes,
        }.get(rt.key, _no_change_causes)

    def unknown_fields(self, obj: Body) -> list[str]:
        return []

    def admit_new(self, obj: Body) -> Body:
        return _with_lists_of_addresses(self._admit(obj))

    def causes_against_new(self, obj: Body) -> list[Cause]:
        return [*self._causes(obj), *steering_causes(self._rt.key, obj)]

    def admit_change(self, obj: Body, old: Mapping[str, Any], *, subresource: str) -> Body:
        return _with_lists_of_addresses(self._admit_change(obj, old, subresource=subresource))

    def _admit_change(self, obj: Body, old: Mapping[str, Any], *, subresource: str) -> Body:
        if subresource == "status":
            return _restored(obj, old, ("spec",))
        if subresource == "resize":
            return pod_resizing.admitted(obj, old)
        if subresource == "finalize":
            spec = {**(old.get("spec") or {}), "finalizers": _finalizers_of_spec(obj)}
            return {**obj, "spec": spec, "status": old.get("status")}
        if "status" in self._rt.subresources:
            obj = _restored(obj, old, ("status",))
        if self._rt.key == "namespaces":
            return _restored(obj, old, ("spec",))
        if self._rt.key == "secrets":
            return _secret_with_defaults(obj)
        if self._rt.key == "pods":
            return pods.with_kept_defaults(obj, old)
        if self._rt.key == "configmaps":
            return config_maps.without_empty(obj)
        if self._rt.key == HORIZONTAL_POD_AUTOSCALER.key:
            return autoscalers.with_defaults(obj)
        if self._rt.key == "services":
            return services.with_kept_address(obj, old, self._addresses)
        return obj

    def causes_against_change(
        self, obj: Body, old: Mapping[str, Any], *, subresource: str
    ) -> list[Cause]:
        if subresource == "resize":
            return [*self._causes(obj), *pod_resizing.causes(obj, old)]
        if subresource:
            return []
        if self._rt.key == HORIZONTAL_POD_AUTOSCALER.key:
            return autoscalers.causes(obj, old)
        found = self._causes(obj)
        if self._rt.key == "pods":
            found += steering_causes("pods", obj)
            return [*found, *self._change_causes(obj, old)]
        return [*self._change_causes(obj, old), *found, *steering_causes(self._rt.key, obj)]

    def as_stored(self, obj: Body) -> Body:
        return obj


def _restored(obj: Body, old: Mapping[str, Any], fields: tuple[str, ...]) -> Body:
    """The object with `fields` as they were before."""
    result = dict(obj)
    for field in fields:
        if field in old:
            result[field] = old[field]
        else:
            result.pop(field, None)
    return result


def _with_lists_of_addresses(obj: Body) -> Body:
    """The address of a Pod and the range of a Node, given alone, are also lists of one."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        obj = {**obj, "status": {**status, "podIPs": [{"ip": address}]}}
    block, blocks = spec.get("podCIDR"), spec.get("podCIDRs")
    if block and (not blocks or blocks[0] != block):
        obj = {**obj, "spec": {**spec, "podCIDRs": [block]}}
    return obj


def _finalizers_of_spec(obj: Mapping[str, Any]) -> list[str]:
    return list((obj.get("spec") or {}).get("finalizers") or ())


def _unchanged(obj: Body) -> Body:
    return obj


def _no_causes(obj: Body) -> list[Cause]:
    return []


def _no_change_causes(obj: Body, old: Mapping[str, Any]) -> list[Cause]:
    return []


def _namespace_with_defaults(obj: Body) -> Body:
    meta = obj["metadata"]
    meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}
    return {**obj, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _secret_with_defaults(obj: Body) -> Body:
    """`stringData` is only written: its values go, encoded, into `data`."""
    written = obj.get("stringData") or {}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in written.items()}
    result = {"type": "Opaque", **obj}
    if data:
        result["data"] = {**(obj.get("data") or {}), **data}
        del result["stringData"]
    return result


def _claim_with_defaults(obj: Body) -> Body:
    spec = {"volumeMode": "Filesystem", **(obj.get("spec") or {})}
    return {**obj, "spec": spec, "status": {"phase": "Pending"}}


def _lease_causes(obj: Body) -> list[Cause]:
    spec = obj.get("spec") or {}
    found = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        found.append(invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        detail = "must be greater than or equal to 0"
        found.append(invalid_value("spec.leaseTransitions", transitions, detail))
    return found


def _event_causes(obj: Body) -> list[Cause]:
    involved = obj.get("involvedObject")
    if not isinstance(involved, dict):
        involved = {}
    namespace = obj["metadata"]["namespace"]
    named = involved.get("namespace") or "default"
    if named != namespace:
        detail = "does not match event.namespace"
        return [invalid_value("involvedObject.namespace", involved.get("namespace", ""), detail)]
    return []
