"""The embedded log's file is deleted under running services: they go on, together, on a new one."""

from __future__ import annotations

import pytest

from services.roster import NAMES
from tests.e2e.examples import REGION, until_width, with_example
from tests.e2e.killing import running_pids
from tests.e2e.watching import TEST_S_MAX, Cluster

COVERS = ("services/chassis/log/sqlite_*", "contracts/envelope.py")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


@pytest.mark.parametrize("system", ["sandbox"], indirect=True)  # a log in a file is its own
async def test_resizes_come_to_pass_after_the_log_was_deleted_and_no_service_ended(
    cluster: Cluster,
) -> None:
    """Each service says which file it was."""
    log = cluster.system.state / "log.sqlite"
    async with cluster.job("log-deleted") as job:
        await with_example(cluster, job, 3)
        before = {each: running_pids(cluster.system, each) for each in NAMES}
        for part, width in (("", 5), ("-wal", 4)):
            log.with_name(log.name + part).unlink()
            await cluster.resize(job, REGION, width)
            await until_width(job, width)
        assert {each: running_pids(cluster.system, each) for each in NAMES} == before
    for said in (cluster.system.state / "logs").glob("*-*.log"):
        assert f'"file":"{log}"' in said.read_text(), said.name
    async with cluster.stopped("watch-ingest"):
        pass  # its next incarnation says everything: other tests need not wait for that
