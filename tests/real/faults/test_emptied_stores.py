"""Kafka loses everything, or etcd does: the one is rebuilt, the other is another cluster."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

import pytest

from cli.showing import Screen
from cli.topics import TopicsOptions, apply_topics
from contracts import labels
from loadtest.api import CORE, STREAMS
from tests.e2e.following import (
    CHILDREN,
    CONVERGED_S_MAX,
    WIDER,
    WIDTH,
    ordeal,
    spec_of,
)
from tests.e2e.watching import Cluster, JobObjects, Obj
from tests.real.faults.processes import resyncs, tracebacks, until_ready, until_resynced
from tools.real.accounts import service_accounts
from tools.real.pair import Pair, empty_part, start_part, stop_part
from tools.real.parts import API_SERVER, ETCD, FOLLOWERS, broker_names
from tools.real.preparing import furnish

COVERS = (
    "services/chassis/table/epochs.py",
    "services/watch_ingest/adapters/log_state.py",
    "services/watch_ingest/adapters/fencing.py",
    "services/chassis/log/kafka_offsets.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e]
NODES = 4
STRANGER: Obj = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "gone.plan.0", "labels": {labels.JOB: "gone", labels.PLAN: "0"}},
}
"""In the other cluster somebody has what looks like a child of a job of the old one."""


def versions(job: JobObjects) -> Mapping[tuple[str, str], str]:
    """Which version each object of a job has: whatever is written gets another."""
    return {
        (kind, name): each["metadata"]["resourceVersion"]
        for kind in CHILDREN
        for name, each in job.of(kind).items()
    }


async def test_an_emptied_kafka_restarts_nothing_and_loses_no_resize(
    cluster: Cluster, pair: Pair
) -> None:
    """The topics are made again by a person; the services find that out by themselves.

    Whoever finds a topic missing says so and ends; `millrace up` starts it again, as a kubelet
    does, until there are topics.
    """
    async with ordeal(cluster, "kept") as job:
        pes = len(job.job.of("pes"))
        await job.settle()
        before, heard = versions(job.job), await resyncs(cluster.system)
        writes = await cluster.api.writes()
        await _empty_kafka(pair, cluster.system.prefix)
        job.mark_fault_over()
        await until_ready(cluster.system)
        await until_resynced(cluster.system, heard)
        job.say("Kafka emptied: everything said again")
        assert await cluster.api.writes() == writes
        assert versions(job.job) == before
        job.check_launches()
        await job.resize(WIDER)
        await job.converge("a resize after Kafka was emptied", WIDER, pes + WIDER - WIDTH)
        assert not tracebacks(cluster.system)


async def _empty_kafka(pair: Pair, prefix: str) -> None:
    assert pair.folder is not None
    plan = pair.folder.plan()
    assert plan is not None
    for name in broker_names(plan):
        await stop_part(pair, name)
    for name in broker_names(plan):
        await empty_part(pair, name)
    for name in broker_names(plan):
        await start_part(pair, name)
    await apply_topics(TopicsOptions(pair.bootstrap_servers, prefix), Screen(quiet=True))


async def test_an_emptied_etcd_is_another_cluster_where_nothing_of_the_old_one_acts(
    cluster: Cluster, pair: Pair
) -> None:
    """Two jobs ran. One of that name is submitted again, smaller; the other never comes back.

    The services run on meanwhile. Their accounts are made again, and tokens are put where the
    services read them.
    """
    async with ordeal(cluster, "again") as old, JobObjects(cluster.api, "gone").followed() as gone:
        await cluster.submit("gone", spec_of(1))
        await gone.until("running", gone.all_running, CONVERGED_S_MAX)
        await old.settle()
        uids, pes = (old.job.uid, gone.uid), len(old.job.of("pes"))
        await _empty_etcd(pair)
        await _furnish(cluster, pair)
        stranger = await cluster.api.call("POST", f"{CORE}/configmaps", STRANGER)
        old.mark_fault_over()
        new = await old.again(width=WIDTH - 2)
        await new.resize(WIDER)
        await new.converge("a resize in the other cluster", WIDER, pes + WIDER - WIDTH)
        await until_ready(cluster.system)
        for uid in uids:
            assert not await _objects_of(cluster, uid), "something of the old cluster came back"
        path = f"{CORE}/configmaps/{STRANGER['metadata']['name']}"
        assert await cluster.api.call("GET", path) == stranger
        await cluster.api.call("DELETE", path)
        assert not tracebacks(cluster.system)


async def _empty_etcd(pair: Pair) -> None:
    parts = (*FOLLOWERS, API_SERVER, ETCD)
    for name in parts:
        await stop_part(pair, name)
    await empty_part(pair, ETCD)
    for name in reversed(parts):
        await start_part(pair, name)


async def _furnish(cluster: Cluster, pair: Pair) -> None:
    """What whoever sets up a cluster does: definitions, nodes, accounts, tokens."""
    await furnish(pair.kubeconfig, nodes=NODES)
    folder = cluster.system.state / "accounts"
    async with service_accounts(pair.kubeconfig, folder, lambda _line: None):
        pass


async def _objects_of(cluster: Cluster, job_uid: str) -> list[str]:
    """Every object that is labelled with the uid of a Job."""
    paths = [f"{CORE}/{each}" for each in ("pods", "configmaps", "services")]
    paths += [f"{STREAMS}/{each}" for each in ("streamspes", "streamsprs", "streamshostpools")]
    found = []
    for path in paths:
        listing = await cluster.api.call(
            "GET", f"{path}?labelSelector={quote(f'{labels.JOB_UID}={job_uid}')}"
        )
        found += [f"{path}/{item['metadata']['name']}" for item in listing["items"]]
    return found
