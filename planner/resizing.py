"""What a resize may not change: the channels of a consistent region.

Its operators drain, checkpoint and reset together, and a checkpoint is of as many channels as there
were; its states are not divided again. The specification demands to refuse such a width, or to
drain first, and there is nobody yet who drains.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.reasons import Reason
from planner.application.model import (
    Annotation,
    Application,
    Composite,
    Primitive,
    Region,
)
from planner.graph.consistent import ENTRY
from planner.refusals import PlanRefused, counted, shown
from planner.requesting import PlanRequest


def refuse_resized_consistency(request: PlanRequest) -> None:
    """Refuses CONSISTENT_REGION for another width of a region with operators of a consistent one.

    Widths that are in force are those of the previous record; a first plan may have any.
    """
    before = request.resized
    if before is None:
        return
    for region in request.application.regions:
        in_force = before.widths.get(region.name)
        width = request.widths.get(region.name, in_force)
        if in_force is None or width == in_force:
            continue
        member = next(_members(request.application, region), None)
        if member is not None:
            raise _refusal(region, member, width, in_force)


def _refusal(region: Region, member: Primitive, width: object, in_force: int) -> PlanRefused:
    field = f"ParallelRegion {shown(region.name)} spec.width"
    channels = counted(in_force, "channel")
    return PlanRefused(
        Reason.CONSISTENT_REGION,
        field=field,
        value=width,
        message=f"{field} is {width}, and {channels} must stay: the operator"
        f" '{shown(member.name)}' is in a consistent region; submit the job again to change it",
    )


def _members(application: Application, region: Region) -> Iterator[Primitive]:
    """Operators that the region replicates and that are in a consistent region."""
    everything = list(_primitives(application.main, region.root))
    started = {
        entry.get("index")
        for each, _ in everything
        for entry in _entries(each)
        if (entry.get("isStartOfRegion") or "").strip() == "true"
    }
    for each, is_replicated in everything:
        if is_replicated and any(entry.get("index") in started for entry in _entries(each)):
            yield each


def _primitives(
    composite: Composite, root: int, *, is_inside: bool = False
) -> Iterator[tuple[Primitive, bool]]:
    """Every operator of a composite, and whether it is at or below the root of a region."""
    is_inside = is_inside or composite.index == root
    for member in composite.members:
        if isinstance(member, Primitive):
            yield member, is_inside or member.index == root
    for inner in composite.composites:
        yield from _primitives(inner, root, is_inside=is_inside)


def _entries(operator: Primitive) -> Iterator[Annotation]:
    return (each for each in operator.annotations if each.tag == ENTRY)
