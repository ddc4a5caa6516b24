"""HorizontalPodAutoscalers over HTTP: tables, discovery, and the version of older kubectl."""

from __future__ import annotations

import pytest

from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER
from sandbox.store.store import Store
from tests.unit.sandbox.http.asking import MERGE, Asker

GROUP = "/apis/autoscaling"
V1, V2 = (f"{GROUP}/{each}/namespaces/default/horizontalpodautoscalers" for each in ("v1", "v2"))
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
TARGET = {"apiVersion": "streams.ibm.com/v1", "kind": "ParallelRegion", "name": "one"}


def sent(**spec: object) -> dict[str, object]:
    """What `kubectl autoscale stpr/one --max 8` of 1.32 posts."""
    head = {"kind": "HorizontalPodAutoscaler", "apiVersion": "autoscaling/v1"}
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 8, **spec}
    return {**head, "metadata": {"name": "one"}, "spec": spec}


def test_both_versions_are_served_and_the_newer_one_is_preferred(asker: Asker) -> None:
    group = asker.json("GET", GROUP)
    assert [each["version"] for each in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"]["version"] == "v2"
    (main, status) = asker.json("GET", f"{GROUP}/v2")["resources"]
    assert (main["shortNames"], main["categories"]) == (["hpa"], ["all"])
    assert status["name"] == "horizontalpodautoscalers/status"


def test_the_columns_are_those_that_kubectl_get_hpa_shows(asker: Asker) -> None:
    asker.json("POST", V1, sent())
    shown = asker.json("GET", V2, headers=TABLE)
    names = [each["name"] for each in shown["columnDefinitions"]]
    assert names == ["Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"]
    cells = shown["rows"][0]["cells"][:-1]
    assert cells == ["one", "ParallelRegion/one", "cpu: <unknown>/80%", "1", 8, 0]


@pytest.mark.parametrize(
    ("spec", "percent"), [({}, 80), ({"targetCPUUtilizationPercentage": 7}, 7)]
)
def test_an_autoscaler_of_the_older_version_is_stored_as_the_newer_one(
    asker: Asker, store: Store, spec: dict[str, int], percent: int
) -> None:
    made = asker.json("POST", V1, sent(**spec))
    assert made["apiVersion"] == "autoscaling/v1"
    assert made["spec"]["targetCPUUtilizationPercentage"] == percent
    stored = store.get(HORIZONTAL_POD_AUTOSCALER, "default", "one")
    (metric,) = stored["spec"]["metrics"]
    assert metric["resource"]["target"]["averageUtilization"] == percent
    current = {"averageUtilization": 90, "averageValue": "90m"}
    measured = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    status = {"status": {"currentReplicas": 2, "currentMetrics": measured}}
    store.patch(HORIZONTAL_POD_AUTOSCALER, "default", "one", status, MERGE, subresource="status")
    for shown in (asker.json("GET", f"{V1}/one"), asker.json("GET", V1)["items"][0]):
        assert shown["status"] == {
            "currentReplicas": 2,
            "desiredReplicas": 0,
            "currentCPUUtilizationPercentage": 90,
        }


def test_the_older_version_is_refused_as_the_newer_one_is(asker: Asker) -> None:
    assert asker.ask("POST", V1, sent(maxReplicas=0)).status == 422
    assert asker.ask("DELETE", f"{V1}/one").status == 405
