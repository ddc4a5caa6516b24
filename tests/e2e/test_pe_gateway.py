"""The conversation of an original PE at its start, and after, with pe-gateway.

The client is written from the description of the original's interface: paths, bodies and status
codes, on the sandbox and on a real API server, which issues and reviews the tokens of pods.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

import aiohttp
import pytest

from contracts import labels
from loadtest.api import CORE
from tests.e2e.examples import OUTSIDE, REGION, until_width, with_example
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, System

COVERS = (
    "services/pe_gateway/adapters/gateway.py",
    "services/pe_gateway/adapters/serving.py",
    "services/pe_gateway/adapters/watching.py",
    "services/pe_gateway/core/endpoints.py",
    "services/pe_gateway/core/state_xml.py",
    "services/pe_gateway/core/widths.py",
    "services/pe_gateway/core/trusting.py",
    "services/pe_gateway/core/answers.py",
    "services/pe_gateway/core/outlines.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
AUDIENCE = "streams-api"
STATE = "{http://www.ibm.com/xmlns/prod/streams/api/state}"


class Answered(NamedTuple):
    """The status code, the kind of the body, and the body."""

    status: int
    kind: str
    text: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.text)


class PeClient:
    """A PE: it sends the token of its pod; without one it is anonymous."""

    def __init__(self, session: aiohttp.ClientSession, server: str, token: str) -> None:
        self._session = session
        self._server = server
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def send(self, method: str, path: str, body: Any = None) -> Answered:
        """One request; a body is JSON, as the original sends it."""
        async with self._session.request(
            method,
            self._server + path,
            headers=self._headers,
            data=None if body is None else json.dumps(body),
        ) as answer:
            return Answered(answer.status, answer.content_type, await answer.text())


def address_of(system: System) -> str:
    """Where pe-gateway listens, as its log has it."""
    lines = (system.state / "logs/pe-gateway.log").read_text().splitlines()
    serving = [line for line in map(json.loads, lines) if line.get("event") == "serving"]
    return f"http://127.0.0.1:{serving[-1]['port']}"


async def token_of(cluster: Cluster, pod: dict[str, Any], audience: str = AUDIENCE) -> str:
    """A token of a pod, as its kubelet requests it."""
    meta = pod["metadata"]
    ref = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    spec = {"audiences": [audience], "expirationSeconds": 3600, "boundObjectRef": ref}
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    answer = await cluster.api.call("POST", f"{CORE}/serviceaccounts/default/token", body)
    return str(answer["status"]["token"])


def pod_of(job: JobObjects, pe: int) -> dict[str, Any]:
    """The pod of a PE."""
    pods = job.of("pods").values()
    return next(each for each in pods if each["metadata"]["labels"][labels.PE] == str(pe))


@asynccontextmanager
async def pe_of(cluster: Cluster, job: JobObjects, pe: int) -> AsyncIterator[PeClient]:
    """A PE of a job that runs."""
    token = await token_of(cluster, pod_of(job, pe))
    async with aiohttp.ClientSession() as session:
        yield PeClient(session, address_of(cluster.system), token)


async def test_an_original_pe_starts_connects_and_finds_its_peers(cluster: Cluster) -> None:
    async with cluster.job("talks") as job:
        await with_example(cluster, job, 2)
        job_id = job.status["id"]
        async with pe_of(cluster, job, 1) as pe:
            # The name service of the original: a PE port of a peer.
            found = await pe.send("GET", f"/api/state/job/by-id/{job_id}/name")
            assert found == (200, "text/plain", "talks")
            # Its thread of subscriptions, for a PE without exports and imports.
            board = "/api/subscriptions/job/talks/pe/1"
            assert (await pe.send("GET", board)).status == 404
            # Its thread of connectivity.
            connectivity = "/api/state/job/talks/pe/1/connectivity"
            assert (await pe.send("GET", connectivity)).json == "None"
            assert (await pe.send("PUT", connectivity, "Full")).status == 204
            assert await pe.send("GET", connectivity) == (200, "application/json", '"Full"')
            await job.until("shown", lambda: _connectivity(job, "talks-1") == "Full")
            # A user object of the name service.
            endpoint = "/api/endpoints/job/talks/pe/1/endpoint/web"
            wanted = {"canonicalName": "", "port": 8080, "protocol": "TCP"}
            assert (await pe.send("PUT", endpoint, wanted)).status == 204
            found = await pe.send("GET", "/api/endpoints/job/talks/endpoint/web")
            there = {"canonicalName": "talks-1.talks-pes.default", "port": 8080, "protocol": "TCP"}
            assert found.json == there
            ports = (await pe.send("GET", "/api/endpoints/job/talks/pe/1")).json
            assert ports["usr-web"]["targetPort"] == 8080
            assert {"sys-metrics", "sys-notifications", "sys-0"} <= ports.keys()
            assert (await pe.send("DELETE", endpoint)).status == 204
            assert (await pe.send("DELETE", endpoint)).status == 400
            missing = await pe.send("GET", "/api/endpoints/job/talks/endpoint/web")
            assert missing.status == 404
        assert (
            job.of("services")["talks-pes"]["metadata"]["annotations"]
            .keys()
            .isdisjoint({labels.ENDPOINTS})
        )


def _connectivity(job: JobObjects, pe: str) -> str:
    return str((job.of("pes")[pe].get("status") or {}).get("connectivity"))


async def test_a_pe_resizes_its_region_and_reads_the_state_of_all_jobs(cluster: Cluster) -> None:
    async with cluster.job("wider") as job:
        await with_example(cluster, job, 2)
        async with pe_of(cluster, job, 0) as pe:
            width = f"/api/state/job/wider/pr/{REGION}/width"
            assert await pe.send("GET", width) == (200, "application/json", "2")
            assert (await pe.send("PUT", width, 3)).status == 204
            await until_width(job, 3)
            assert (await pe.send("GET", width)).json == 3
            state = await pe.send("GET", "/api/state")
            assert (state.status, state.kind) == (200, "application/xml")
        root = ElementTree.fromstring(state.text)
        assert (root.tag, root.get("id")) == (f"{STATE}instance", "default")
        (found,) = [each for each in root if each.get("name") == "wider"]
        assert found.get("user") == "streams"
        assert len(found) == 3 + OUTSIDE
        channels = found.iterfind(f".//{STATE}parallelChannel[@logicalName='{REGION}']")
        assert {each.get("index") for each in channels} == {"0", "1", "2"}
        peers = {each.get("inputPeId") for each in found.iterfind(f".//{STATE}connection")}
        assert peers <= {each.get("id") for each in found}
        assert len(peers) > 3


async def test_a_pe_is_believed_about_itself_only(cluster: Cluster) -> None:
    async with cluster.job("mine") as job:
        await with_example(cluster, job, 1)
        first, other = pod_of(job, 0), pod_of(job, 1)
        own, foreign = (f"/api/state/job/mine/pe/{pe}/connectivity" for pe in (0, 1))
        tokens = {
            "": 401,
            "no.such.token": 401,
            await token_of(cluster, first, "elsewhere"): 401,
            await token_of(cluster, other): 403,
            await token_of(cluster, first): 204,
        }
        server = address_of(cluster.system)
        async with aiohttp.ClientSession() as session:
            found = {}
            for token in tokens:
                client = PeClient(session, server, token)
                found[token] = (await client.send("PUT", own, "Full")).status
            assert found == tokens
            pe = PeClient(session, server, await token_of(cluster, first))
            assert (await pe.send("PUT", foreign, "Full")).status == 403
            assert (await pe.send("GET", "/api/state/job/nobody/pe/0/connectivity")).status == 400
            assert (await pe.send("GET", "/api/state/job/mine/pe/99/connectivity")).status == 404
            assert (await pe.send("PUT", own, "Fullish")).status == 400
            assert (await pe.send("POST", own)).status == 405
