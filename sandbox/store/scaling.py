"""The scale subresource of custom resources: autoscaling/v1 Scale, read from and written to paths.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
#scale-subresource
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.store.errors import bad_request, internal_error, invalid, invalid_value

_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class _ScaleName:
    group, plural, kind = "autoscaling", "scales", "Scale"


@dataclass(frozen=True)
class ScalePaths:
    """Where a custom resource keeps its replicas, as in `.spec.width`."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


def scale_of(obj: Mapping[str, Any], paths: ScalePaths) -> dict[str, Any]:
    """The Scale of an object. 500 if it says nothing about its replicas, as in Kubernetes."""
    replicas = _at(obj, paths.spec_replicas)
    if replicas is None:
        raise internal_error(f'the spec replicas field "{paths.spec_replicas}" does not exist')
    status: dict[str, Any] = {"replicas": _at(obj, paths.status_replicas) or 0}
    if paths.label_selector and (selector := _at(obj, paths.label_selector)):
        status["selector"] = selector
    meta = obj["metadata"]
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in _META if key in meta},
        "spec": {"replicas": replicas},
        "status": status,
    }


def scaled(obj: Mapping[str, Any], scale: Any, paths: ScalePaths) -> dict[str, Any]:
    """The object with the replicas, and under the version, that `scale` names."""
    if not isinstance(scale, dict) or scale.get("kind", "Scale") != "Scale":
        raise bad_request("expected a Scale of autoscaling/v1")
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    name = obj["metadata"]["name"]
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("Scale cannot be read: spec.replicas has to be an integer")
    if replicas < 0:
        detail = "must be greater than or equal to 0"
        raise invalid(_ScaleName(), name, [invalid_value("spec.replicas", replicas, detail)])
    changed = _put(obj, _steps(paths.spec_replicas), replicas)
    meta = dict(obj["metadata"])
    sent = scale.get("metadata") or {}
    if sent.get("resourceVersion"):
        meta["resourceVersion"] = sent["resourceVersion"]
    if sent.get("uid"):
        meta["uid"] = sent["uid"]
    changed["metadata"] = meta
    return changed


def _steps(path: str) -> list[str]:
    return [step for step in path.split(".") if step]


def _at(obj: Any, path: str) -> Any:
    for step in _steps(path):
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(step)
    return obj


def _put(obj: Mapping[str, Any], steps: list[str], value: Any) -> dict[str, Any]:
    inner = obj.get(steps[0])
    if len(steps) == 1:
        return {**obj, steps[0]: value}
    below = inner if isinstance(inner, Mapping) else {}
    return {**obj, steps[0]: _put(below, steps[1:], value)}
