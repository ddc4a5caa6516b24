"""A job that goes through every service: its region has two nodes that it wants for itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.following import REGION, WIDTH, Ordeal, ordeal
from tests.e2e.hosted import Hosted
from tests.e2e.placing import members_of, pool_of, until_marked
from tests.e2e.watching import Cluster

BUNDLE = "placed.sab"
POOL = 1


@asynccontextmanager
async def placed_ordeal(cluster: Cluster, name: str) -> AsyncIterator[Ordeal]:
    """The job, running; see `ordeal`."""
    application = Hosted().pool("P", size=2, exclusive=True).operator("Source")
    application.operator(REGION, pool="P").operator("Sink").region(REGION, WIDTH)
    (cluster.system.bundles / BUNDLE).write_bytes(application.bundle())
    spec = {"bundle": {"name": BUNDLE}, "fusion": {"legacy": True}}
    async with ordeal(cluster, name, spec=spec) as job:
        yield job


async def until_marks_are_whole(job: Ordeal) -> None:
    """Wait until the nodes of its pool bear its marks, and no others."""
    for place, node in enumerate(members_of(job.job, POOL)):
        await until_marked(job.cluster.api, node, pool_of(job.job, POOL), place)
