"""Restarts PEs by hand: a new value of the annotation `streams.ibm.com/restart`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from cli.connecting import PES
from cli.failing import Failure
from cli.following import Follower, following
from cli.inspecting import JobObjects
from contracts import labels
from contracts.moments import micro_moment_of
from services.chassis.kube.port import Json, KubeClient
from services.chassis.process.errors import Conflict, NotFound, Rejected

CONFLICTS_MAX = 10


async def restart_all(
    kube: KubeClient,
    job: JobObjects,
    pes: Sequence[Json],
    report: Callable[[str], None],
    *,
    wait_s: float | None,
) -> None:
    """Restart PEs one after the other; each has to run before the next (`wait_s` None: at once).

    Raises Failure if a PE is gone, TimedOut if it does not run in time.
    """
    meta = job.job["metadata"]
    async with following(kube, meta["namespace"], meta["name"]) as follower:
        for pe in pes:
            name, pe_id = pe["metadata"]["name"], int(pe["spec"]["id"])
            before = follower.view.pes.get(pe_id) if follower.view else None
            await _request(kube, pe)
            if wait_s is None:
                report(f"{name} is requested to restart")
                continue
            launch = before.launch if before else 0
            took_s = await _until_running(follower, pe_id, name, launch, wait_s)
            report(f"{name} runs again, launch {launch + 1} after {took_s:.1f} s")


async def _request(kube: KubeClient, pe: Json) -> None:
    """Give the annotation a value that it never had. Raises Failure."""
    meta = pe["metadata"]
    body = {"metadata": {"annotations": {labels.RESTART: micro_moment_of(time.time())}}}
    for _ in range(CONFLICTS_MAX):
        version = int(meta["resourceVersion"])
        try:
            await kube.patch(PES, meta["namespace"], meta["name"], body, resource_version=version)
        except Conflict:  # its status was written meanwhile
            meta = (await kube.get(PES, meta["namespace"], meta["name"]))["metadata"]
        except NotFound:
            raise Failure(f"{meta['name']} does not exist any more") from None
        except Rejected as refused:
            raise Failure(f"{meta['name']} cannot be restarted: {refused.message}") from None
        else:
            return
    raise Failure(f"{meta['name']} changes too fast to be patched; try again")


async def _until_running(
    follower: Follower, pe_id: int, name: str, launch: int, wait_s: float
) -> float:
    """Wait until a later launch of the PE runs; the seconds that it took."""
    begun_s = time.monotonic()

    def holds() -> bool:
        pe = follower.view.pes.get(pe_id) if follower.view else None
        return pe is None or (pe.launch > launch and pe.is_running and bool(pe.pod))

    end_s = await follower.until(f"{name} running again", holds, wait_s)
    if follower.view is None or pe_id not in follower.view.pes:
        raise Failure(f"{name} does not exist any more")
    return end_s - begun_s
