"""The chart on a real node: every service in a pod of its own, and what becomes of a job meanwhile.

Kafka and the services run on the real node, the pods of PEs on kwok's. The times of all steps are
printed, not judged: machines differ and are shared.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

import pytest

from loadtest.api import Api
from tests.e2e.following import ordeal
from tests.e2e.watching import Obj
from tests.node.accounts import accounts_of_pods
from tests.node.connections import connections_of, refused
from tests.node.grounds import Ground
from tests.node.installation import Installation, installed
from tests.node.installing import NAMESPACE, RELEASE, SELECTOR, TAGS, Installer
from tests.node.pods import DISRUPTIONS, ServicePods, processes_of
from tests.node.resizing import WIDTHS, Resizing
from tests.node.steps import Steps
from tests.patience import patient
from tests.real.accounts import check_foreign_writes, check_rights
from tools.real.node.plan import KEY, NODE_NAME

pytestmark = [pytest.mark.node, pytest.mark.timeout(patient(900))]
RESIZES = 30
ENDED_S_MAX = patient(60.0)
GROUPS = (
    ("fusion-backend", "node-tainter"),
    ("hostpool-manager", "pod-state-machine"),
    ("watch-ingest",),
)
"""The services that end at a time: none that waits for the work of another of its group."""
SHARED = ("fusion-backend", "pod-state-machine")
"""The services that share the jobs among their instances."""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CORE = f"/api/v1/namespaces/{NAMESPACE}"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
OBJECTS = {
    "Pod": f"{_CORE}/pods",
    "Service": f"{_CORE}/services",
    "ServiceAccount": f"{_CORE}/serviceaccounts",
    "ConfigMap": f"{_CORE}/configmaps",
    "Secret": f"{_CORE}/secrets",
    "Deployment": f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
    "StatefulSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets",
    "Job": f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs",
    "NetworkPolicy": f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies",
    "PodDisruptionBudget": f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets",
    "Role": f"{_RBAC}/namespaces/{NAMESPACE}/roles",
    "RoleBinding": f"{_RBAC}/namespaces/{NAMESPACE}/rolebindings",
    "ClusterRole": f"{_RBAC}/clusterroles",
    "ClusterRoleBinding": f"{_RBAC}/clusterrolebindings",
}
"""What a release consists of: kind and path."""


async def test_a_job_outlives_everything_that_happens_to_the_pods_of_services(
    up: Ground, steps: Steps, tmp_path: Path
) -> None:
    """Install, submit, 30 resizes with disruptions, two instances, upgrade, uninstall."""
    async with installed(up, steps) as there:
        await _check_accounts(there.services)
        with steps.step("what the accounts of the pods may do"):
            async with accounts_of_pods(there, tmp_path / "accounts") as accounts:
                await check_rights(accounts)
                await check_foreign_writes(accounts)
        await _life_of_a_job(there, steps)
        await _check_uninstall(there.api, there.installer, steps)


async def _life_of_a_job(there: Installation, steps: Steps) -> None:
    steps.began("a job until it runs")
    async with ordeal(there.cluster, "shop", WIDTHS[-1]) as job:
        steps.passed("a job until it runs")
        _check_nodes(job.job.live_pods().values())
        resizing = Resizing(job)
        with steps.step("a resize that nobody disturbs"):
            await resizing.once(WIDTHS[0] + 1)
        await _disrupt(resizing, there, steps)
        await _check_connections(there.api, there.services)
        steps.began("the job is deleted")
    steps.passed("the job is deleted")


async def _disrupt(resizing: Resizing, there: Installation, steps: Steps) -> None:
    """Each service ends in every way, two instances share the work, all are upgraded."""
    async with resizing.going_on():
        for group in GROUPS:
            services = [service for service in there.services if service.service in group]
            for how, disrupt in DISRUPTIONS.items():
                with steps.step(f"{' and '.join(group)}: {how}, until ready again"):
                    await asyncio.gather(*(_disrupted(service, disrupt) for service in services))
                resizing.check()
        shared = [service for service in there.services if service.service in SHARED]
        for replicas in (2, 1):
            with steps.step(f"{' and '.join(SHARED)} have instances: {replicas}"):
                for service in shared:
                    await service.scale(replicas)
                for service in shared:
                    await service.until_ready()
                await resizing.until(resizing.count + 2)
        with steps.step("helm upgrade to another tag, until every service is ready"):
            await there.installer.upgrade(TAGS[1])
        with steps.step(f"resizes until there are {RESIZES}; {resizing.count} until now"):
            await resizing.until(RESIZES)


async def _disrupted(
    service: ServicePods, disrupt: Callable[[ServicePods], Awaitable[None]]
) -> None:
    """End the pods of a service, and wait until others are ready."""
    before = frozenset(await service.containers())
    await disrupt(service)
    await service.until_ready(without=before)


async def _check_accounts(services: Sequence[ServicePods]) -> None:
    """Each service runs on the real node, with the account that is its own."""
    for service in services:
        (pod,) = await service.pods()
        assert pod["spec"]["nodeName"] == NODE_NAME
        assert pod["spec"]["serviceAccountName"] == f"{RELEASE}-{service.service}"


def _check_nodes(pods: Iterable[Obj]) -> None:
    """The taint keeps the pods of PEs on the nodes that kwok plays."""
    nodes = {pod["spec"]["nodeName"] for pod in pods}
    assert nodes
    assert NODE_NAME not in nodes, KEY


async def _check_connections(api: Api, services: Sequence[ServicePods]) -> None:
    """Whatever a service is connected with, its NetworkPolicy allows."""
    pods = (await api.call("GET", f"{_CORE}/pods"))["items"]
    policies = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies"
    for service in services:
        policy = await api.call("GET", f"{policies}/{RELEASE}-{service.service}")
        for pod in await service.pods():
            (first, *_) = processes_of(pod, service.service)
            there = connections_of(first)
            assert there, f"{service.service} is connected with the API server and Kafka"
            assert refused(there, policy, pods) == []


async def _left(api: Api) -> set[str]:
    """Objects of the release that there are."""
    return {
        f"{kind} {item['metadata']['name']}"
        for kind, path in OBJECTS.items()
        for item in (await api.call("GET", f"{path}?labelSelector={SELECTOR}"))["items"]
    }


async def _check_uninstall(api: Api, installer: Installer, steps: Steps) -> None:
    """Nothing of the release is left but the definitions, and with them the data."""
    with steps.step("helm uninstall"):
        await installer.uninstall()
    with steps.step("until the pods have ended, which Helm does not wait for"):
        end_s = time.monotonic() + ENDED_S_MAX
        while (left := await _left(api)) and time.monotonic() < end_s:  # noqa: ASYNC110
            await asyncio.sleep(1)
    assert left == set()
    definitions = (await api.call("GET", DEFINITIONS))["items"]
    assert "streamsjobs.streams.ibm.com" in {item["metadata"]["name"] for item in definitions}
