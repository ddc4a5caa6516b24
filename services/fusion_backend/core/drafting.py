"""A plan up to where its PEs are described: what runs where, with which numbers, and why.

1. resolve submission-time values and widths;
2. expand regions and flatten them into operators and connections, numbered for life (topology.py);
3. fuse operators into PEs: as the original for a fresh plan (fusing.py), keeping every operator
   where it runs at a resize (refitting.py);
4. number PE ports (ports.py).

Where the request says `compat`, compat.py decides what the original decides otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from contracts.reasons import Reason
from services.fusion_backend.core import compat
from services.fusion_backend.core.consistent import ConsistentRegions, find_consistent_regions
from services.fusion_backend.core.constraints import Unit, group
from services.fusion_backend.core.flattening import build_topology
from services.fusion_backend.core.fusing import fuse_legacy, fuse_manual
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.placing import refuse_unsupported
from services.fusion_backend.core.ports import exports_by_port, number_ports
from services.fusion_backend.core.records import Fusion, PortKey
from services.fusion_backend.core.refitting import refit
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.requesting import PlanRequest
from services.fusion_backend.core.submission import (
    RegionWidths,
    SubmissionValues,
    resolve_values,
    resolve_widths,
)
from services.fusion_backend.core.topology import StreamExport, Topology


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
    placed: Mapping[int, list[int]]
    pe_of: Mapping[int, int]
    exported: Mapping[PortKey, StreamExport]


def draft(request: PlanRequest) -> Draft:
    """Steps 1 to 4. Raises PlanRefused."""
    application = request.application
    fusion = _fusion(request)
    values = resolve_values(application.submission_values, request.submission_time_values)
    widths = resolve_widths(
        application.regions, values, overrides=request.width_overrides, exact=request.widths
    )
    if request.compat:
        compat.refuse_neighbours(application)
    identities = _identities(request, values, widths)
    topology = _topology(request, widths, identities)
    if request.is_placed:
        refuse_unsupported(topology)
    consistent = find_consistent_regions(application, topology)
    units = group(topology, consistent.member_of)
    placed = _place(units, fusion, topology, identities, request)
    pe_of = {index: pe for pe, operators in placed.items() for index in operators}
    exported = exports_by_port(topology)
    number_ports(topology, pe_of, exported, identities)
    return Draft(
        request=request,
        fusion=fusion,
        values=values,
        widths=widths,
        topology=topology,
        identities=identities,
        consistent=consistent,
        units=units,
        placed=placed,
        pe_of=pe_of,
        exported=exported,
    )


def _fusion(request: PlanRequest) -> Fusion:
    """The scheme of the plan. Automatic stays what it was resolved to at submission.

    Else a node that joins the cluster between two resizes would re-fuse a running job.
    """
    fusion, previous = request.fusion, request.previous
    if previous and fusion.requested == previous.fusion.requested == "automatic":
        return previous.fusion
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


def _place(
    units: list[Unit],
    fusion: Fusion,
    topology: Topology,
    identities: Identities,
    request: PlanRequest,
) -> dict[int, list[int]]:
    """The operators of each PE, by PE id."""
    previous = request.resized
    if request.compat:
        fresh = [sorted(_operators(fused)) for fused in _fresh(units, fusion)]
        known = [(pe.id, pe.operators) for pe in previous.pes] if previous else []
        return compat.placed(fresh, topology, known, identities)
    pe_of: dict[int, int] = {}
    if previous is not None:
        pe_of = {record.operator: record.pe for record in previous.operators}
    if previous is not None and _same_scheme(fusion, previous.fusion):
        placements = refit(units, fusion, pe_of, topology)
    else:
        placements = [(None, fused) for fused in _fresh(units, fusion)]
        by_operators = {frozenset(members): pe for pe, members in _members(pe_of).items()}
        placements = [
            (by_operators.get(frozenset(_operators(fused))), fused) for _, fused in placements
        ]
    return {
        identities.next_pe() if pe is None else pe: sorted(_operators(fused))
        for pe, fused in placements
    }


def _same_scheme(one: Fusion, other: Fusion) -> bool:
    return (one.scheme, one.pes_max) == (other.scheme, other.pes_max)


def _fresh(units: list[Unit], fusion: Fusion) -> list[list[Unit]]:
    if fusion.scheme == "legacy":
        return fuse_legacy(units)
    return fuse_manual(units, fusion.pes_max or 1)


def _operators(fused: Iterable[Unit]) -> Iterable[int]:
    return (index for unit in fused for index in unit.operators)


def _members(known: Mapping[int, int]) -> dict[int, list[int]]:
    members: dict[int, list[int]] = {}
    for operator, pe in known.items():
        members.setdefault(pe, []).append(operator)
    return members
