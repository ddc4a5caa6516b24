"""What a running `millrace up` keeps and serves is for its owner, and for this machine."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from cli.kubeconfigs import up_of
from services.roster import NAMES
from tests.e2e.examples import with_example
from tests.e2e.watching import TEST_S_MAX, Cluster, System
from tests.listening import answers
from tests.private import open_to_others

COVERS = (
    "cli/private.py",
    "cli/folders.py",
    "services/chassis/process/metrics.py",
    "cli/kubeconfigs.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]

KEPT = {f"logs/{name}.log" for name in NAMES} | {"control", "pid"}
KEPT_ON_THE_SANDBOX = {"admin.kubeconfig", "log.sqlite", "log.sqlite-wal", "log.sqlite-shm"}
ANOTHER = "127.0.0.2"


async def test_nobody_else_reads_what_is_under_state(cluster: Cluster) -> None:
    """Logs, the event log, stored bundles, credentials and the socket; a job has come and gone."""
    async with cluster.job("private") as job:
        await with_example(cluster, job, 3)
    state = cluster.system.state
    kept = {str(path.relative_to(state)) for path in state.rglob("*")}
    assert kept >= (KEPT | KEPT_ON_THE_SANDBOX if "sqlite" in cluster.system.bus else KEPT)
    assert any(each.startswith("store/") for each in kept)
    assert open_to_others(state) == []
    assert stat.S_IMODE(cluster.system.kubeconfig.stat().st_mode) == 0o600
    up = up_of(cluster.system.kubeconfig)
    assert up is not None
    assert (up.bundle_root, up.state) == (cluster.system.bundles, state)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc, and loopback beyond 127.0.0.1")
async def test_metrics_are_served_on_loopback_only(system: System) -> None:
    """Each service answers on 127.0.0.1, and on no other address of this machine."""
    ports = sorted(filter(None, map(metrics_port, children_of(system.process.pid))))
    assert len(ports) == len(NAMES)
    assert [await answers("127.0.0.1", port) for port in ports] == [True] * len(ports)
    assert [await answers(ANOTHER, port) for port in ports] == [False] * len(ports)


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def metrics_port(pid: int) -> int:
    """The port that a process was given; 0 for the sandbox, which has none."""
    settings = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    named = dict(each.partition(b"=")[::2] for each in settings)
    return int(named.get(b"MILLRACE_METRICS_PORT", b"0"))
