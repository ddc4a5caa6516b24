"""The planner: one pure function from a request to the plan of one generation of a job.

1. resolve submission-time values and widths;
2. expand regions and flatten them into operators and connections, numbered for life (topology.py);
3. fuse operators into PEs: as the original for a fresh plan (fusing.py), keeping every operator
   where it runs at a resize (refitting.py);
4. number PE ports, and refuse PEs that cannot fit (sizing.py);
5. describe each PE (its meaning); where the meaning is that of the previous record keep its content
   id, else render the AADL and hash it.

Nothing here knows of Kubernetes, files, time or other jobs: the same request gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from contracts.labels import pe_config_map_name, pe_name
from contracts.reasons import Reason
from services.fusion_backend.core import model
from services.fusion_backend.core.aadl import render
from services.fusion_backend.core.adl import read_application
from services.fusion_backend.core.adl_operators import TRACE_LEVELS
from services.fusion_backend.core.consistent import find_consistent_regions
from services.fusion_backend.core.constraints import Unit, group
from services.fusion_backend.core.describing import Describer, JobFacts
from services.fusion_backend.core.flattening import build_topology
from services.fusion_backend.core.fusing import fuse_legacy, fuse_manual
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.meaning import PeMeaning
from services.fusion_backend.core.placing import place_of, refuse_unsupported
from services.fusion_backend.core.ports import exports_by_port, number_ports, port_labels
from services.fusion_backend.core.records import Fusion, PeRecord, PlanRecord, RegionRecord
from services.fusion_backend.core.refitting import refit
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.sizing import Sizes
from services.fusion_backend.core.submission import (
    SubmissionValues,
    repeated,
    resolve_values,
    resolve_widths,
)
from services.fusion_backend.core.threads import ThreadingChoice
from services.fusion_backend.core.topology import Topology

Application = model.Application

__all__ = [
    "Application",
    "PlanLimits",
    "PlanRequest",
    "PlanResult",
    "Threading",
    "plan",
    "read_application",
]


@dataclass(frozen=True, slots=True)
class Threading:
    """The threading model that the job spec asks for."""

    model: Literal["automatic", "dedicated", "dynamic", "manual"]
    threads: int | None = None
    elastic: bool | None = None


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What one plan may cost."""

    aadl_bytes_max: int = 900 * 1024
    operators_max: int = 20_000
    connections_max: int = 1_000_000


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Everything a plan depends on; equal requests give equal plans, byte for byte.

    `width_overrides`: (alias pattern, width) of the job spec. `widths`: exact widths by region name
    of the ParallelRegion objects at a resize; they win over everything else.
    """

    application: Application
    bundle_digest: str
    job_name: str
    job_id: int
    fusion: Fusion
    generation: int = 1
    width_overrides: tuple[tuple[str, int], ...] = ()
    widths: Mapping[str, int] = field(default_factory=dict)
    submission_time_values: Mapping[str, str] = field(default_factory=dict)
    threading: Threading | None = None
    data_directory: str | None = None
    tracing: str | None = None
    previous: PlanRecord | None = None
    limits: PlanLimits = PlanLimits()


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The plan: its record, the AADL texts that are new or changed, the job's port labels."""

    record: PlanRecord
    aadls: Mapping[int, str]
    port_labels: str
    warnings: tuple[str, ...] = ()


def plan(request: PlanRequest) -> PlanResult:
    """The plan of one generation. Raises PlanRefused."""
    application = request.application
    fusion = _fusion(request)
    values = resolve_values(application.submission_values, request.submission_time_values)
    widths = resolve_widths(
        application.regions, values, overrides=request.width_overrides, exact=request.widths
    )
    identities = Identities(request.previous, request.bundle_digest)
    topology = build_topology(
        application,
        widths,
        identities,
        operators_max=request.limits.operators_max,
        connections_max=request.limits.connections_max,
    )
    refuse_unsupported(topology)
    consistent = find_consistent_regions(application, topology)
    units = group(topology, consistent.member_of)
    placed = _place(units, fusion, topology, identities, request)
    pe_of = {index: pe for pe, operators in placed.items() for index in operators}
    exported = exports_by_port(topology)
    number_ports(topology, pe_of, exported, identities)
    sizes = Sizes(topology, pe_of, identities, widths.told)
    sizes.refuse_too_large(request.job_name, request.limits.aadl_bytes_max)
    describer = Describer(
        application,
        topology,
        job=_job_facts(request),
        values=values,
        consistent=consistent,
        identities=identities,
        exported=exported,
        pe_of=pe_of,
    )
    pes, aadls = _contents(describer, placed, topology, identities, request, sizes)
    record = _record(request, fusion, widths.by_region, topology, identities, pe_of, pes)
    labels = port_labels(topology, identities, request.job_id)
    return PlanResult(record, aadls, labels, _warnings(request, values, fusion, len(placed)))


def _record(
    request: PlanRequest,
    fusion: Fusion,
    widths: Mapping[int, int],
    topology: Topology,
    identities: Identities,
    pe_of: Mapping[int, int],
    pes: tuple[PeRecord, ...],
) -> PlanRecord:
    application = request.application
    return PlanRecord(
        generation=request.generation,
        bundle_digest=request.bundle_digest,
        job_name=request.job_name,
        job_id=request.job_id,
        application_name=application.name,
        application_scope=application.scope,
        fusion=fusion,
        regions=tuple(
            RegionRecord(region.index, region.name, widths[region.index])
            for region in sorted(application.regions, key=lambda each: each.index)
        ),
        pools=tuple(topology.pools[index] for index in sorted(topology.pools)),
        pes=pes,
        operators=identities.operator_records(dict(pe_of)),
        ports=identities.port_records(),
        splitters=identities.splitter_records(),
        high_water=identities.high_water({pe.id for pe in pes}),
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


def _job_facts(request: PlanRequest) -> JobFacts:
    tracing = None
    if request.tracing is not None:
        tracing = request.tracing.partition(":")[0].strip()
        if tracing not in TRACE_LEVELS:
            raise PlanRefused(
                Reason.SPEC_INVALID,
                field="tracing",
                value=request.tracing,
                message=f"tracing {request.tracing!r} is not one of {', '.join(TRACE_LEVELS)}",
            )
    asked = request.threading
    threading = None
    if asked is not None:
        threads = None if asked.threads is None else str(asked.threads)
        elastic = None if asked.elastic is None else str(asked.elastic).lower()
        threading = ThreadingChoice(asked.model, threads, elastic)
    return JobFacts(request.job_id, request.job_name, threading, request.data_directory, tracing)


def _place(
    units: list[Unit],
    fusion: Fusion,
    topology: Topology,
    identities: Identities,
    request: PlanRequest,
) -> dict[int, list[int]]:
    """The operators of each PE, by PE id."""
    previous = request.previous
    known: dict[int, int] = {}
    if previous is not None and previous.bundle_digest == request.bundle_digest:
        known = {record.operator: record.pe for record in previous.operators}
    if previous is not None and known and _same_scheme(fusion, previous.fusion):
        placements = refit(units, fusion, known, topology)
    else:
        placements = [(None, fused) for fused in _fresh(units, fusion)]
        by_operators = {frozenset(members): pe for pe, members in _members(known).items()}
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


def _contents(
    describer: Describer,
    placed: Mapping[int, list[int]],
    topology: Topology,
    identities: Identities,
    request: PlanRequest,
    sizes: Sizes,
) -> tuple[tuple[PeRecord, ...], dict[int, str]]:
    """The PEs of the record, and the texts of those whose meaning is new."""
    before = {pe.id: pe for pe in request.previous.pes} if request.previous else {}
    inputs: dict[int, list[int]] = {}
    for (pe, key), number in identities.ports.items():
        if key.direction == "in":
            inputs.setdefault(pe, []).append(number)
    records: list[PeRecord] = []
    aadls: dict[int, str] = {}
    for pe in sorted(placed):
        meaning = describer.describe(pe, placed[pe])
        digest = meaning.digest()
        known = before.get(pe)
        if known is not None and known.meaning == digest:
            content_id = known.content_id
        else:
            aadls[pe] = _rendered(meaning, request, sizes)
            content_id = hashlib.sha256(aadls[pe].encode()).hexdigest()
        place = place_of(topology, placed[pe])
        records.append(
            PeRecord(
                id=pe,
                name=pe_name(request.job_name, pe),
                meaning=digest,
                content_id=content_id,
                config_map=pe_config_map_name(request.job_name, pe, content_id),
                operators=tuple(operator.name for operator in meaning.operators),
                restartable=meaning.restartable,
                relocatable=meaning.relocatable,
                input_ports=tuple(sorted(inputs.get(pe, ()))),
                regions=_regions(meaning),
                host_pool=place.host_pool,
                host=place.host,
                colocations=place.colocations,
                exlocations=place.exlocations,
                isolation=place.isolation,
            )
        )
    return tuple(records), aadls


def _regions(meaning: PeMeaning) -> tuple[int, ...]:
    return tuple(sorted({level[4] for operator in meaning.operators for level in operator.levels}))


def _rendered(meaning: PeMeaning, request: PlanRequest, sizes: Sizes) -> str:
    text, bytes_max = render(meaning), request.limits.aadl_bytes_max
    size = len(text.encode())
    if size > bytes_max:
        raise sizes.too_large(request.job_name, meaning.id, str(size), bytes_max)
    return text


def _warnings(
    request: PlanRequest, values: SubmissionValues, fusion: Fusion, pes: int
) -> tuple[str, ...]:
    found = [*values.warnings, *repeated(request.width_overrides)]
    if fusion.scheme == "manual" and fusion.pes_max != pes:
        found.append(
            f"{fusion.pes_max} PEs were asked for and {pes} were made, because of constraints or "
            "the number of operators (CDISR3035W)"
        )
    return tuple(found)
