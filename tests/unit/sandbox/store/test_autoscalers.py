"""HorizontalPodAutoscalers: defaults, refusals, columns, discovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sandbox.http.autoscaler_columns import reference, targets
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER
from sandbox.store.store import Store
from tests.unit.sandbox.store.building import MERGE, causes, refusal

SCALER = HORIZONTAL_POD_AUTOSCALER
TARGET = {"apiVersion": "streams.ibm.com/v1", "kind": "ParallelRegion", "name": "wordcount-0"}
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def scaler(**changed: Any) -> dict[str, Any]:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 8, **changed}
    return {"metadata": {"name": "one"}, "spec": spec}


def _refused(write: Callable[[], Any]) -> list[tuple[str, str]]:
    return causes(refusal(write))


def test_an_autoscaler_gets_the_defaults_of_kubernetes(store: Store) -> None:
    """An absent behavior stays absent; the status is empty, whatever was sent."""
    body = {**scaler(), "status": {"currentReplicas": 7, "desiredReplicas": 7}}
    made = store.create(SCALER, "default", body)
    assert made["spec"] == {**scaler()["spec"], "minReplicas": 1, "metrics": [CPU]}
    assert made["status"] == {"desiredReplicas": 0, "currentMetrics": None}
    assert "generation" not in made["metadata"]


def test_a_behavior_is_completed_in_both_directions(store: Store) -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 600}}
    made = store.create(SCALER, "default", scaler(behavior=behavior))
    assert made["spec"]["behavior"] == {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": 600,
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
    }


def _metric(kind: str, part: str, target: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": kind, part: {"target": target, **more}}


_AVERAGE = {"type": "AverageValue", "averageValue": "100"}
_LOAD = {"metric": {"name": "load"}}
_POLICY = {"type": "Some", "value": 0, "periodSeconds": 1801}


@pytest.mark.parametrize(
    ("spec", "refusals"),
    [
        (
            {"maxReplicas": 0, "minReplicas": 0},
            ["spec.minReplicas", "spec.maxReplicas", "spec.metrics"],
        ),
        ({"maxReplicas": 2, "minReplicas": 3}, ["spec.maxReplicas"]),
        (
            {"scaleTargetRef": {"apiVersion": "v1", "kind": "", "name": "a/b"}},
            [f"spec.scaleTargetRef.{name}" for name in ("kind", "name", "apiVersion")],
        ),
        ({"metrics": [{"type": "Odd"}]}, ["spec.metrics[0].type"] * 2),
        ({"metrics": [{"type": "Pods"}]}, ["spec.metrics[0].pods"]),
        (
            {"metrics": [{**CPU, **_metric("Pods", "pods", _AVERAGE, **_LOAD)}]},
            ["spec.metrics[0].resource"],
        ),
        (
            {"metrics": [_metric("Resource", "resource", {"type": "Odd"}, name="cpu")]},
            [
                "spec.metrics[0].resource.target.type",
                "spec.metrics[0].resource.target.averageUtilization",
            ],
        ),
        (
            {"metrics": [_metric("External", "external", {**_AVERAGE, "value": "0"}, **_LOAD)]},
            ["spec.metrics[0].external.target.value"] * 2,
        ),
        (
            {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 3601, "selectPolicy": "Odd"}}},
            [
                "spec.behavior.scaleUp.stabilizationWindowSeconds",
                "spec.behavior.scaleUp.selectPolicy",
            ],
        ),
        (
            {"behavior": {"scaleDown": {"policies": [_POLICY]}}},
            [
                f"spec.behavior.scaleDown.policies[0].{name}"
                for name in ("type", "value", "periodSeconds")
            ],
        ),
    ],
)
def test_wrong_fields_are_refused(store: Store, spec: dict[str, Any], refusals: list[str]) -> None:
    found = _refused(lambda: store.create(SCALER, "default", scaler(**spec)))
    assert [field for field, _ in found] == refusals


def test_a_change_is_completed_and_checked_as_well(store: Store) -> None:
    """A status is changed by its subresource only, and changes nothing else."""
    store.create(SCALER, "default", scaler())
    changed = store.patch(SCALER, "default", "one", {"spec": {"metrics": None}}, MERGE)
    assert changed["spec"]["metrics"] == [CPU]
    status = {"status": {"currentReplicas": 3}, "spec": {"maxReplicas": 9}}
    shown = store.patch(SCALER, "default", "one", status, MERGE, subresource="status")
    assert (shown["status"]["currentReplicas"], shown["spec"]["maxReplicas"]) == (3, 8)
    wrong = {"spec": {"maxReplicas": 0}}
    found = _refused(lambda: store.patch(SCALER, "default", "one", wrong, MERGE))
    assert {field for field, _ in found} == {"spec.maxReplicas"}


def test_columns_show_two_metrics_and_how_many_more(store: Store) -> None:
    metrics = [CPU, _metric("External", "external", _AVERAGE, **_LOAD), CPU]
    made = store.create(SCALER, "default", scaler(metrics=metrics))
    assert reference(made, 0.0) == "ParallelRegion/wordcount-0"
    shown = "cpu: <unknown>/80%, <unknown>/100 (avg) + 1 more..."
    assert targets(made, 0.0) == shown
