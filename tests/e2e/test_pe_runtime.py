"""What millrace's own runtime requests of pe-gateway, and what becomes of what it reports.

On the sandbox and on a real API server, with the tokens of pods and the bundle that the job runs.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import aiohttp
import pytest

from tests.e2e.examples import with_example
from tests.e2e.test_pe_gateway import address_of, pe_of, pod_of, token_of
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects

COVERS = (
    "services/pe_gateway/adapters/runtime_answers.py",
    "services/pe_gateway/adapters/reporting.py",
    "services/pe_gateway/adapters/bundle_*",
    "services/pe_gateway/core/reports.py",
    "services/pe_gateway/core/report_rules.py",
    "services/pe_gateway/core/runtime_*",
    "millrace/runtime/gateway.py",
    "millrace/runtime/observing.py",
    "millrace/runtime/reports.py",
    "millrace/runtime/resolving.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
PATH = "/api/runtime/job/own/pe/1"
TAKEN = (202, 204)
"""Of a report that may be in the status already, or comes there soon."""


def runtime_of(job: JobObjects) -> dict[str, Any]:
    """What the status of PE 1 has of its runtime."""
    found: dict[str, Any] = (job.of("pes")["own-1"].get("status") or {}).get("runtime") or {}
    return found


async def test_a_pe_of_our_runtime_finds_its_peers_reports_and_reads_its_bundle(
    cluster: Cluster,
) -> None:
    async with cluster.job("own") as job:
        await with_example(cluster, job, 2)
        async with pe_of(cluster, job, 1) as pe:
            seen = (await pe.send("GET", f"{PATH}?peers=0,99")).json
            address = pod_of(job, 0)["status"]["podIP"]
            assert seen["peers"] == {"0": {"address": address, "launch": 1}}
            assert (seen["jobUid"], seen["launch"], seen["handOver"]) == (job.uid, 1, None)
            query = f"?peers=0,99&seen={seen['version']}&wait=1"
            assert (await pe.send("GET", PATH + query)).status == 304
            started = {"runtime": "test 1", "handsOver": False}
            assert (await pe.send("PUT", PATH, {"launch": 1, "started": started})).status in TAKEN
            assert (
                await pe.send("PUT", PATH, {"launch": 1, "sealed": {"generation": 7}})
            ).status == 204
            await job.until("sealed", lambda: runtime_of(job).get("sealed") == 7)
            assert runtime_of(job)["name"] == "test 1"
            lost = {"tuples": 17, "why": "Killed"}
            assert (await pe.send("PUT", PATH, {"launch": 1, "lost": lost})).status in TAKEN
            await job.until("lost", lambda: runtime_of(job).get("lostTuples") == 17)
            await job.until("kept", lambda: (job.status.get("losses") or {}).get("tuples") == 17)
            assert (await pe.send("PUT", PATH, {"launch": 2, "lost": lost})).status == 403
        await _bundle(cluster, job)


async def _bundle(cluster: Cluster, job: JobObjects) -> None:
    """The bundle of the job, as it was when the job was submitted."""
    url = f"{address_of(cluster.system)}/api/runtime/job/own/bundle"
    headers = {"Authorization": f"Bearer {await token_of(cluster, pod_of(job, 1))}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.get(url) as answer:
            assert answer.status == 200, await answer.text()
            digest = hashlib.sha256(await answer.read()).hexdigest()
            assert answer.headers["ETag"] == f'"{digest}"'
        async with session.get(url, headers={"If-None-Match": f'"{digest}"'}) as answer:
            assert answer.status == 304
    assert digest == job.status["bundleDigest"]


async def test_a_pe_that_waits_learns_of_a_peer_that_is_launched_again(cluster: Cluster) -> None:
    async with cluster.job("own") as job:
        await with_example(cluster, job, 2, processingElement={"restartDeletedPod": True})
        async with pe_of(cluster, job, 1) as pe:
            seen = (await pe.send("GET", f"{PATH}?peers=0")).json
            waiting = asyncio.create_task(
                pe.send("GET", f"{PATH}?peers=0&seen={seen['version']}&wait=30")
            )
            name = pod_of(job, 0)["metadata"]["name"]
            await cluster.api.call("DELETE", f"/api/v1/namespaces/default/pods/{name}")
            found = (await waiting).json
            while found["peers"].get("0", {}).get("launch") != 2:
                query = f"?peers=0&seen={found['version']}&wait=30"
                found = (await pe.send("GET", PATH + query)).json
