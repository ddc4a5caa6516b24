"""What a bundle may cost, and where it may come from, in a system of its own with narrow limits.

One bundle needs more memory than a planning worker may have, one more CPU time: their Jobs fail,
each by the limit's name, and other Jobs are submitted and resized meanwhile. Bundles come from
servers on this machine, which is allowed by its network, and from no other address of it: one whose
root a ConfigMap has, and one that wants a Secret's token, as GitHub does.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import trustme

from contracts.bundle_format import pack
from loadtest.api import CORE, Api
from services.fusion_backend.adapters.bundles.incoming import INCOMING
from tests.e2e.running import logs_of, up
from tests.e2e.test_bad_input import example_adl
from tests.e2e.watching import TEST_S_MAX, Cluster, Obj, System
from tests.unit.fusion_backend.serving import serving
from tests.unit.planner.adl_writing import Adl
from tests.unit.planner.archive_writing import (
    ADL_PATH,
    INFO,
    TAR,
    Member,
    file,
    info_of,
    tar_of,
    zip_of,
)

COVERS = (
    "services/fusion_backend/adapters/planner.py",
    "services/fusion_backend/adapters/planning_worker.py",
    "services/fusion_backend/adapters/bundles/*",
    "contracts/bundle_limits.py",
    "services/fusion_backend/core/spec/bundle_urls.py",
    "services/fusion_backend/core/spec/addresses.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
MEMORY_BYTES_MAX = 400 * 1024 * 1024
CPU_S_MAX = 2
CHANNELS = 1_000
ELEMENTS = 8_000_000
GOOD = {"bundle": {"name": "good.sab"}, "fusion": {"legacy": True}}


@pytest.fixture(scope="module")
def hub_authority() -> trustme.CA:
    """The root of a GitHub of one's own, which the machines of the cluster trust."""
    return trustme.CA()


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory, hub_authority: trustme.CA) -> Iterator[System]:
    """A system whose workers have little memory and time, and which may fetch from one address."""
    folder = tmp_path_factory.mktemp("narrow")
    settings = {
        "MILLRACE_PLANNER_MEMORY_BYTES_MAX": str(MEMORY_BYTES_MAX),
        "MILLRACE_PLANNER_CPU_S_MAX": str(CPU_S_MAX),
        "MILLRACE_BUNDLE_ALLOWED_NETWORKS": "127.0.0.1",
        "MILLRACE_BUNDLE_CA_FILE": str(folder / "ca.pem"),
    }
    hub_authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    left = folder / "state" / "store" / f"{INCOMING}left"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half a bundle")
    with up(folder, settings=settings) as system:
        assert not left.exists(), "what a killed process was writing is removed at the start"
        (system.bundles / "good.sab").write_bytes(pack(example_adl()))
        yield system
        assert "Traceback" not in logs_of(folder)


@pytest.fixture
async def cluster(narrow: System) -> AsyncIterator[Cluster]:
    """A client of that system."""
    async with Api.of(narrow.kubeconfig) as api:
        yield Cluster(api, narrow)


def of_many_elements() -> bytes:
    """A bundle of 32 MB, not compressed, whose ADL becomes a gigabyte of nodes."""
    adl = example_adl().replace(b"<libraries", b"<x>" + b"<y/>" * ELEMENTS + b"</x><libraries", 1)
    tar = tar_of(file(ADL_PATH, adl))
    return zip_of([Member(INFO, info_of(tar)), Member(TAR, tar, method=0)])


def of_many_connections() -> bytes:
    """A bundle of some KB, whose million of connections takes many seconds to plan."""
    adl = Adl().chain("a", "f", "g", "z").region("f", CHANNELS).region("g", CHANNELS)
    return pack(adl.text().encode())


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (of_many_elements, "more than 400 MiB of memory"),
        (of_many_connections, f"more than {CPU_S_MAX} s of CPU time"),
    ],
)
async def test_a_bundle_that_needs_more_than_a_worker_may_use_fails_its_job_alone(
    cluster: Cluster, make: Callable[[], bytes], told: str
) -> None:
    (cluster.system.bundles / "heavy.sab").write_bytes(make())
    heavy = {"bundle": {"name": "heavy.sab"}, "fusion": {"legacy": True}}
    async with cluster.job("heavy") as job, cluster.job("light") as other:
        await cluster.submit("heavy", heavy)
        await cluster.submit("light", GOOD)
        await other.until("light runs", other.all_running)
        await cluster.resize(other, "Counted", 3)
        await other.until("resized", lambda: other.width_in_force("Counted") == 3)
        await job.until("heavy fails", lambda: job.phase == "Failed")
        assert job.status["reason"] == "PlanningLimitExceeded"
        assert told in job.status["message"]
        assert "spec.bundle.name: heavy.sab" in job.status["message"]
        assert other.phase == "Submitted"


async def test_a_bundle_comes_from_a_server_that_is_allowed_and_from_no_other(
    cluster: Cluster,
) -> None:
    async with serving() as server, cluster.job("fetched") as job, cluster.job("kept-out") as other:
        server.at("/good.sab", pack(example_adl()))
        near = f"http://127.0.0.1:{server.port}/good.sab?key=hidden"
        await cluster.submit("fetched", {**GOOD, "bundle": {"name": "g", "http": {"url": near}}})
        await job.until("fetched runs", job.all_running)
        beside = near.replace("127.0.0.1", "127.0.0.2")
        await cluster.submit("kept-out", {**GOOD, "bundle": {"name": "g", "url": beside}})
        await other.until("kept out", lambda: other.phase == "Failed")
        assert other.status["reason"] == "AddressRefused"
        assert "127.0.0.2, which is loopback" in other.status["message"]
        assert "hidden" not in other.status["message"]
        assert len(server.requests) == 1


def tls_of(authority: trustme.CA) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate for this machine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def create(cluster: Cluster, plural: str, body: Obj) -> None:
    await cluster.api.call("POST", f"{CORE}/{plural}", {"apiVersion": "v1", **body})


@pytest.mark.parametrize("source", ["http", "github"])
async def test_a_server_is_held_against_the_root_of_a_config_map(
    cluster: Cluster, source: str
) -> None:
    """Without it nobody trusts the server; with it a job comes from there, as soon as it exists."""
    authority = trustme.CA()
    async with (
        serving(tls_of(authority)) as server,
        cluster.job("with-root") as job,
        cluster.job("without-root") as other,
    ):
        server.at("/good.sab", pack(example_adl()))
        url = f"https://127.0.0.1:{server.port}/good.sab"
        bare = {"name": "g", source: {"url": url}}
        await cluster.submit("without-root", {**GOOD, "bundle": bare})
        await other.until("not trusted", lambda: other.phase == "Failed")
        assert other.status["reason"] == "BundleUntrusted"
        assert f"spec.bundle.{source}.certificationAuthority" in other.status["message"]
        by_root = {"configMapName": f"{source}-roots", "subPath": "root.pem"}
        bundle = {"name": "g", source: {"url": url, "certificationAuthority": by_root}}
        await cluster.submit("with-root", {**GOOD, "bundle": bundle})
        pem = authority.cert_pem.bytes().decode()
        body = {"kind": "ConfigMap", "metadata": {"name": f"{source}-roots"}}
        body |= {"data": {"root.pem": pem}}
        await create(cluster, "configmaps", body)
        await job.until("running", job.all_running)


async def test_a_hub_is_sent_the_token_of_a_secret_and_nobody_else_sees_it(
    cluster: Cluster, hub_authority: trustme.CA
) -> None:
    """A resize needs neither: what was planned is kept."""
    token = "hub-t0ken"
    path = "/api/v3/repos/u/r/contents/good.sab"
    async with serving(tls_of(hub_authority)) as server, cluster.job("hub") as job:
        server.at(path, pack(example_adl()))
        encoded = base64.b64encode(token.encode()).decode()
        body = {"kind": "Secret", "metadata": {"name": "hub"}, "data": {"token": encoded}}
        await create(cluster, "secrets", body)
        github = {"url": f"https://127.0.0.1:{server.port}{path}", "secret": "hub"}
        await cluster.submit("hub", {**GOOD, "bundle": {"name": "g", "github": github}})
        await job.until("running", job.all_running)
        await cluster.resize(job, "Counted", 4)
        await job.until("resized", lambda: job.width_in_force("Counted") == 4)
        (request,) = server.requests
        assert request.headers["Authorization"] == f"token {token}"
        assert token not in f"{job.status}{job.of('config_maps')}{await cluster.events('hub')}"
        assert token not in logs_of(cluster.system.state.parent)
