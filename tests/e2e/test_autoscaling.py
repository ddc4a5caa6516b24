"""A HorizontalPodAutoscaler sets the width of a region, or reports why it does not.

Where the width in force is out of the bounds that it is given, it needs no metrics. Where nothing
serves metrics, both sides report the same. Metrics are served by the test, and only to the real
pair: at 120 % of its target, three channels become four, or nothing happens and the autoscaler
reports why. The CPU that the sandbox plays is in tests/simulation/test_autoscaling.py.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from contracts.resources import API_VERSION
from loadtest.api import CORE, MERGE
from tests.e2e.applications import FIRST, SECOND, THIRD, submit_row
from tests.e2e.metrics_serving import SERVICE, metrics_served
from tests.e2e.resizing import Resized, moment_of, resized, until_widths
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "contracts/resources/scaling.py",
    "contracts/resources/parallel_region.py",
    "services/fusion_backend/core/counting.py",
    "services/fusion_backend/core/region_statuses.py",
    "sandbox/controllers/autoscal*",
    "sandbox/controllers/replicas.py",
    "sandbox/controllers/scaling_rates.py",
    "sandbox/store/scaling.py",
    "sandbox/store/autoscalers.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@asynccontextmanager
async def autoscaler(cluster: Cluster, region: str, bounds: Obj) -> AsyncIterator[str]:
    """An autoscaler of a ParallelRegion, which is deleted at the end; its path."""
    target = {"apiVersion": API_VERSION, "kind": "ParallelRegion", "name": region}
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": region},
        "spec": {"scaleTargetRef": target, **bounds},
    }
    # Shielded: a request that is cancelled may have made it, and a second try would meet it.
    making = asyncio.ensure_future(cluster.api.call("POST", AUTOSCALERS, body))
    try:
        await asyncio.shield(making)
        yield f"{AUTOSCALERS}/{region}"
    finally:
        await making
        await cluster.api.call("DELETE", f"{AUTOSCALERS}/{region}")


async def test_an_autoscaler_widens_and_narrows_a_region_within_its_bounds(
    cluster: Cluster,
) -> None:
    """From 2 up to the least of 4, then down to the most of 3; the rest is not written to."""
    async with cluster.job("autoscaled") as job:
        await submit_row(
            cluster, job, {"legacy": True}, parallelRegions=[{"alias": THIRD, "width": 2}]
        )
        await until_widths(job, 6, {FIRST: 1, SECOND: 1, THIRD: 2})
        region = next(n for n, r in job.of("regions").items() if r["spec"]["alias"] == THIRD)
        before = moment_of(job)
        bounds = {"minReplicas": 4, "maxReplicas": 9}
        async with autoscaler(cluster, region, bounds) as path:
            await until_widths(job, 8, {FIRST: 1, SECOND: 1, THIRD: 4})
            assert resized(job, before) == Resized({1, 3, 4, 5}, {0, 2}, {6, 7}, set())
            before = moment_of(job)
            bounds = {"minReplicas": 1, "maxReplicas": 3}
            await cluster.api.call("PATCH", path, {"spec": bounds}, MERGE)
            await until_widths(job, 7, {FIRST: 1, SECOND: 1, THIRD: 3})
            assert resized(job, before) == Resized({1, 3, 4, 5, 6}, {0, 2}, set(), {7})


WIDTH, WIDER = 3, 4
OF_POD, OF_ALL = 120, 360
"""What a pod uses, and what is to be divided among the channels; the targets are 100."""
LOADED = {"resources": {"requests": {"cpu": "100m"}}}
AVERAGE, VALUE = {"type": "AverageValue", "averageValue": "100"}, {"type": "Value", "value": "300"}
LOAD = {"metric": {"name": "load"}}
OBJECT = {**LOAD, "describedObject": {"apiVersion": "v1", "kind": "Service", "name": SERVICE}}
CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 100}}
NEED_PODS = {
    "FailedGetResourceMetric": {"type": "Resource", "resource": CPU},
    "FailedGetPodsMetric": {"type": "Pods", "pods": {**LOAD, "target": AVERAGE}},
    "FailedGetObjectMetric": {"type": "Object", "object": {**OBJECT, "target": VALUE}},
    "FailedGetExternalMetric": {"type": "External", "external": {**LOAD, "target": VALUE}},
}
"""Metrics that Kubernetes multiplies by the number of ready pods, by its error without pods."""
NEED_NONE = {
    "object": {"type": "Object", "object": {**OBJECT, "target": AVERAGE}},
    "external": {"type": "External", "external": {**LOAD, "target": AVERAGE}},
}


KEDA = ("FailedGetExternalMetric", NEED_NONE["external"])
"""What a ScaledObject makes: External with AverageValue."""
_UNABLE = "the HPA was unable to compute the replica count: "
_ABSENT = "the server could not find the requested resource"
_CUSTOM = "from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
UNSERVED = {
    "FailedGetResourceMetric": "failed to get cpu utilization: unable to get metrics for resource "
    "cpu: unable to fetch metrics from resource metrics API: "
    f"{_ABSENT} (get pods.metrics.k8s.io)",
    "FailedGetPodsMetric": f"unable to get metric load: unable to fetch metrics {_CUSTOM}",
    "FailedGetObjectMetric": f"unable to get metric load: Service on default {SERVICE}/unable to "
    f"fetch metrics {_CUSTOM}",
    "FailedGetExternalMetric": "unable to get external metric default/load/nil: unable to fetch "
    f"metrics from external metrics API: {_ABSENT} (get load.external.metrics.k8s.io)",
}
"""What Kubernetes reports where nothing serves the metrics of NEED_PODS."""


async def test_metrics_that_nothing_serves_are_reported_in_the_words_of_kubernetes(
    cluster: Cluster,
) -> None:
    """The width stays; KEDA's metric, External with AverageValue, is the last one."""
    async with cluster.job("unmeasured") as job:
        width = [{"alias": FIRST, "width": WIDTH}]
        await submit_row(cluster, job, {"legacy": True}, parallelRegions=width)
        await job.until("running", job.all_running)
        region = next(n for n, r in job.of("regions").items() if r["spec"]["alias"] == FIRST)
        bounds = {"maxReplicas": 20, "metrics": list(NEED_PODS.values())[:1]}
        async with autoscaler(cluster, region, bounds) as path:
            for error, metric in [*NEED_PODS.items(), KEDA]:
                await cluster.api.call("PATCH", path, {"spec": {"metrics": [metric]}}, MERGE)
                active = await _inactive_by(cluster, path, error)
                text = f"{_UNABLE}{UNSERVED[error]}"
                assert (active["status"], active["message"]) == ("False", text)
        assert job.of("regions")[region]["spec"]["width"] == WIDTH


@pytest.mark.parametrize("system", [pytest.param("real", marks=pytest.mark.real)], indirect=True)
async def test_each_kind_of_metric_counts_channels_or_reports_that_there_are_no_pods(
    cluster: Cluster,
) -> None:
    """With legacy and channelIsolation each of them goes from 3 to 4, not to 11 or to 2."""
    fusions: dict[str, Obj] = {
        "legacy": {"legacy": True},
        "isolated": {"manual": 9, "type": "channelIsolation"},
        "automatic": {"automatic": True},
    }
    served = metrics_served(cluster.api, of_pod=OF_POD, of_all=OF_ALL)
    async with served, asyncio.TaskGroup() as tasks:
        for name, fusion in fusions.items():
            tasks.create_task(_each_metric(cluster, name, fusion))


async def _each_metric(cluster: Cluster, name: str, fusion: Obj) -> None:
    async with cluster.job(f"scaled-by-metrics-{name}") as job:
        width = [{"alias": FIRST, "width": WIDTH}]
        await submit_row(
            cluster,
            job,
            fusion,
            parallelRegions=width,
            processingElement=LOADED,
            scaling={"settleSeconds": 0},
        )
        await job.until("running", job.all_running)
        is_counted = name != "automatic"
        for error, metric in NEED_PODS.items():
            await _scaled(cluster, job, metric, "" if is_counted else error)
        for metric in NEED_NONE.values():
            await _scaled(cluster, job, metric, "")


async def _scaled(cluster: Cluster, job: JobObjects, metric: Obj, error: str) -> None:
    """An autoscaler with one metric takes the region to 4 channels, or reports an error."""
    region = next(n for n, r in job.of("regions").items() if r["spec"]["alias"] == FIRST)
    bounds = {"minReplicas": 1, "maxReplicas": 20, "metrics": [metric]}

    def width() -> int:
        return int(job.of("regions")[region]["spec"]["width"])

    async with autoscaler(cluster, region, bounds) as path:
        while width() == WIDTH:
            active = await _condition(cluster, path, "ScalingActive")
            if error and active.get("reason") == error and _lacks_pods(active):
                break
            assert error or active.get("status") != "False" or _is_starting(active), active
            await asyncio.sleep(0.1)
        sizes = [] if error else await _sizes(cluster, path)
    if error:
        assert width() == WIDTH, metric
    else:
        assert min(sizes) == WIDER, metric
        await _narrow(cluster, job, region)


async def _sizes(cluster: Cluster, path: str) -> list[int]:
    """The widths that an autoscaler has set, by its Events.

    The region alone does not tell: where pods are counted, four of them use too much as well, and
    two seconds later it has the next width.
    """
    uid = (await cluster.api.call("GET", path))["metadata"]["uid"]
    of_it = f"fieldSelector=involvedObject.uid%3D{uid},reason%3DSuccessfulRescale"
    while True:
        found = await cluster.api.call("GET", f"{CORE}/events?{of_it}")
        if texts := [re.match(r"New size: (\d+);", each["message"]) for each in found["items"]]:
            return [int(text[1]) for text in texts if text]
        await asyncio.sleep(0.1)


async def _narrow(cluster: Cluster, job: JobObjects, region: str) -> None:
    """Narrow a region again, also if the autoscaler that was deleted widens it once more.

    A controller manager that is slow knows of the deletion later than we.
    """
    async with asyncio.TaskGroup() as tasks:
        narrowing = tasks.create_task(
            job.until("narrow again", lambda: job.all_running() and _in_force(job, region))
        )
        while not narrowing.done():
            if job.of("regions")[region]["spec"]["width"] != WIDTH:
                await cluster.resize(job, FIRST, WIDTH)
            await asyncio.wait({narrowing}, timeout=1.0)  # unstretched: a pause


def _in_force(job: JobObjects, region: str) -> bool:
    """Nothing is left of the wider region: some metrics count pods that are ending, too."""
    status = job.of("regions")[region].get("status") or {}
    return bool(status.get("width") == WIDTH) and len(job.of("pods")) == len(job.of("pes"))


def _lacks_pods(active: Obj) -> bool:
    """Whether Kubernetes reports that the selector matches nothing."""
    return any(text in active["message"] for text in ("no metrics returned", "no pods returned"))


def _is_starting(active: Obj) -> bool:
    """The metrics APIs may not be known yet, and pods not be ready for long enough."""
    return str(active.get("reason", "")).startswith("FailedGet")


async def _inactive_by(cluster: Cluster, path: str, reason: str) -> Obj:
    """The condition ScalingActive as soon as it has the reason."""
    while True:
        active = await _condition(cluster, path, "ScalingActive")
        if active.get("reason") == reason:
            return active
        await asyncio.sleep(0.1)


async def _condition(cluster: Cluster, path: str, type_: str) -> Obj:
    found = await cluster.api.call("GET", path)
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((dict(each) for each in conditions if each["type"] == type_), {})
