"""A plan up to where its PEs are described: what runs where, with which numbers, and why.

1. resolve submission-time values, annotations that name them, and widths;
2. expand regions and flatten them into operators and connections, numbered for life (topology.py);
3. refuse constraints that contradict each other (contradicting.py), then fuse operators into PEs:
   legacy and manual as the original for a fresh plan (fusing.py), automatic by channels
   (reckoning.py, tiling.py), keeping every operator where it runs at a resize (refitting.py);
4. number PE ports (ports.py).

Where the request says `compat`, compat.py decides what the original decides otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from contracts.reasons import Reason
from planner import compat
from planner.application.resolving import resolve_annotations
from planner.application.submission import (
    RegionWidths,
    SubmissionValues,
    resolve_values,
    resolve_widths,
)
from planner.description.ports import exports_by_port, number_ports
from planner.fusion.cohosting import Cohosting
from planner.fusion.constraints import Unit, group
from planner.fusion.contradicting import (
    pes_contradict,
    refuse_contradictions,
)
from planner.fusion.fusing import fuse_legacy, fuse_manual
from planner.fusion.gathering import as_one, gathered
from planner.fusion.neighbouring import connect
from planner.fusion.reckoning import reckoned
from planner.fusion.refitting import Placement, refit
from planner.fusion.tiling import fuse_automatic, split
from planner.graph.consistent import ConsistentRegions, find_consistent_regions
from planner.graph.flattening import build_topology
from planner.graph.keeping_state import refuse_lost_state, refuse_unshared_store
from planner.graph.topology import StreamExport, Topology
from planner.graph.value_types import refuse_wrong_types
from planner.numbering.identity import Identities
from planner.numbering.records import Fusion, PortKey
from planner.refusals import PlanRefused
from planner.requesting import PlanRequest


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan whose PEs are not described yet: what runs where, with which numbers.

    `placed`: the operators of each PE, ascending; `pe_of`: the same, by operator.
    """

    request: PlanRequest
    fusion: Fusion
    values: SubmissionValues
    widths: RegionWidths
    topology: Topology
    identities: Identities
    consistent: ConsistentRegions
    units: list[Unit]
    placements: list[Placement]
    placed: Mapping[int, list[int]]
    pe_of: Mapping[int, int]
    exported: Mapping[PortKey, StreamExport]


def draft(request: PlanRequest) -> Draft:
    """Steps 1 to 4. Raises PlanRefused."""
    application = request.application
    values = resolve_values(application.submission_values, request.submission_time_values)
    application = resolve_annotations(application, values)
    request = replace(request, application=application)
    widths = resolve_widths(
        application.regions, values, overrides=request.width_overrides, exact=request.widths
    )
    if request.compat:
        compat.refuse_neighbours(application)
    identities = _identities(request, values, widths)
    topology = _topology(request, widths, identities)
    if request.compat:
        compat.undivided(topology)
    previous = request.previous
    before = {each.index: each.width for each in previous.regions} if previous else None
    operators = topology.operators.values()
    refuse_lost_state(operators, application.regions, widths.by_region, before)
    if previous is None:
        _refuse_at_submission(request, topology, values)
    consistent = find_consistent_regions(application, topology, is_counted=request.compat)
    fusion = _fusion(request, topology)
    units = _units(request, fusion, topology, consistent)
    return _finished(
        Draft(
            request=request,
            fusion=fusion,
            values=values,
            widths=widths,
            topology=topology,
            identities=identities,
            consistent=consistent,
            units=units,
            placements=_placements(units, fusion, topology, request),
            placed={},
            pe_of={},
            exported=exports_by_port(topology),
        )
    )


def _refuse_at_submission(
    request: PlanRequest, topology: Topology, values: SubmissionValues
) -> None:
    """What a job that runs keeps all the same."""
    refuse_wrong_types(topology.operators.values(), values)
    refuse_unshared_store(topology.operators.values(), request.store)


def _finished(drafted: Draft) -> Draft:
    """The draft with the ids of its PEs and their ports."""
    topology, identities = drafted.topology, drafted.identities.before_pes()
    placed = _numbered(drafted.placements, topology, identities, drafted.request)
    pe_of = {index: pe for pe, operators in placed.items() for index in operators}
    number_ports(topology, pe_of, drafted.exported, identities)
    return replace(drafted, identities=identities, placed=placed, pe_of=pe_of)


def _fusion(request: PlanRequest, topology: Topology) -> Fusion:
    """The scheme of the plan. The number that automatic chose at submission is for life.

    Else a node that joins the cluster between two resizes would re-fuse a running job.
    """
    fusion, previous = request.fusion, request.previous
    if previous and fusion.requested == previous.fusion.requested == "automatic":
        return previous.fusion
    if fusion.scheme == "automatic":
        return reckoned(fusion, topology, request.threading, request.usage_in_force)
    if fusion.scheme == "manual" and (fusion.pes_max is None or fusion.pes_max < 1):
        raise PlanRefused(
            Reason.FUSION_INVALID,
            field="spec.fusion.manual",
            value=fusion.pes_max,
            message=f"spec.fusion.manual is {fusion.pes_max}; at least 1 is needed",
        )
    return fusion


def _identities(request: PlanRequest, values: SubmissionValues, widths: RegionWidths) -> Identities:
    previous = request.resized
    if not request.compat or previous is None:
        return Identities(request.previous, request.bundle_digest)
    regions = request.application.regions
    prior_widths = resolve_widths(regions, values, overrides=(), exact=previous.widths)
    prior, current = Identities(None, ""), Identities(None, "")
    _topology(request, prior_widths, prior)
    _topology(request, widths, current)
    return compat.transferred(prior, current, {pe.id for pe in previous.pes})


def _topology(request: PlanRequest, widths: RegionWidths, identities: Identities) -> Topology:
    return build_topology(
        request.application,
        widths,
        identities,
        operators_max=request.limits.operators_max,
        connections_max=request.limits.connections_max,
    )


def _units(
    request: PlanRequest, fusion: Fusion, topology: Topology, consistent: ConsistentRegions
) -> list[Unit]:
    units = group(topology, consistent.fused_with, fusion.type, request.hosts_in_force)
    if not request.compat:
        refuse_contradictions(topology, units, fusion.type, request.hosts, request.running)
    if fusion.type == "channelIsolation" and fusion.scheme != "legacy":
        units = gathered(units, Cohosting(topology, units, request.hosts_in_force))
    if fusion.scheme != "legacy":
        connect(topology, units)
    return units


def _placements(
    units: list[Unit], fusion: Fusion, topology: Topology, request: PlanRequest
) -> list[Placement]:
    """The units of each PE, with the id of those that run."""
    previous = request.resized
    if previous is None or request.compat:
        return [(None, fused) for fused in _fresh(units, fusion, topology, request)]
    pe_of = {record.operator: record.pe for record in previous.operators}
    if _same_scheme(fusion, previous.fusion):
        return _refitted(units, pe_of, fusion, topology, request)
    by_operators = {frozenset(members): pe for pe, members in _members(pe_of).items()}
    fresh = _fresh(units, fusion, topology, request)
    return [(by_operators.get(frozenset(_operators(fused))), fused) for fused in fresh]


def _refitted(
    units: list[Unit],
    pe_of: Mapping[int, int],
    fusion: Fusion,
    topology: Topology,
    request: PlanRequest,
) -> list[Placement]:
    """What runs stays, but for what new operators contradict."""
    cohosting = _cohosting(units, fusion, topology, request)
    apart = cohosting.mark()
    share = _share(request, fusion, topology)
    found = refit(units, fusion, pe_of, topology, cohosting, share=share)
    pes = (as_one(fused) for _, fused in found)
    if not cohosting or not pes_contradict(
        topology, pes, fusion.type, request.hosts, request.running
    ):
        return found
    cohosting.undo(apart)
    return refit(units, fusion, pe_of, topology, cohosting, share=share, is_strict=True)


def _cohosting(
    units: list[Unit], fusion: Fusion, topology: Topology, request: PlanRequest
) -> Cohosting:
    """Legacy fuses nothing, and need not pay for it."""
    packed = units if fusion.scheme != "legacy" else ()
    return Cohosting(topology, packed, request.hosts_in_force)


def _numbered(
    placements: list[Placement], topology: Topology, identities: Identities, request: PlanRequest
) -> dict[int, list[int]]:
    """The operators of each PE, by PE id."""
    if request.compat:
        previous = request.resized
        fresh = [sorted(_operators(fused)) for _, fused in placements]
        known = [(pe.id, pe.operators) for pe in previous.pes] if previous else []
        return compat.placed(fresh, topology, known, identities)
    return {
        identities.next_pe() if pe is None else pe: sorted(_operators(fused))
        for pe, fused in placements
    }


def _same_scheme(one: Fusion, other: Fusion) -> bool:
    return (one.scheme, one.pes_max, one.type) == (other.scheme, other.pes_max, other.type)


def _share(request: PlanRequest, fusion: Fusion, topology: Topology) -> int:
    """How many operators automatic fusion would give a PE of these widths."""
    if fusion.scheme != "automatic":
        return 0
    found = reckoned(fusion, topology, request.threading, request.usage_in_force)
    pes = found.pes_max or 1
    return -(-len(topology.operators) // pes)


def _fresh(
    units: list[Unit], fusion: Fusion, topology: Topology, request: PlanRequest
) -> list[list[Unit]]:
    if fusion.scheme == "legacy":
        return fuse_legacy(units)
    cohosting = _cohosting(units, fusion, topology, request)
    if fusion.scheme == "automatic":
        return fuse_automatic(units, topology, fusion.pes_max or 1, cohosting)
    return fuse_manual(units, fusion.pes_max or 1, cohosting)


def split_further(drafted: Draft, parts: Mapping[int, int]) -> Draft | None:
    """The draft with some PEs in so many parts; None where one of them is a single unit.

    `parts` by PE id. The first part keeps the id of a PE that runs.
    """
    placements: list[Placement] = []
    for known, units in drafted.placements:
        pe = drafted.pe_of[units[0].operators[0]]
        if pe not in parts:
            placements.append((known, units))
            continue
        pieces = split(units, drafted.topology, parts[pe])
        if len(pieces) < 2:
            return None
        placements.append((known, pieces[0]))
        placements += [(None, piece) for piece in pieces[1:]]
    placements.sort(key=lambda each: (each[0] is None, each[0] or 0, min(_operators(each[1]))))
    return _finished(replace(drafted, placements=placements))


def _operators(fused: Iterable[Unit]) -> Iterable[int]:
    return (index for unit in fused for index in unit.operators)


def _members(known: Mapping[int, int]) -> dict[int, list[int]]:
    members: dict[int, list[int]] = {}
    for operator, pe in known.items():
        members.setdefault(pe, []).append(operator)
    return members
