"""HorizontalPodAutoscalers: defaults, refusals, changes, columns. Their targets do not exist."""

from __future__ import annotations

from typing import Any

from tests.real.differential.steps import TABLE, Exchange, exchange, get, merge, post, put

COVERS = (
    "sandbox/store/scaling.py",
    "sandbox/store/autoscalers.py",
    "sandbox/http/*autoscaler*",
    "sandbox/controllers/autoscal*",
    "sandbox/controllers/scaling_rates.py",
)

_A = "horizontalpodautoscalers"
_LIVE = ("status",)
"""The controller may write it between two requests."""
_TARGET = {"apiVersion": "streams.ibm.com/v1", "kind": "ParallelRegion", "name": "none"}
_LOAD = {"metric": {"name": "load"}}
_AVERAGE = {"type": "AverageValue", "averageValue": "100"}
_UTILIZATION = {"type": "Utilization", "averageUtilization": 70}
_SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "web"}


def _scaler(**spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    spec = {"scaleTargetRef": _TARGET, "maxReplicas": 5, **spec}
    return {**head, "metadata": {"name": "one"}, "spec": spec}


def _metric(kind: str, part: str, target: Any, **more: Any) -> dict[str, Any]:
    return {"type": kind, part: {"target": target, **more}}


def _policy(kind: str = "Pods", value: int = 1, period_s: int = 60) -> dict[str, Any]:
    return {"type": kind, "value": value, "periodSeconds": period_s}


_CPU = _metric("Resource", "resource", _UTILIZATION, name="cpu")
_SPECS: tuple[dict[str, Any], ...] = (
    {},
    {"minReplicas": 3},
    {"minReplicas": 6},
    {"minReplicas": 0},
    {"minReplicas": -1},
    {"maxReplicas": 0},
    {"maxReplicas": -1},
    {"maxReplicas": "5"},
    {"maxReplicas": None},
    {"scaleTargetRef": None},
    {"scaleTargetRef": {**_TARGET, "name": ""}},
    {"scaleTargetRef": {**_TARGET, "name": ".."}},
    {"scaleTargetRef": {**_TARGET, "name": "a/b%c"}},
    {"scaleTargetRef": {**_TARGET, "kind": ""}},
    {"scaleTargetRef": {**_TARGET, "apiVersion": ""}},
    {"scaleTargetRef": {**_TARGET, "apiVersion": "v1"}},
    {"scaleTargetRef": {**_TARGET, "apiVersion": "a/b/c"}},
    {"scaleTargetRef": {"kind": "ReplicationController", "name": "one"}},
    {"metrics": []},
    {"metrics": [_CPU]},
    {"metrics": [{"type": ""}]},
    {"metrics": [{"type": "Odd"}]},
    {"metrics": [{"type": "Resource"}]},
    {"metrics": [{**_CPU, "type": "Pods"}]},
    {"metrics": [{**_CPU, **_metric("Resource", "pods", _AVERAGE, **_LOAD)}]},
    {"metrics": [_metric("Resource", "resource", _UTILIZATION)]},
    {"metrics": [_metric("Resource", "resource", {"type": "Odd"}, name="cpu")]},
    {"metrics": [_metric("Resource", "resource", {"type": ""}, name="cpu")]},
    {"metrics": [_metric("Resource", "resource", {**_UTILIZATION, **_AVERAGE}, name="cpu")]},
    {"metrics": [_metric("Resource", "resource", {**_AVERAGE, "averageValue": "0"}, name="cpu")]},
    {
        "metrics": [
            _metric("Resource", "resource", {**_UTILIZATION, "averageUtilization": 0}, name="cpu")
        ]
    },
    {"metrics": [_metric("Resource", "resource", {**_AVERAGE, "averageValue": "x"}, name="cpu")]},
    {"metrics": [_metric("Resource", "resource", {**_AVERAGE, "averageValue": "0.5"}, name="cpu")]},
    {"metrics": [_metric("Pods", "pods", _AVERAGE, **_LOAD)]},
    {"metrics": [_metric("Pods", "pods", {"type": "Value", "value": "1"}, **_LOAD)]},
    {"metrics": [_metric("Pods", "pods", _AVERAGE, metric={"name": ""})]},
    {"metrics": [_metric("Object", "object", _AVERAGE, describedObject=_SERVICE, **_LOAD)]},
    {"metrics": [_metric("Object", "object", {"type": "Value"}, describedObject={}, **_LOAD)]},
    {"metrics": [_metric("External", "external", _AVERAGE, **_LOAD)]},
    {"metrics": [_metric("External", "external", {"type": "Value"}, **_LOAD)]},
    {"metrics": [_metric("External", "external", {**_AVERAGE, "value": "7"}, **_LOAD)]},
    {
        "metrics": [
            _metric(
                "ContainerResource", "containerResource", _UTILIZATION, name="cpu", container="pe"
            )
        ]
    },
    {"metrics": [_metric("ContainerResource", "containerResource", _UTILIZATION, name="cpu")]},
    {"behavior": {}},
    {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 600}}},
    {"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}},
    {"behavior": {"scaleUp": {"selectPolicy": "Odd", "stabilizationWindowSeconds": 3601}}},
    {"behavior": {"scaleDown": {"stabilizationWindowSeconds": -1}}},
    {"behavior": {"scaleDown": {"policies": [_policy()]}}},
    {"behavior": {"scaleDown": {"policies": [_policy("Odd")]}}},
    {"behavior": {"scaleDown": {"policies": [_policy(value=0, period_s=1801)]}}},
    {"behavior": {"scaleDown": {"policies": [_policy(period_s=0)]}}},
    {"behavior": {"scaleUp": {"tolerance": "0.05"}}},
    {"behavior": {"scaleUp": {"tolerance": "-1"}}},
    {"odd": 1},
)


EXCHANGES: tuple[Exchange, ...] = (
    *(exchange(f"an autoscaler {i}", post(_A, _scaler(**spec))) for i, spec in enumerate(_SPECS)),
    exchange(
        "an autoscaler is changed",
        post(_A, _scaler()),
        merge(_A, "one", {"spec": {"maxReplicas": 7, "metrics": None}}),
        merge(_A, "one", {"spec": {"maxReplicas": 0}}),
        merge(_A, "one", {"spec": {"scaleTargetRef": {"apiVersion": "v1"}}}),
        put(_A, "one", _scaler(maxReplicas=9, minReplicas=2)),
        masked=_LIVE,
    ),
    exchange(
        "an autoscaler in a table",
        post(_A, _scaler(metrics=[_CPU, _CPU, _metric("External", "external", _AVERAGE, **_LOAD)])),
        get(_A, "one", accept=TABLE),
        masked=("object",),
    ),
)
