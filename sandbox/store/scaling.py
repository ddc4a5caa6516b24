"""The scale subresource of custom resources: autoscaling/v1 Scale, read from and written to paths.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
#scale-subresource
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.store.errors import Cause, bad_request, internal_error, invalid_value, shown

REPLICAS_MAX = 2**31 - 1
_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


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
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("Scale cannot be read: spec.replicas has to be an integer")
    changed = _put(obj, _steps(paths.spec_replicas), replicas)
    meta = dict(obj["metadata"])
    sent = scale.get("metadata") or {}
    if sent.get("resourceVersion"):
        meta["resourceVersion"] = sent["resourceVersion"]
    if sent.get("uid"):
        meta["uid"] = sent["uid"]
    changed["metadata"] = meta
    return changed


def scale_causes(
    obj: Mapping[str, Any], paths: ScalePaths, *, status_only: bool = False
) -> list[Cause]:
    """What is wrong with an object as a Scale, beside its schema: replicas are whole and small."""
    numbers = (
        [paths.status_replicas] if status_only else [paths.spec_replicas, paths.status_replicas]
    )
    causes = [cause for path in numbers for cause in _replica_causes(obj, path)]
    if paths.label_selector:
        _, problem = _read(obj, paths.label_selector, str)
        if problem:
            causes.append(invalid_value(paths.label_selector, "", problem))
    return causes


def _replica_causes(obj: Mapping[str, Any], path: str) -> list[Cause]:
    replicas, problem = _read(obj, path, int)
    if problem:
        return [invalid_value(path, 0, problem)]
    if replicas is not None and replicas < 0:
        return [invalid_value(path, replicas, "should be a non-negative integer")]
    if replicas is not None and replicas > REPLICAS_MAX:
        detail = f"should be less than or equal to {REPLICAS_MAX}"
        return [invalid_value(path, replicas, detail)]
    return []


def _read(obj: Mapping[str, Any], path: str, kind: type) -> tuple[Any, str]:
    """The value at a path, None if it is absent; or why it cannot be read."""
    value: Any = obj
    steps = _steps(path)
    for at, step in enumerate(steps, 1):
        if value is None:
            return None, ""
        if not isinstance(value, Mapping):
            return None, _misread(steps[:at], value, "an object")
        if step not in value:
            return None, ""
        value = value[step]
    if isinstance(value, kind) and not isinstance(value, bool):
        return value, ""
    return None, _misread(steps, value, "an integer" if kind is int else "a string")


def _misread(steps: list[str], value: Any, wanted: str) -> str:
    return f"{'.'.join(steps)} cannot be {shown(value)}; it is {wanted}"


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
