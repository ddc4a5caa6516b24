"""What a bundle may cost, and where it may come from, in a system of its own with narrow limits.

One bundle needs more memory than a planning worker may have: its Job fails, and another Job is
submitted and resized meanwhile. Bundles come from a server on this machine, which is
allowed by its network, and from no other address of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from contracts.bundle_format import pack
from loadtest.api import Api
from tests.e2e.running import logs_of, up
from tests.e2e.test_bad_input import example_adl
from tests.e2e.watching import TEST_S_MAX, Cluster, System
from tests.unit.fusion_backend.lifecycle.serving import serving
from tests.unit.fusion_backend.planner.archive_writing import (
    ADL_PATH,
    INFO,
    TAR,
    Member,
    file,
    info_of,
    tar_of,
    zip_of,
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
MEMORY_BYTES_MAX = 400 * 1024 * 1024
ELEMENTS = 8_000_000
GOOD = {"bundle": {"name": "good.sab"}, "fusion": {"legacy": True}}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system whose workers have little memory, and which may fetch from one address."""
    folder = tmp_path_factory.mktemp("narrow")
    settings = {
        "MILLRACE_PLANNER_MEMORY_BYTES_MAX": str(MEMORY_BYTES_MAX),
        "MILLRACE_BUNDLE_ALLOWED_NETWORKS": "127.0.0.1",
    }
    with up(folder, settings=settings) as system:
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


async def test_a_bundle_that_needs_too_much_memory_fails_its_job_alone(
    cluster: Cluster,
) -> None:
    (cluster.system.bundles / "heavy.sab").write_bytes(of_many_elements())
    heavy = {"bundle": {"name": "heavy.sab"}}
    async with cluster.job("heavy") as job, cluster.job("light") as other:
        await cluster.submit("heavy", heavy)
        await cluster.submit("light", GOOD)
        await other.until("light runs", other.all_running)
        await cluster.resize(other, "Counted", 3)
        await other.until("resized", lambda: other.width_in_force("Counted") == 3)
        await job.until("heavy fails", lambda: job.phase == "Failed")
        assert job.status["reason"] == "BundleTooLarge"
        assert "more memory than" in job.status["message"]
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
