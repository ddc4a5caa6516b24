"""Applications of these tests beside the example: regions in a row, and one inside of another.

The first has the shape of the real bundle that the scenarios of open-source IBM Streams use, and is
used where that bundle is not; `test_applications.py` holds that both are planned alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from contracts.bundle_format import pack
from tests.e2e.watching import Cluster, JobObjects, Obj
from tests.places import in_corpus
from tests.unit.planner.adl_writing import Adl

ROW = "row.sab"
NESTED = "nested.sab"
REAL_ROW = "apps.parallel.Parallel.sab"
FIRST, SECOND, THIRD = "Result.Region1", "Result.Region2", "Result.Region3"
REGIONS = (FIRST, SECOND, THIRD)
ENDS = 2
"""Operators outside the regions: the source and the sink."""

OUTER, INNER = "N", "N.f"


def row_of_our_own() -> bytes:
    """Source → Region1 → Region2 → Region3 → Sink, widths `width1` to `width3` (1 by default)."""
    adl = Adl("rows::Row").operator("Source", 0, 1).operator("Sink", 1, 0)
    for number, region in enumerate(REGIONS, 1):
        adl.operator(region).value(f"width{number}", '"1"', composite="rows::Work")
        adl.region(region, f"width{number}")
    for source, target in zip(("Source", *REGIONS), (*REGIONS, "Sink"), strict=True):
        adl.connect(source, target)
    return pack(adl.text().encode())


def row() -> bytes:
    """The real bundle where it is, else ours of the same shape."""
    real = in_corpus(REAL_ROW)
    return real.read_bytes() if real.exists() else row_of_our_own()


def nested() -> bytes:
    """before → a → N (2 channels of g → N.f, which has 2 of its own) → z → after."""
    adl = Adl("nests::Nest").operator("before", 0, 1).operator("a").operator("z")
    adl.operator("after", 1, 0).operator("N.g").operator(INNER).connect("before", "a")
    adl.connect("a", "N.g").connect("N.g", INNER).connect(INNER, "z").connect("z", "after")
    return pack(adl.region(OUTER, 2).region(INNER, 2).text().encode())


def widths(*three: int) -> Obj:
    """The submission-time values that give the regions of the row these widths."""
    return {f"width{number}": str(width) for number, width in enumerate(three, 1)}


async def submit_row(
    cluster: Cluster, job: JobObjects, fusion: Obj, **more: Obj | list[Obj]
) -> None:
    """Create a Job of three regions in a row, with `more` in its spec."""
    (cluster.system.bundles / ROW).write_bytes(row())
    await cluster.submit(job.job, {"bundle": {"name": ROW}, "fusion": fusion, **more})


async def submit_nested(cluster: Cluster, job: JobObjects) -> None:
    """Create a Job of a region in a region, one PE an operator."""
    (cluster.system.bundles / NESTED).write_bytes(nested())
    await cluster.submit(job.job, {"bundle": {"name": NESTED}, "fusion": {"legacy": True}})


def widths_in_force(job: JobObjects) -> Mapping[str, int]:
    """What the status of each region says."""
    return {
        each["spec"]["alias"]: int((each.get("status") or {}).get("width", 0))
        for each in job.of("regions").values()
    }
