"""The example application in a simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.bundle_format import pack
from tests.places import ROOT
from tests.simulation.world import World

OUTSIDE = 4
"""Operators of the example outside its parallel region."""


def put_example(world: World) -> None:
    """Put the example's bundle into the bundle root."""
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    (world.bundles / "wordcount.sab").write_bytes(pack(adl.read_bytes()))


def submit_example(
    world: World, job: str, *, width: int, more: Mapping[str, Any] | None = None, **values: str
) -> None:
    """Put the example's bundle into the bundle root and create a Job with one PE an operator.

    `more` are fields of its spec.
    """
    put_example(world)
    spec = {
        "bundle": {"name": "wordcount.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": str(width), **values},
        **(more or {}),
    }
    world.submit(job, spec)


async def with_example(
    world: World, job: str, *, width: int, more: Mapping[str, Any] | None = None
) -> None:
    """Start every service, submit the example, wait until it runs and nothing is written."""
    world.start()
    submit_example(world, job, width=width, more=more)
    await world.until("running", lambda: world.is_running(job))
    await world.settle()
