"""The example application as a job: one PE an operator, one parallel region."""

from __future__ import annotations

from contracts.bundle_format import pack
from tests.e2e.watching import Cluster, JobObjects, Obj
from tests.places import ROOT

BUNDLE = "wordcount.sab"
REGION = "Counted"
OUTSIDE = 4
"""Operators outside the region."""

NO_NEIGHBOURS = (0, 4)
"""PEs (numbers) that no width of the region says anything to."""

RESTARTED: Obj = {"restartDeletedPod": True}
"""For `processingElement` in a spec: a pod that somebody deletes is launched again."""


def example_bundle() -> bytes:
    """The example, packed."""
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    return pack(adl.read_bytes())


async def submit_example(cluster: Cluster, job: JobObjects, width: int, **more: Obj) -> None:
    """Create the Job, with `more` in its spec; its bundle is in the bundle root afterwards."""
    bundle = cluster.system.bundles / BUNDLE
    if not bundle.exists():  # a service may be reading it for another Job
        bundle.write_bytes(example_bundle())
    spec = {
        "bundle": {"name": BUNDLE},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": str(width)},
        **more,
    }
    await cluster.submit(job.job, spec)


async def with_example(cluster: Cluster, job: JobObjects, width: int, **more: Obj) -> None:
    """Create the Job and wait until it runs and everything about it is written."""
    await submit_example(cluster, job, width, **more)
    await until_width(job, width)


async def until_width(job: JobObjects, width: int) -> None:
    """Wait until a width is in force, one pod a PE runs, and everything about it is written."""
    await job.until(
        f"width {width}",
        lambda: (
            job.width_in_force(REGION) == width
            and len(job.of("pes")) == width + OUTSIDE
            and job.is_settled()
        ),
    )
