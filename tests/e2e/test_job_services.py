"""PEs are found by names in the one headless Service of their job, or each by a Service of its own.

Nobody plays Endpoints and the DNS in the sandbox; the real pair has EndpointSlices, from which the
DNS of a cluster takes the names of pods.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from loadtest.api import Refused
from tests.e2e.examples import OUTSIDE, REGION, until_width, with_example
from tests.e2e.watching import RETRY_S, TEST_S_MAX, WAIT_S, Cluster, JobObjects, Obj

COVERS = (
    "services/fusion_backend/core/pe_services.py",
    "services/fusion_backend/core/naming_pes.py",
    "services/fusion_backend/core/connecting.py",
    "contracts/hosts.py",
    "contracts/names.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def named_pods(job: JobObjects) -> set[tuple[str, str]]:
    """(hostname, subdomain) of the pods; empty where they have none."""
    pods = (pod["spec"] for pod in job.of("pods").values())
    return {(pod.get("hostname", ""), pod.get("subdomain", "")) for pod in pods}


async def names_in_slices(cluster: Cluster, service: str) -> set[str]:
    """The names below a Service that the DNS knows by its EndpointSlices."""
    query = f"?labelSelector=kubernetes.io/service-name%3D{service}"
    slices = (await cluster.api.call("GET", SLICES + query))["items"]
    found: list[Obj] = [each for one in slices for each in one.get("endpoints") or ()]
    return {each["hostname"] for each in found if each.get("hostname") and each["addresses"]}


async def has_slices(cluster: Cluster) -> bool:
    """Whether somebody makes EndpointSlices there."""
    try:
        await cluster.api.call("GET", SLICES)
    except Refused:
        return False
    return True


async def test_the_dns_learns_a_name_of_each_pe_from_one_service_also_after_a_resize(
    cluster: Cluster,
) -> None:
    async with cluster.job("named") as job:
        await with_example(cluster, job, 2)
        before = job.of("services")["named-pes"]
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        assert job.of("services") == {"named-pes": before}
        names = {f"named-{number}" for number in range(3 + OUTSIDE)}
        assert named_pods(job) == {(name, "named-pes") for name in names}
        if not await has_slices(cluster):
            return
        async with asyncio.timeout(WAIT_S):
            while True:
                if await names_in_slices(cluster, "named-pes") == names:
                    return
                await asyncio.sleep(RETRY_S)


async def test_a_job_may_have_a_service_for_each_pe_as_in_the_original(cluster: Cluster) -> None:
    async with cluster.job("single") as job:
        per_pe: Any = "PerPE"
        await with_example(cluster, job, 2, services=per_pe)
        await cluster.resize(job, REGION, 3)
        await until_width(job, 3)
        assert set(job.of("services")) == set(job.of("pes"))
        assert named_pods(job) == {("", "")}
