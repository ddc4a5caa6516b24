"""HorizontalPodAutoscalers of the sandbox: what they count, and how they go there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sandbox.controllers.settings import Settings
from sandbox.http.autoscaler_columns import targets
from sandbox.store.resources import (
    CUSTOM_RESOURCE_DEFINITION,
    HORIZONTAL_POD_AUTOSCALER,
    POD,
    ResourceType,
)
from tests.unit.sandbox.controllers.living import LivingCluster, Obj, pod

pytestmark = pytest.mark.looptime
PERIOD_S = Settings().autoscaler_period_s
WINDOW_S = 15
DOWN_WINDOW_S = 300
CPU = "sandbox.millrace.dev/cpu"
NEVER_READY = {"sandbox.millrace.dev/behavior": "never-ready"}
UNSERVED = (
    "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to "
    "get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server "
    "could not find the requested resource (get pods.metrics.k8s.io)"
)


class Regions:
    """A kind with a scale: `spec.width`, `status.width` and `status.selector`."""

    def __init__(self, cluster: LivingCluster) -> None:
        self.cluster = cluster
        whatever = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        scale = {
            "specReplicasPath": ".spec.width",
            "statusReplicasPath": ".status.width",
            "labelSelectorPath": ".status.selector",
        }
        properties = {"spec": whatever, "status": whatever}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            "subresources": {"status": {}, "scale": scale},
        }
        names = {"plural": "regions", "singular": "region", "kind": "Region"}
        spec = {"group": "example.org", "scope": "Namespaced", "names": names}
        cluster.create(
            CUSTOM_RESOURCE_DEFINITION,
            {
                "metadata": {"name": "regions.example.org"},
                "spec": {**spec, "versions": [version]},
            },
        )
        found = cluster.store.registry.find("example.org", "v1", "regions")
        assert found is not None
        self.rt: ResourceType = found

    def add(self, name: str, width: int, selector: str) -> None:
        self.only(name, width)
        status = {"status": {"width": width, "selector": selector}}
        self.cluster.merge(self.rt, name, status, "status")

    def only(self, name: str, width: int) -> None:
        """Without a status."""
        head = {"apiVersion": self.rt.api_version, "kind": "Region"}
        body = {**head, "metadata": {"name": name}, "spec": {"width": width}}
        self.cluster.create(self.rt, body)

    def width(self, name: str = "one") -> int:
        return int(self.cluster.get(self.rt, name)["spec"]["width"])

    async def run(self, width: int, *uses: str, **changed: Any) -> None:
        """Region `one` with a pod per use (empty: not measured), and its autoscaler, measured."""
        for number, used in enumerate(uses):
            self.pod(f"pod-{number}", {CPU: used} if used else {})
        self.add("one", width, "region=one")
        await asyncio.sleep(WINDOW_S + 1)
        self.cluster.create(HORIZONTAL_POD_AUTOSCALER, scaler("one", **changed))
        await asyncio.sleep(1)

    def pod(self, name: str, annotations: dict[str, str], requests: Any = None) -> None:
        requests = {"cpu": "100m"} if requests is None else requests
        labels = {"region": "one"}
        body = pod(name, requests=requests, labels=labels, annotations=annotations)
        self.cluster.create(POD, body)

    def play(self, name: str, used: str) -> None:
        self.cluster.merge(POD, name, {"metadata": {"annotations": {CPU: used}}})

    def condition(self, kind: str, name: str = "one") -> tuple[str, str, str]:
        found = self.cluster.condition(HORIZONTAL_POD_AUTOSCALER, name, kind)
        return found["status"], found["reason"], found["message"]

    def scaler(self) -> Obj:
        return self.cluster.get(HORIZONTAL_POD_AUTOSCALER, "one")


def scaler(name: str, kind: str = "Region", **changed: Any) -> dict[str, Any]:
    """An autoscaler of the Region of this name: at most 10 and CPU at 80 % unless changed."""
    target = {"apiVersion": "example.org/v1", "kind": kind, "name": name}
    spec = {"scaleTargetRef": target, "maxReplicas": 10, **changed}
    return {"metadata": {"name": name}, "spec": spec}


def cpu(**target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


async def test_replicas_follow_the_cpu_that_ready_pods_use_of_their_request(
    cluster: LivingCluster,
) -> None:
    """120 % of the request at a goal of 80 %: 3 become 5, and the status shows from what."""
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(3, "120m", "110m", "130m")
        assert regions.width() == 5
        status = regions.scaler()["status"]
        assert status["currentReplicas"] == 3
        assert status["desiredReplicas"] == 5
        current = {"averageUtilization": 120, "averageValue": "120m"}
        resource = {"name": "cpu", "current": current}
        assert status["currentMetrics"] == [{"type": "Resource", "resource": resource}]
        assert targets(regions.scaler(), 0.0) == "cpu: 120%/80%"
        assert regions.condition("AbleToScale")[:2] == ("True", "SucceededRescale")
        assert regions.condition("ScalingActive")[:2] == ("True", "ValidMetricFound")
        assert regions.condition("ScalingLimited")[:2] == ("False", "DesiredWithinRange")
        why = "cpu resource utilization (percentage of request) above target"
        assert cluster.events("one") == [("SuccessfulRescale", f"New size: 5; reason: {why}")]


@pytest.mark.parametrize("used", ["73m", "80m", "88m"])
async def test_a_tenth_more_or_less_changes_nothing(cluster: LivingCluster, used: str) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(3, used, used, used)
        await asyncio.sleep(DOWN_WINDOW_S + 2 * PERIOD_S)
        assert regions.width() == 3


async def test_an_amount_counts_without_requests(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        regions.pod("alone", {CPU: "500m"}, {})
        goal = cpu(type="AverageValue", averageValue="200m")
        await regions.run(1, metrics=[goal])
        assert regions.width() == 3
        assert targets(regions.scaler(), 0.0) == "cpu: 500m/200m"


async def test_replicas_fall_when_the_window_has_passed(cluster: LivingCluster) -> None:
    """The width from which the autoscaler began holds for 300 s; a shorter window is obeyed."""
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(4, "20m", "20m", "20m", "20m")
        assert regions.condition("AbleToScale")[:2] == ("True", "ScaleDownStabilized")
        await asyncio.sleep(DOWN_WINDOW_S - PERIOD_S)
        assert regions.width() == 4
        await asyncio.sleep(2 * PERIOD_S)
        assert regions.width() == 1
        assert regions.condition("ScalingLimited")[:2] == ("False", "DesiredWithinRange")


async def test_a_window_and_policies_of_the_spec_are_obeyed(cluster: LivingCluster) -> None:
    """Down by one in 60 s, without waiting for the 300 s of the default."""
    policy = {"type": "Pods", "value": 1, "periodSeconds": 60}
    down = {"stabilizationWindowSeconds": 0, "policies": [policy]}
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(4, *["20m"] * 4, behavior={"scaleDown": down})
        assert regions.width() == 3
        assert regions.condition("ScalingLimited")[:2] == ("True", "ScaleDownLimit")
        await asyncio.sleep(60 - PERIOD_S)
        assert regions.width() == 3
        await asyncio.sleep(2 * PERIOD_S)
        assert regions.width() == 2


async def test_a_step_up_is_limited_and_so_are_the_bounds(cluster: LivingCluster) -> None:
    """Without a behavior at most 4, or twice as many, in one step; then the most of the spec."""
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(1, "2", maxReplicas=6)
        assert regions.width() == 4
        assert regions.condition("ScalingLimited")[:2] == ("True", "ScaleUpLimit")
        await asyncio.sleep(PERIOD_S)
        assert regions.width() == 6
        assert regions.condition("ScalingLimited")[:2] == ("True", "TooManyReplicas")


async def test_replicas_out_of_the_bounds_are_brought_in_without_a_metric(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(1, minReplicas=3)
        assert regions.width() == 3
        why = "Current number of replicas below Spec.MinReplicas"
        assert ("SuccessfulRescale", f"New size: 3; reason: {why}") in cluster.events("one")
        cluster.merge(HORIZONTAL_POD_AUTOSCALER, "one", {"spec": {"minReplicas": 1}})
        cluster.merge(HORIZONTAL_POD_AUTOSCALER, "one", {"spec": {"maxReplicas": 2}})
        await asyncio.sleep(1)
        assert regions.width() == 2


async def test_where_nothing_plays_cpu_the_condition_reports_what_kubernetes_does(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(2, "", "")
        assert regions.width() == 2
        assert regions.condition("ScalingActive") == ("False", "FailedGetResourceMetric", UNSERVED)
        assert regions.scaler()["status"]["currentMetrics"] == [{"type": ""}]
        assert targets(regions.scaler(), 0.0) == "cpu: <unknown>/80%"
        assert "FailedGetResourceMetric" in {reason for reason, _ in cluster.events("one")}


async def test_pods_of_another_region_are_no_metric_of_this_one(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        cluster.create(POD, pod("other", annotations={CPU: "1"}))
        await regions.run(2, "", "")
        message = regions.condition("ScalingActive")[2]
        assert message.endswith("cpu: no metrics returned from resource metrics API")


async def test_a_pod_without_a_request_is_reported_by_name(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        regions.pod("asks-nothing", {CPU: "1"}, {})
        await regions.run(1)
        message = regions.condition("ScalingActive")[2]
        assert message.endswith("missing request for cpu in container pe of Pod asks-nothing")


async def test_unready_and_unmeasured_pods_make_the_step_smaller(cluster: LivingCluster) -> None:
    """150 % of two pods lead to 4; with an idle third and fourth of them the step is not made."""
    async with cluster.living():
        regions = Regions(cluster)
        regions.pod("unready", {CPU: "1", **NEVER_READY})
        await regions.run(3, "150m", "150m", "")
        assert regions.width() == 3
        regions.play("pod-2", "150m")
        await asyncio.sleep(PERIOD_S)
        assert regions.width() == 6


async def test_pods_count_when_they_were_ready_for_a_whole_window(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        regions.pod("young", {CPU: "160m"})
        regions.add("one", 1, "region=one")
        await asyncio.sleep(1)
        cluster.create(HORIZONTAL_POD_AUTOSCALER, scaler("one"))
        await asyncio.sleep(1)
        assert regions.condition("ScalingActive")[2].endswith("(pods might be unready)")
        await asyncio.sleep(2 * PERIOD_S)
        assert regions.width() == 2


async def test_two_autoscalers_of_one_pod_both_stop(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(1, "160m")
        assert regions.width() == 2
        regions.add("two", 1, "region=one")
        cluster.create(HORIZONTAL_POD_AUTOSCALER, scaler("two"))
        regions.play("pod-0", "1")
        await asyncio.sleep(2 * PERIOD_S)
        assert (regions.width("one"), regions.width("two")) == (2, 1)
        who = "[default/one default/two]"
        text = f"pods by selector region=one are controlled by multiple HPAs: {who}"
        for name in ("one", "two"):
            assert regions.condition("ScalingActive", name) == ("False", "AmbiguousSelector", text)
        cluster.delete(HORIZONTAL_POD_AUTOSCALER, "two")
        await asyncio.sleep(PERIOD_S)
        assert regions.condition("ScalingActive")[:2] == ("True", "ValidMetricFound")


async def test_a_target_without_a_selector_or_a_scale_is_reported(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        regions.only("one", 2)
        for name, kind in (("one", "Region"), ("gone", "Region"), ("odd", "Odd")):
            cluster.create(HORIZONTAL_POD_AUTOSCALER, scaler(name, kind))
        await asyncio.sleep(1)
        text = "the HPA target's scale is missing a selector"
        assert regions.condition("ScalingActive") == ("False", "InvalidSelector", text)
        head = "the HPA controller was unable to get the target's current scale: "
        gone, odd = (
            regions.condition("AbleToScale", "gone"),
            regions.condition("AbleToScale", "odd"),
        )
        missing = f'{head}regions.example.org "gone" not found'
        assert gone == ("False", "FailedGetScale", missing)
        assert odd[2] == f'{head}no matches for kind "Odd" in group "example.org"'


_LOAD = {"metric": {"name": "load"}}
_AVERAGE = {"type": "AverageValue", "averageValue": "1"}
_SERVICE = {"kind": "Service", "name": "web", "apiVersion": "v1"}
_CUSTOM = "from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"


@pytest.mark.parametrize(
    ("kind", "source", "text"),
    [
        ("Pods", {}, f"unable to get metric load: unable to fetch metrics {_CUSTOM}"),
        (
            "Object",
            {"describedObject": _SERVICE},
            f"unable to get metric load: Service on default web/unable to fetch metrics {_CUSTOM}",
        ),
        (
            "External",
            {},
            "unable to get external metric default/load/nil: unable to fetch metrics from "
            "external metrics API: the server could not find the requested resource "
            "(get load.external.metrics.k8s.io)",
        ),
    ],
)
async def test_other_kinds_of_metrics_are_reported_as_not_served(
    cluster: LivingCluster, kind: str, source: Obj, text: str
) -> None:
    metric = {"type": kind, kind.lower(): {**_LOAD, **source, "target": _AVERAGE}}
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(2, "1", "1", metrics=[metric])
        assert regions.width() == 2
        message = regions.condition("ScalingActive")
        whole = f"the HPA was unable to compute the replica count: {text}"
        assert message == ("False", f"FailedGet{kind}Metric", whole)


async def test_a_metric_without_a_value_forbids_a_step_down_only(cluster: LivingCluster) -> None:
    external = {"type": "External", "external": {**_LOAD, "target": _AVERAGE}}
    goal = cpu(type="Utilization", averageUtilization=80)
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(2, "160m", "160m", metrics=[external, goal])
        assert regions.width() == 4
        for name in ("pod-0", "pod-1"):
            regions.play(name, "10m")
        await asyncio.sleep(DOWN_WINDOW_S + 2 * PERIOD_S)
        assert regions.width() == 4
        assert regions.condition("ScalingActive")[1] == "FailedGetExternalMetric"


async def test_an_autoscaler_at_rest_writes_nothing(cluster: LivingCluster) -> None:
    async with cluster.living():
        regions = Regions(cluster)
        await regions.run(2, "80m", "80m")
        before = len(cluster.writes_of(HORIZONTAL_POD_AUTOSCALER, "one"))
        await asyncio.sleep(2 * DOWN_WINDOW_S)
        assert len(cluster.writes_of(HORIZONTAL_POD_AUTOSCALER, "one")) == before
