"""The desired statuses of Placements and HostPools, and their JSON.

A merge patch of a status names every field of ours; None removes a field. A patch that changes
nothing is not sent. Conditions keep the time of their last transition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts.id_runs import runs_of
from contracts.reasons import Reason
from contracts.resources.conditions import ConditionStatus, with_condition
from contracts.resources.fields import MESSAGE_CHARS_MAX, TEXT_CHARS_MAX
from contracts.resources.placement import NEAREST_MAX, PlacementPhase
from contracts.showing import shown
from placement.answers import Answer, Nearest, Placed, Refused
from placement.job import Job
from services.hostpool_manager.core.snapshot import (
    DesiredPlacementStatus,
    DesiredPoolStatus,
    InForce,
)

PLACED = "Placed"
READY = "Ready"
IDS_OF_TEXT_MAX: Final = 256
OBJECT_BYTES_MAX: Final = 1_200_000
"""Limit for spec and status of an object: etcd takes 1.5 MiB with metadata and conditions."""
Json = dict[str, Any]


def status_of_answer(
    answer: Answer, *, spec_generation: int, in_force: InForce
) -> DesiredPlacementStatus:
    """The status for an answer to metadata.generation `spec_generation`, with what is in force."""
    pools, assignments = in_force.pools, in_force.assignments
    by_node: dict[str, list[int]] = {}
    for pe, node in assignments.items():
        by_node.setdefault(node, []).append(pe)
    reason = Reason.PLACED if isinstance(answer, Placed) else answer.why
    refused = answer if isinstance(answer, Refused) else None
    return DesiredPlacementStatus(
        phase=_phase(answer),
        reason=reason,
        message=shown(_message(answer), MESSAGE_CHARS_MAX),
        observed_generation=spec_generation,
        waits=None if refused is None else refused.waits,
        families=refused.families if refused else (),
        nearest=tuple(map(_shown, refused.nearest[:NEAREST_MAX])) if refused else (),
        plan_generation=in_force.plan_generation,
        as_preferred=None if in_force.plan_generation is None else in_force.is_as_preferred,
        pools=tuple(sorted(pools.items())),
        assignments=tuple(
            (node, runs) for node, pes in sorted(by_node.items()) for runs in _runs(pes)
        ),
    )


def _shown(near: Nearest) -> Nearest:
    return Nearest(near.node, tuple(shown(each, TEXT_CHARS_MAX) for each in near.lacks))


def _runs(pes: list[int]) -> Iterator[str]:
    """The ids of PEs as runs, split so that each text fits the schema."""
    ordered = sorted(pes)
    step = len(ordered) if len(runs_of(ordered)) <= TEXT_CHARS_MAX else IDS_OF_TEXT_MAX
    yield from (runs_of(ordered[at : at + step]) for at in range(0, len(ordered), step))


def too_large(answer: Answer, job: Job, *, spec_bytes: int) -> str:
    """Why no object can hold an answer; empty if it fits. A HostPool may name a node thrice.

    `spec_bytes`: the size of the spec of the Placement, which is stored with its status.
    """
    if not isinstance(answer, Placed):
        return ""
    in_force = InForce(0, {each.pool: each.nodes for each in answer.pools}, answer.assignment)
    desired = status_of_answer(answer, spec_generation=0, in_force=in_force)
    status_bytes = _bytes(placement_status({}, desired, now=""))
    hosts = {pool.index: pool.hosts for pool in job.pools}
    of_pools = (2 * _bytes(each.nodes) + _bytes(hosts.get(each.pool, ())) for each in answer.pools)
    largest = max(spec_bytes + status_bytes, *of_pools, 0)
    if largest <= OBJECT_BYTES_MAX:
        return ""
    members = sum(len(each.nodes) for each in answer.pools)
    return (
        f"spec.pools is {len(answer.pools)} pools with {members} members and spec.classes "
        f"{len(answer.assignment)} PEs: to name their nodes takes {largest} bytes in one object, "
        f"and {OBJECT_BYTES_MAX} can be stored"
    )


def _bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _phase(answer: Answer) -> PlacementPhase:
    if isinstance(answer, Placed):
        return PlacementPhase.PLACED
    return PlacementPhase.REFUSED if isinstance(answer, Refused) else PlacementPhase.UNKNOWN


def _message(answer: Answer) -> str:
    if isinstance(answer, Placed):
        if answer.is_as_preferred:
            return Reason.PLACED.sentence
        return f"{Reason.PLACED.sentence} What was only preferred does not hold for all of them."
    return answer.message


def placement_status(
    recorded: Mapping[str, Any], desired: DesiredPlacementStatus, *, now: str
) -> Json:
    """The desired fields of a Placement's status; conditions continue those of the recorded one."""
    state = {
        PlacementPhase.PLACED: ConditionStatus.TRUE,
        PlacementPhase.REFUSED: ConditionStatus.FALSE,
        PlacementPhase.UNKNOWN: ConditionStatus.UNKNOWN,
    }[desired.phase]
    in_force = desired.plan_generation is not None
    return {
        "phase": desired.phase.value,
        "reason": desired.reason.value,
        "message": desired.message,
        "observedGeneration": desired.observed_generation,
        "waits": desired.waits,
        "families": [each.value for each in desired.families] or None,
        "nearest": [{"node": n.node, "lacks": list(n.lacks)} for n in desired.nearest] or None,
        **({"generation": desired.plan_generation} if in_force else {}),
        "asPreferred": desired.as_preferred,
        "pools": [{"index": i, "members": list(m)} for i, m in desired.pools] if in_force else None,
        "assignments": (
            [{"node": node, "pes": pes} for node, pes in desired.assignments] if in_force else None
        ),
        "conditions": with_condition(
            recorded.get("conditions") or (),
            type_=PLACED,
            status=state,
            reason=desired.reason,
            message=desired.message,
            observed_generation=desired.observed_generation,
            now=now,
        ),
    }


def is_current(recorded: Mapping[str, Any], desired: DesiredPlacementStatus) -> bool:
    """Whether the recorded status of a Placement is the desired one."""
    return not differences(recorded, placement_status(recorded, desired, now=""))


def host_pool_status(recorded: Mapping[str, Any], desired: DesiredPoolStatus, *, now: str) -> Json:
    """The desired fields of a HostPool's status; conditions continue those of the recorded one."""
    return {
        "members": list(desired.members),
        "claimed": list(desired.claimed),
        **({"generation": desired.plan_generation} if desired.plan_generation is not None else {}),
        "observedGeneration": desired.observed_generation,
        "reason": desired.reason.value,
        "message": desired.message[:MESSAGE_CHARS_MAX],
        "conditions": with_condition(
            recorded.get("conditions") or (),
            type_=READY,
            status=ConditionStatus.TRUE if desired.is_ready else ConditionStatus.FALSE,
            reason=desired.reason,
            message=desired.message,
            observed_generation=desired.observed_generation,
            now=now,
        ),
    }


def differences(recorded: Mapping[str, Any], desired: Json) -> Json:
    """The desired fields that differ from the recorded ones; None removes a field."""
    return {name: value for name, value in desired.items() if recorded.get(name) != value}
