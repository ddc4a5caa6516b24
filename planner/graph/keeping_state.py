"""State that cannot follow a changed width: its loss is refused, unless the application allows it.

An operator says so in the annotation `millraceState`, which millrace's own ADLs have. In a region
whose width is a submission-time value such state is refused at once, in one whose width the
application gives, when another width is requested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from contracts.reasons import Reason
from planner.application import model
from planner.graph.topology import Operator
from planner.refusals import PlanRefused, shown

STATE: Final = "millraceState"


def refuse_lost_state(
    operators: Iterable[Operator],
    regions: Iterable[model.Region],
    widths: Mapping[int, int],
    before: Mapping[int, int] | None,
) -> None:
    """Raise PlanRefused for the first operator whose state a changed width would take away.

    `widths` are those of the plan by region index, `before` those of the last one, None without.
    """
    changing = {
        region.index: region
        for region in regions
        if region.width_value is not None
        or (before is not None and before.get(region.index) != widths[region.index])
    }
    if not changing:
        return
    for operator in operators:
        region = next(
            (changing[at.region] for at in operator.levels if at.region in changing), None
        )
        if region is not None and _stays_behind(operator.item):
            raise _refusal(operator, region, before is None)


def _stays_behind(item: model.Primitive) -> bool:
    """Whether the state of an operator cannot follow a width, and is not to be discarded."""
    return any(
        each.tag == STATE
        and each.get("followsWidth") == "false"
        and each.get("atResize") == "refuse"
        for each in item.annotations
    )


def _refusal(operator: Operator, region: model.Region, is_first: bool) -> PlanRefused:
    name, alias = shown(operator.logical_name), shown(region.name)
    why = (
        "the width of that is a submission-time value, so that it may change"
        if is_first
        else "the width of that changes"
    )
    return PlanRefused(
        Reason.STATE_CANNOT_FOLLOW,
        field=f"operator {name}",
        value=region.name,
        message=(
            f"operator {name} has state that cannot follow a changed width of region {alias}, and"
            f" {why}: split the region by attributes of the operator's key, let its state be"
            ' discarded (at_resize="discard"), or give the region a constant width'
        ),
    )
