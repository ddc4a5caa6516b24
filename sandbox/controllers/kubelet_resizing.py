"""What a kubelet makes of resources that changed while a pod runs. Pure, but for the account.

The words are those of the kubelet: Infeasible where the node could never have room, Deferred where
it has none beside its other pods now. What fits is in force at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sandbox.controllers.accounts import Node
from sandbox.controllers.conditions import Status, condition_of, with_condition
from sandbox.controllers.demands import Demand, requests_of_spec

Obj = Mapping[str, Any]
PENDING: Final = "PodResizePending"
_RESIZED: Final = ("cpu", "memory")


def resized_status(pod: Obj, demand: Demand, node: Node, time: str) -> tuple[Status, Demand] | None:
    """The next status of a running pod, and what it takes up by then; None if nothing changes.

    `demand` is what the pod takes up of the node so far.
    """
    status: Status = pod.get("status") or {}
    wanted = requests_of_spec(pod["spec"])
    if is_in_force(pod):
        settled = _without_condition(status)
        if settled is status and wanted == demand.requests:
            return None
        return settled, replace(demand, requests=wanted)
    refusal = _refusal(wanted, demand, node)
    if refusal is None:
        return _without_condition(with_resources(pod, status)), replace(demand, requests=wanted)
    reason, message = refusal
    condition = {"type": PENDING, "status": "True", "reason": reason, "message": message}
    changed = with_condition(status, condition, time)
    return None if changed is status else (changed, demand)


def is_in_force(pod: Obj) -> bool:
    """Whether the containers have the resources that the spec says."""
    shown = {
        each["name"]: each.get("resources")
        for each in (pod.get("status") or {}).get("containerStatuses") or ()
    }
    return all(
        shown.get(each["name"]) in (None, each.get("resources") or {})
        for each in pod["spec"].get("containers") or ()
    )


def is_infeasible(status: Status) -> bool:
    """Whether the node can never have room for what the spec says."""
    return (condition_of(status, PENDING) or {}).get("reason") == "Infeasible"


def requests_in_resize(pod: Obj) -> dict[str, int]:
    """What the scheduler counts: the more of the spec and what the containers have.

    Of a resize that is infeasible, what they have alone.
    """
    status, wanted = pod.get("status") or {}, requests_of_spec(pod["spec"])
    shown = {
        each["name"]: each["resources"]
        for each in status.get("containerStatuses") or ()
        if "resources" in each
    }
    containers = [
        {**each, "resources": shown.get(each["name"], each.get("resources") or {})}
        for each in pod["spec"].get("containers") or ()
    ]
    held = requests_of_spec({**pod["spec"], "containers": containers})
    if is_infeasible(status):
        return held
    return {name: max(wanted.get(name, 0), held.get(name, 0)) for name in {**wanted, **held}}


def is_pending(pod: Obj) -> bool:
    """Whether a resize waits for room."""
    return condition_of(pod.get("status") or {}, PENDING) is not None


def with_resources(pod: Obj, status: Status) -> Status:
    """The status with the resources of the spec in its containers."""
    given = {each["name"]: each.get("resources") or {} for each in pod["spec"]["containers"]}
    containers = [
        {**each, "resources": given[each["name"]]} for each in status["containerStatuses"]
    ]
    return {**status, "containerStatuses": containers}


def _refusal(wanted: Mapping[str, int], demand: Demand, node: Node) -> tuple[str, str] | None:
    for name in _RESIZED:
        size, more = node.allocatable.get(name, 0), wanted.get(name, 0)
        used = node.taken.get(name, 0) - demand.requests.get(name, 0)
        demanded = f"{name}, requested: {more}"
        if more > size:
            text = f"Node didn't have enough capacity: {demanded}, capacity: {size}"
            return "Infeasible", text
        if more > demand.requests.get(name, 0) and more > size - used:
            text = f"Node didn't have enough resource: {demanded}, used: {used}, capacity: {size}"
            return "Deferred", text
    return None


def _without_condition(status: Status) -> Status:
    conditions = status.get("conditions") or ()
    kept = [each for each in conditions if each.get("type") != PENDING]
    return status if len(kept) == len(conditions) else {**status, "conditions": kept}
