"""The embedded log's file is deleted under running services: they go on, together, on a new one."""

from __future__ import annotations

import pytest

from cli.running import SERVICES
from tests.e2e.examples import REGION, until_width, with_example
from tests.e2e.killing import running_pids
from tests.e2e.watching import TEST_S_MAX, Cluster

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


@pytest.mark.parametrize("part", ["", "-wal"])
async def test_a_resize_comes_to_pass_after_the_log_was_deleted_and_no_service_ended(
    cluster: Cluster, part: str
) -> None:
    """Each service says which file it was."""
    if not cluster.system.bus.startswith("sqlite:"):
        pytest.skip("a log in a file is the sandbox's")
    async with cluster.job(f"log-deleted{part or '-whole'}") as job:
        await with_example(cluster, job, 3)
        before = {each: running_pids(cluster.system, each) for each in SERVICES}
        (cluster.system.state / f"log.sqlite{part}").unlink()
        await cluster.resize(job, REGION, 5)
        await until_width(job, 5)
        assert {each: running_pids(cluster.system, each) for each in SERVICES} == before
    for log in (cluster.system.state / "logs").glob("*.log"):
        if log.stem != "sandbox":
            text = log.read_text()
            assert "log_file_replaced" in text, log.name
            assert f"{cluster.system.state}/log.sqlite" in text
