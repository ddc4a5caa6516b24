"""In which order a resize starts its PEs: what runs is never taken down for what does not fit.

1. Where all pods of the new plan fit beside everything that is bound, all are made at once.
2. Else, or where that is not known, new PEs start last (`spec.startsLast`): they are created when
   every changed PE is patched, and pod-state-machine creates their first pods when all other PEs of
   the job are on nodes. Then the scheduler decides; a pod may stay Pending.
3. Where a changed PE finds no node, new ones go on waiting, and the resize is over without them.
4. A job with host constraints waits for nothing: its answer has room for all of its PEs.

Properties: no PE that ran loses its node to one that the same resize adds. The decision stands in
the PEs. Made again after a crash it may be another, for the PEs that are not created yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Final

from contracts import labels
from contracts.resources import PePhase
from contracts.scheduling.requests import amounts_of
from planner.numbering.records import PeRecord
from services.chassis.table.entries import Entry, annotation
from services.fusion_backend.core.effects import CreateChild
from services.fusion_backend.core.membership import Difference
from services.fusion_backend.core.placement_requests import (
    Demands,
    demand_of_pod,
    has_constraints,
)
from services.fusion_backend.core.pods_seen import is_unschedulable, node_of_pod
from services.fusion_backend.core.rooms import fits
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import spec_in_force

PE: Final = "ProcessingElement"
_UNCOUNTED: Final = ("resourceClaims", "topologySpreadConstraints", "schedulerName", "hostNetwork")
"""Fields of a pod by which the scheduler filters, and that are not counted here."""
_CLAIMS: Final = ("persistentVolumeClaim", "ephemeral")
_NOT_RUN: Final = (None, PePhase.WAITING, PePhase.STARTING)


# --------------------------------------------------------------------------- what is created


def in_turn(found: Difference, snapshot: Snapshot, plan: KnownPlan) -> Difference:
    """A difference of a resize, in which new PEs start last where not all fit at once."""
    new = [each for each in found.creates if _is_new(each, snapshot)]
    if not new or has_room(snapshot, plan):
        return found
    others = tuple(each for each in found.creates if not _is_new(each, snapshot))
    kinds_written = [*(each.kind for each in found.patches), *(each.kind for each in others)]
    is_unpatched = PE in kinds_written
    # The gate of a new PE looks at what the others are to run: it must find that.
    started = () if is_unpatched else tuple(replace(each, starts_last=True) for each in new)
    return replace(found, creates=(*others, *started))


def _is_new(effect: CreateChild, snapshot: Snapshot) -> bool:
    return effect.kind == PE and effect.name not in snapshot.launches


def has_room(snapshot: Snapshot, plan: KnownPlan) -> bool:
    """Whether every pod of a plan that is on no node fits beside what is bound."""
    assert snapshot.job is not None, "a plan belongs to a Job"
    if has_constraints(plan.record):
        return True
    given = spec_in_force(plan.inputs, snapshot.job.spec)
    if not _is_countable(given.get("processingElement") or {}):
        return False
    demands = Demands(snapshot, plan, given)
    wanted = Counter(_without_room(snapshot, plan, demands))
    return fits(
        snapshot.rooms,
        ((demand_of_pod(demands.found[number]), count) for number, count in wanted.items()),
    )


def _without_room(snapshot: Snapshot, plan: KnownPlan, demands: Demands) -> Iterator[int]:
    """The demands of the PEs that are on no node, or whose next pod requires more than this one."""
    for pe in plan.record.pes:
        bound, number = snapshot.bound.get(pe.id), demands.number_of(pe)
        if bound is None:
            yield number
        elif not _has_content(snapshot, pe):
            requests = amounts_of(demands.found[number].requests)
            if any(amount > bound.get(name, 0) for name, amount in requests.items()):
                yield number


def _has_content(snapshot: Snapshot, pe: PeRecord) -> bool:
    return any(True for _ in _pods_with_content(snapshot, pe))


def _pods_with_content(snapshot: Snapshot, pe: PeRecord) -> Iterator[Entry]:
    for pod in snapshot.pods.get(pe.id, ()):
        if annotation(pod, labels.CONTENT_ID) == pe.content_id:
            yield pod


def _is_countable(template: Mapping[str, Any]) -> bool:
    """Whether the scheduler looks at nothing of these pods but what `fits` counts."""
    spec = (template.get("podTemplate") or {}).get("spec") or {}
    affinity = spec.get("affinity") or {}
    ports = [port for each in spec.get("containers") or () for port in each.get("ports") or ()]
    return not (
        template.get("dataVolumeClaim")
        or affinity.get("podAffinity")
        or affinity.get("podAntiAffinity")
        or any(spec.get(name) for name in _UNCOUNTED)
        or any(each.get("hostPort") for each in ports)
        or any(each.get(claim) for each in spec.get("volumes") or () for claim in _CLAIMS)
    )


# --------------------------------------------------------------------------- how far they are


def without_node(snapshot: Snapshot, plan: KnownPlan) -> list[PeRecord]:
    """The PEs that start last and have never been on a node."""
    entries = snapshot.of(PE)
    return [pe for pe in plan.record.pes if _is_without_node(snapshot, pe, entries.get(pe.name))]


def _is_without_node(snapshot: Snapshot, pe: PeRecord, entry: Entry | None) -> bool:
    if entry is None or entry.unreadable or not PeSeen(entry).starts_last:
        return False
    is_first = snapshot.launches.get(pe.name, 0) <= 1 and PeSeen(entry).phase in _NOT_RUN
    return is_first and not any(node_of_pod(pod) for pod in snapshot.pods.get(pe.id, ()))


def unsettled(snapshot: Snapshot, plan: KnownPlan, podless: list[int]) -> list[int]:
    """What a resize waits for: PEs without a pod, and new ones that may find a node yet.

    A new PE that waits for others is not awaited where one of those finds no node either: what the
    plan removes goes then, and may make room.
    """
    new = without_node(snapshot, plan)
    if not new:
        return podless
    is_stuck = _is_any_unschedulable(snapshot, but={pe.id for pe in new})
    waiting = {pe.id for pe in new if pe.name not in snapshot.launches}
    awaited = {*podless, *(pe.id for pe in new if not is_refused(snapshot, pe))}
    return sorted(awaited - waiting if is_stuck else awaited)


def _is_any_unschedulable(snapshot: Snapshot, *, but: Set[int]) -> bool:
    return any(
        is_unschedulable(pod) for pe, pods in snapshot.pods.items() for pod in pods if pe not in but
    )


def is_refused(snapshot: Snapshot, pe: PeRecord) -> bool:
    """Whether no node can take the pod of a PE, as the scheduler reports."""
    return any(is_unschedulable(pod) for pod in _pods_with_content(snapshot, pe))


def with_refused(snapshot: Snapshot, plan: KnownPlan, pes: list[PeRecord]) -> list[PeRecord]:
    """These PEs, and those whose pod no node can take."""
    ids = {pe.id for pe in pes}
    return [pe for pe in plan.record.pes if pe.id in ids or is_refused(snapshot, pe)]
