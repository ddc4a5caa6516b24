"""What is played for the recordings that are kept: one small function each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from services.roster import NAMES
from tests.e2e import nodes
from tests.e2e.hosted import Hosted
from tests.e2e.killing import end as kill_all
from tests.e2e.killing import running_pids
from tests.e2e.nodes import OUT_OF_SERVICE, nodes_of, wanted_by
from tests.e2e.placing import (
    Traits,
    joining,
    pool_of,
    until_free,
    until_marked,
    until_members,
    until_refused,
)
from tests.e2e.placing import ground as ground_of
from tests.e2e.test_killing import launched, planned
from tests.e2e.test_restarts import condition_of, end, pods_of, status_of, until_runs
from tests.e2e.watching import WAIT_S, Cluster, JobObjects
from tests.histories.releases import Bug
from tests.histories.staging import Stage, until_width
from tests.histories.upgrading import Upgrade
from tests.patience import patient

BEHAVIOR = "sandbox.millrace.dev/behavior"
THROWN_OUT = "e2e.millrace.dev/thrown-out"
TAG, RARE = "fast", "rare"
WIDTH_MAX = 4
"""As the setting of fusion-backend has it in the scenario of a width that is refused."""


async def submission(stage: Stage) -> None:
    """A job becomes submitted and runs."""
    await stage.run(await stage.job(), 1)


async def deleted_in_submission(stage: Stage) -> None:
    """Somebody deletes the job as soon as one of its PEs exists, and submits it again."""
    job = await stage.job()
    await stage.submit(job, 2)
    await job.until("a PE", lambda: bool(job.of("pes")))
    await stage.cluster.delete(job)
    await stage.run(job, 1)


async def storm(stage: Stage) -> None:
    """Four jobs are submitted at once, and each is resized three times without a pause."""
    jobs = [await stage.job(name) for name in ("east", "north", "south", "west")]
    await asyncio.gather(*(stage.submit(job, 1) for job in jobs))
    for job in jobs:
        await job.until("a region", lambda job=job: bool(job.of("regions")))  # type: ignore[misc]
    for width in (2, 3, 1):
        await asyncio.gather(*(stage.resize(job, width) for job in jobs))
    for job in jobs:
        await until_width(job, 1)


async def width_refused(stage: Stage) -> None:
    """A width that no region may have, then one that it may have."""
    job = await stage.job()
    await stage.run(job, 1)
    await stage.resize(job, WIDTH_MAX + 1)
    await job.until("refused", lambda: _reason_of_region(job) == "WidthRefused")
    await stage.resize(job, 2)
    await until_width(job, 2)


def _reason_of_region(job: JobObjects) -> str:
    (region,) = job.of("regions").values()
    return str((region.get("status") or {}).get("reason", ""))


async def restarts_exhausted(stage: Stage) -> None:
    """A PE crashes until it is not restarted any more; its pods end by themselves."""
    job = await stage.job()
    marks = {"metadata": {"annotations": {BEHAVIOR: "fail"}}}
    await stage.submit(job, 1, processingElement={"maxRestartsInARow": 1, "podTemplate": marks})
    await job.until(
        "exhausted",
        lambda: condition_of(job, "shop-0", "RestartsExhausted").get("status") == "True",
    )


async def pods_end(stage: Stage) -> None:
    """A pod fails and is launched again; somebody deletes another, which is not."""
    job = await stage.job()
    await stage.run(job, 2)
    await end(stage.cluster, pods_of(job, "shop-0")[1], "Failed")
    await until_runs(job, "shop-0", 2)
    name = pods_of(job, "shop-1")[1]["metadata"]["name"]
    await stage.cluster.api.call("DELETE", f"/api/v1/namespaces/default/pods/{name}")
    await job.until("stopped", lambda: status_of(job, "shop-1")["phase"] == "Stopped")


# --------------------------------------------------------------------------- nodes


async def node_drained(stage: Stage) -> None:
    """A node is drained as kubectl does it; its PEs run on the other one."""
    job, node = await _on_two_nodes(stage)
    there = {pe for pe, name in nodes_of(job).items() if name == node}
    await nodes.drain(stage.cluster, node, "", stage.scratch())
    await _until_elsewhere(job, node, there)


async def node_lost(stage: Stage) -> None:
    """A node falls silent, its pods do not end, and somebody says that it is out of service."""
    job, node = await _on_two_nodes(stage)
    there = {pe for pe, name in nodes_of(job).items() if name == node}
    api = stage.cluster.api
    await nodes.tell(api, job, node, "hang")
    await nodes.silence(api, node)
    await nodes.taint(api, node, THROWN_OUT, "NoExecute")
    await job.until("stuck", lambda: all(_is_stuck(job, pe) for pe in there))
    await nodes.taint(api, node, OUT_OF_SERVICE, "NoExecute")
    await _until_elsewhere(job, node, there)


async def _on_two_nodes(stage: Stage) -> tuple[JobObjects, str]:
    """A job that runs on two nodes of its own, and one of them."""
    owner = "histories"
    await stage.open_ones.enter_async_context(nodes.own_nodes(stage.cluster.api, owner, 2))
    job = await stage.job()
    template = {"podTemplate": wanted_by(owner), "nodeLossTimeOutInSeconds": 3}
    await stage.run(job, 1, processingElement=template)
    return job, nodes_of(job)["shop-0"]


def _is_stuck(job: JobObjects, pe: str) -> bool:
    return condition_of(job, pe, "StuckTerminating").get("status") == "True"


async def _until_elsewhere(job: JobObjects, node: str, pes: set[str]) -> None:
    def is_elsewhere() -> bool:
        places = nodes_of(job)
        return job.is_settled() and all(places[pe] != node for pe in pes)

    await job.until("elsewhere", is_elsewhere)


# --------------------------------------------------------------------------- placement


async def placement_refused(stage: Stage) -> None:
    """An operator asks for a host that the cluster does not have."""
    there = await stage.open_ones.enter_async_context(ground_of(stage.cluster, "histories"))
    job = await stage.job()
    application = Hosted().operator("a", host="nowhere.invalid")
    await there.submit(job, application)
    await until_refused(job)


async def pool_of_nodes(stage: Stage) -> None:
    """A shared pool takes a node that joins and gives it up; an exclusive one ends with its job."""
    there = await stage.open_ones.enter_async_context(
        ground_of(stage.cluster, "histories", Traits((TAG,)), Traits((RARE,)))
    )
    job = await stage.job()
    application = Hosted().pool("Shared", tags=[TAG]).operator("a", pool="Shared")
    application.pool("Held", tags=[RARE], size=1, exclusive=True).operator("b", pool="Held")
    await there.run(job, application)
    first, held = there.nodes
    await until_marked(stage.cluster.api, held, pool_of(job, 2), 0)
    async with joining(there, Traits((TAG,))) as joined:
        await until_members(job, 1, [first, joined])
    await until_members(job, 1, [first])
    await stage.cluster.delete(job)
    await until_free(stage.cluster.api, held)


# --------------------------------------------------------------------------- kills


Resize = Callable[[JobObjects, int], Awaitable[None]]
MIDDLES: Final = (
    ("fusion-backend", planned, 0.2),
    ("pod-state-machine", launched, 0.2),
    ("watch-ingest", launched, 0.4),
)
"""When a service is killed: so much of the PEs is planned, or launched."""


async def resize_with_kills(stage: Stage) -> None:
    """Three services are killed in the middle of a resize."""
    job = await stage.job()
    await stage.run(job, 1)
    await resized_with_kills(stage.cluster, job, stage.resize, 5, 5)
    await until_width(job, 5)


async def resized_with_kills(
    cluster: Cluster, job: JobObjects, resize: Resize, width: int, pes: int
) -> None:
    """Resize, and kill three services, each when a part of the PEs is so far."""
    generation = int(job.status["generation"]) + 1
    pids = {service: running_pids(cluster.system, service) for service, _, _ in MIDDLES}
    await resize(job, width)
    for service, done, part in MIDDLES:
        await job.until(
            f"the middle for {service}",
            lambda done=done, part=part: done(job, generation) >= pes * part,  # type: ignore[misc]
            WAIT_S + patient(pes),
        )
        kill_all(pids[service])


# --------------------------------------------------------------------------- another release, a bug


async def rolling_upgrade(stage: Stage) -> None:
    """A job is resized while one service after the other is replaced by the next release."""
    assert stage.spare is not None
    upgrade = Upgrade(stage.cluster.system, stage.spare)
    await stage.open_ones.enter_async_context(upgrade.ended_with_block())
    job = await stage.job()
    await stage.run(job, 1)
    for number, service in enumerate(NAMES):
        await upgrade.start(service)
        await stage.resize(job, 2 - number % 2)
        await until_width(job, 2 - number % 2)
        await upgrade.stop_old(service)
    await stage.resize(job, 3)
    await until_width(job, 3)


BUG = Bug(
    "a pod that failed is launched again at once, without back-off",
    "services/launching/core/rules.py",
    "RULES",
    "lambda at: at.restart is not None and at.now >= at.restart_due_at",
    "lambda at: at.restart is not None",
)
WRONG_RULE = "RESTART_DUE"
"""The rule that decides with the bug."""


async def planted_bug(stage: Stage) -> None:
    """A pod fails, and is launched again."""
    job = await stage.job()
    await stage.run(job, 1)
    await end(stage.cluster, pods_of(job, "shop-0")[1], "Failed")
    await until_runs(job, "shop-0", 2)
    await job.until("settled", job.is_settled)


# --------------------------------------------------------------------------- a release


async def tour(stage: Stage) -> None:
    """What every release does: a job with a pool runs, is resized, loses pods, and is deleted."""
    there = await stage.open_ones.enter_async_context(
        ground_of(stage.cluster, "histories", Traits((TAG,)))
    )
    job = await stage.job()
    application = Hosted().pool("P", tags=[TAG]).operator("a", pool="P").region("a", 1)
    await there.run(job, application)
    await stage.cluster.resize(job, "a", 2)
    await job.until("wider", lambda: len(job.of("pes")) == 2 and job.is_settled())
    await end(stage.cluster, pods_of(job, "shop-1")[1], "Failed")
    await until_runs(job, "shop-1", 2)
    await stage.cluster.delete(job)
