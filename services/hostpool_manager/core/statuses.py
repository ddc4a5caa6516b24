"""What the statuses of Placements and HostPools are to say, and the JSON of it.

A merge patch of a status names every field of ours, with None where it is to be absent; one that
changes nothing is not sent. Conditions keep the time of their last transition.
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
from services.hostpool_manager.core.snapshot import InForce, PlacementStatus, PoolStatus

PLACED = "Placed"
READY = "Ready"
IDS_OF_TEXT_MAX: Final = 256
OBJECT_BYTES_MAX: Final = 1_200_000
"""Of spec and status of an object: etcd takes 1.5 MiB, of which metadata and conditions need some.
"""
Json = dict[str, Any]


def status_of_answer(answer: Answer, *, generation: int, in_force: InForce) -> PlacementStatus:
    """What an answer to metadata.generation `generation` is said as, with what is then in force."""
    pools, assignments = in_force.pools, in_force.assignments
    by_node: dict[str, list[int]] = {}
    for pe, node in assignments.items():
        by_node.setdefault(node, []).append(pe)
    reason = Reason.PLACED if isinstance(answer, Placed) else answer.why
    refused = answer if isinstance(answer, Refused) else None
    return PlacementStatus(
        phase=_phase(answer),
        reason=reason,
        message=shown(_message(answer), MESSAGE_CHARS_MAX),
        observed_generation=generation,
        waits=None if refused is None else refused.waits,
        families=refused.families if refused else (),
        nearest=tuple(map(_shown, refused.nearest[:NEAREST_MAX])) if refused else (),
        generation=in_force.generation,
        as_preferred=None if in_force.generation is None else in_force.is_as_preferred,
        pools=tuple(sorted(pools.items())),
        assignments=tuple(
            (node, runs) for node, pes in sorted(by_node.items()) for runs in _runs(pes)
        ),
    )


def _shown(near: Nearest) -> Nearest:
    return Nearest(near.node, tuple(shown(each, TEXT_CHARS_MAX) for each in near.lacks))


def _runs(pes: list[int]) -> Iterator[str]:
    """The ids of PEs in texts that the schema takes."""
    ordered = sorted(pes)
    step = len(ordered) if len(runs_of(ordered)) <= TEXT_CHARS_MAX else IDS_OF_TEXT_MAX
    yield from (runs_of(ordered[at : at + step]) for at in range(0, len(ordered), step))


def too_long(answer: Answer, job: Job, spec_bytes: int) -> str:
    """Why no status can hold an answer; nothing, where one can. A HostPool may name nodes thrice.

    `spec_bytes`: of the spec of the Placement, which is stored with its status.
    """
    if not isinstance(answer, Placed):
        return ""
    in_force = InForce(0, {each.pool: each.nodes for each in answer.pools}, answer.assignment)
    said = status_of_answer(answer, generation=0, in_force=in_force)
    status_bytes = _bytes(placement_status({}, said, ""))
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


def placement_status(status: Mapping[str, Any], said: PlacementStatus, now: str) -> Json:
    """The fields of a Placement's status as they are to be, made of the status as it is."""
    state = {
        PlacementPhase.PLACED: ConditionStatus.TRUE,
        PlacementPhase.REFUSED: ConditionStatus.FALSE,
        PlacementPhase.UNKNOWN: ConditionStatus.UNKNOWN,
    }[said.phase]
    is_there = said.generation is not None
    return {
        "phase": said.phase.value,
        "reason": said.reason.value,
        "message": said.message,
        "observedGeneration": said.observed_generation,
        "waits": said.waits,
        "families": [each.value for each in said.families] or None,
        "nearest": [{"node": n.node, "lacks": list(n.lacks)} for n in said.nearest] or None,
        **({"generation": said.generation} if is_there else {}),
        "asPreferred": said.as_preferred,
        "pools": [{"index": i, "members": list(m)} for i, m in said.pools] if is_there else None,
        "assignments": (
            [{"node": node, "pes": pes} for node, pes in said.assignments] if is_there else None
        ),
        "conditions": with_condition(
            status.get("conditions") or (),
            type_=PLACED,
            status=state,
            reason=said.reason,
            message=said.message,
            observed_generation=said.observed_generation,
            now=now,
        ),
    }


def is_current(status: Mapping[str, Any], said: PlacementStatus) -> bool:
    """Whether a Placement's status says it."""
    return not differences(status, placement_status(status, said, ""))


def host_pool_status(status: Mapping[str, Any], said: PoolStatus, now: str) -> Json:
    """The fields of a HostPool's status as they are to be, made of the status as it is."""
    return {
        "members": list(said.members),
        "claimed": list(said.claimed),
        **({"generation": said.generation} if said.generation is not None else {}),
        "observedGeneration": said.observed_generation,
        "reason": said.reason.value,
        "message": said.message[:MESSAGE_CHARS_MAX],
        "conditions": with_condition(
            status.get("conditions") or (),
            type_=READY,
            status=ConditionStatus.TRUE if said.is_ready else ConditionStatus.FALSE,
            reason=said.reason,
            message=said.message,
            observed_generation=said.observed_generation,
            now=now,
        ),
    }


def differences(status: Mapping[str, Any], wanted: Json) -> Json:
    """The fields that are not as wanted; None stands for a field that is to be absent."""
    return {name: value for name, value in wanted.items() if status.get(name) != value}
