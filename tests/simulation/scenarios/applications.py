"""Small applications: the smallest that have what a scenario is about."""

from __future__ import annotations

from typing import Any

from contracts.bundle_format import pack
from tests.simulation.faulted_world import FaultedWorld
from tests.unit.planner.adl_writing import Adl

BUNDLE = "small.sab"
WORK = "Work"
Spec = dict[str, Any]


def one_region() -> Adl:
    """Source → Work (as wide as the value w says) → Sink."""
    return Adl().value("w", "1").chain("Source", WORK, "Sink").region(WORK, "w")


def two_regions() -> Adl:
    """Source → A → Between → B → Sink, with A and B as wide as the values a and b."""
    chain = Adl().value("a", "1").value("b", "1").chain("Source", "A", "Between", "B", "Sink")
    return chain.region("A", "a").region("B", "b")


def nested_regions() -> Adl:
    """Source → a region Outer, which holds First and the region Outer.Inner → Sink."""
    paths = ("Source", "Outer.First", "Outer.Inner", "Sink")
    adl = Adl().value("o", "1").value("i", "1").chain(*paths)
    return adl.region("Outer", "o").region("Outer.Inner", "i")


def provide(world: FaultedWorld, adl: Adl, bundle: str = BUNDLE) -> None:
    """Put an application into the bundle root."""
    (world.bundles / bundle).write_bytes(pack(adl.text().encode()))


def spec_of(*, bundle: str = BUNDLE, fusion: Spec | None = None, **more: Any) -> Spec:
    """A Job's spec: one PE an operator unless `fusion` says otherwise."""
    return {"bundle": {"name": bundle}, "fusion": fusion or {"legacy": True}, **more}


def values(**widths: int) -> dict[str, Any]:
    """Submission-time values, as part of a spec."""
    return {"submissionTimeValues": {name: str(width) for name, width in widths.items()}}


ONE_PE: Spec = {"manual": 1}
