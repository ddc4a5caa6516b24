"""State that cannot follow a changed width: its loss is refused, unless the application allows it.

An operator says so in the annotation `millraceState`, which millrace's own ADLs have. In a region
whose width is a submission-time value such state is refused at once, in one whose width the
application gives, when another width is requested.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

from contracts.reasons import Reason
from planner.application import model
from planner.graph.topology import Operator
from planner.refusals import PlanRefused, shown

STATE: Final = "millraceState"
NAMED_MAX: Final = 10
STORE_FIELD: Final = "spec.processingElement.checkpointRepository"


class Store(StrEnum):
    """Where a job keeps the state of its operators, as far as a plan depends on it."""

    NONE = "none"
    OF_NODE = "a path of each node"
    SHARED = "shared"
    OF_IMAGE = "as an image that is not of millrace does"


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


def refuse_unshared_store(operators: Collection[Operator], store: Store) -> None:
    """Raise PlanRefused where state is kept on the node of a PE, and PEs may be on another one."""
    if store is not Store.OF_NODE or not (stateful := _stateful(operators)):
        return
    hosts = {operator.constraints.host for operator in operators}
    if len(hosts) == 1 and None not in hosts:
        return
    raise PlanRefused(
        Reason.STORE_NOT_SHARED,
        field=STORE_FIELD,
        value=store.value,
        message=(
            f"{STORE_FIELD}: a path of a node is not found from another one, and {stateful} have"
            " state: name a volumeClaim that every node mounts (ReadWriteMany) or redis, or let all"
            " operators ask for the same host"
        ),
    )


def state_warning(operators: Iterable[Operator], store: Store) -> str:
    """What a job without a store loses in a resize or a restart; empty if nothing."""
    stateful = _stateful(operators) if store is Store.NONE else ""
    if not stateful:
        return ""
    return (
        f"{Reason.STATE_NOT_KEPT.value}: without {STORE_FIELD} the state of {stateful} is lost when"
        " its PE is launched again, as in a resize"
    )


def _stateful(operators: Iterable[Operator]) -> str:
    """The operators with state, for people; empty if there are none."""
    names = list(
        dict.fromkeys(
            shown(operator.logical_name)
            for operator in operators
            if any(each.tag == STATE for each in operator.item.annotations)
        )
    )
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return f"operators {', '.join(names[:NAMED_MAX])}{more}" if names else ""


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
    why, otherwise = (
        (
            "the width of that is a submission-time value, so that it may change",
            "give the region a constant width",
        )
        if is_first
        else ("the width of that changes", "leave the width as it is")
    )
    return PlanRefused(
        Reason.STATE_CANNOT_FOLLOW,
        field=f"operator {name}",
        value=region.name,
        message=(
            f"operator {name} has state that cannot follow a changed width of region {alias}, and"
            f" {why}: split the region by attributes of the operator's key, let its state be"
            f' discarded (at_resize="discard"), or {otherwise}'
        ),
    )
