"""The planner: one pure function from a request to the plan of one generation of a job.

1. draft what runs where, with which numbers (drafting.py);
2. refuse PEs that cannot fit (sizing.py);
3. describe each PE (its meaning); where the meaning is that of the previous record keep its content
   id, else render the AADL and hash it.

Nothing here knows the API of Kubernetes (but how objects are named), files, time or other jobs: the
same request gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from contracts.labels import pe_name
from contracts.reasons import Reason
from contracts.showing import agreeing
from planner import compat
from planner.application.adl_operators import TRACE_LEVELS
from planner.application.submission import SubmissionValues, repeated
from planner.compressing import CompressedTexts
from planner.description.aadl import render
from planner.description.crossing import crossing_warning
from planner.description.describing import Describer, JobFacts
from planner.description.meaning import PeMeaning
from planner.description.ports import port_labels
from planner.description.sizing import Sizes
from planner.drafting import Draft, draft, split_further
from planner.fusion.placing import PeHost, place_of
from planner.graph.channels import channels_stood_for
from planner.graph.keeping_state import state_warning
from planner.numbering.packing import Content, Packed, Packing, PackPlace, packed
from planner.numbering.records import (
    Fusion,
    PeRecord,
    PlanRecord,
    RegionRecord,
)
from planner.refusals import PlanRefused, counted
from planner.requesting import PlanRequest


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The plan: its record, the AADL texts that are new or changed, the job's port labels."""

    record: PlanRecord
    aadls: CompressedTexts[int]
    port_labels: str
    warnings: tuple[str, ...] = ()


def plan(request: PlanRequest) -> PlanResult:
    """The plan of one generation. Raises PlanRefused."""
    return complete(draft(request))


Keep = Callable[[str, bytes], object]
"""Takes the content id and the text of an AADL, in UTF-8."""


def complete(drafted: Draft) -> PlanResult:
    """Steps 2 and 3: the PEs of a draft, described and rendered. Raises PlanRefused."""
    texts: CompressedTexts[str] = CompressedTexts()
    _, result = settle(drafted, texts.put)
    content_ids = {pe.id: pe.content_id for pe in result.record.pes}
    return replace(result, aadls=texts.found_by(content_ids))


def settle(drafted: Draft, keep: Keep) -> tuple[Draft, PlanResult]:
    """As `complete`, with the draft that the plan is of; `keep` takes the texts one by one.

    Automatic fusion makes more PEs where one is too large and tries again, so there may be texts of
    PEs that are not in the plan. Raises PlanRefused.
    """
    while True:
        try:
            return drafted, _completed(drafted, keep)
        except _TooLarge as found:
            is_automatic = drafted.fusion.scheme == "automatic"
            smaller = split_further(drafted, found.parts) if is_automatic else None
            if smaller is None:
                raise found.refusal from None
            drafted = smaller


class _TooLarge(Exception):
    """PEs that do not fit: in how many parts they would, and the refusal of the first."""

    def __init__(self, parts: Mapping[int, int], refusal: PlanRefused) -> None:
        """`parts` by PE id, at least 2 each."""
        super().__init__(str(refusal))
        self.parts = parts
        self.refusal = refusal


def _completed(drafted: Draft, keep: Keep) -> PlanResult:
    request, topology, identities = drafted.request, drafted.topology, drafted.identities
    sizes = Sizes(topology, drafted.pe_of, identities, drafted.widths.sources, _divisible(drafted))
    if not request.compat:
        _check_isolated(drafted)
    _check_sizes(sizes, request)
    pes = _contents(drafted, sizes, keep)
    record = _record(drafted, pes, _packing(drafted, pes))
    labels = port_labels(identities, request.job_id)
    warnings = _warnings(request, drafted.values, drafted.fusion, len(drafted.placed))
    found = (
        crossing_warning(topology),
        state_warning(topology.operators.values(), request.store),  # `get` reads it at the end
    )
    warnings = (*warnings, *filter(None, found))
    return PlanResult(record, CompressedTexts(), labels, warnings)


def _divisible(drafted: Draft) -> frozenset[int]:
    """The PEs of several units: their operators need not share a PE."""
    units = Counter(drafted.pe_of[unit.operators[0]] for unit in drafted.units)
    return frozenset(pe for pe, count in units.items() if count > 1)


def _check_isolated(drafted: Draft) -> None:
    """Refuses more isolated operators than pods can have labels for."""
    limits, pes = drafted.request.limits, len(drafted.placed)
    operators = drafted.topology.operators.values()
    isolated = sum(each.constraints.host_isolation for each in operators)
    marks = isolated * (pes - 1)
    if (isolated > limits.isolated_max and marks) or marks > limits.isolation_labels_max:
        raise PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field="ADL resources@isolation",
            value=isolated,
            message=(
                f"{isolated} operators ask for a host of their own, which is a label for each of"
                f" them on the pods of all other PEs ({marks} labels): at most"
                f" {limits.isolated_max} such operators and {limits.isolation_labels_max} labels"
            ),
        )


def _check_sizes(sizes: Sizes, request: PlanRequest) -> None:
    """Says what is too large before it is described; what no scheme could divide comes first."""
    bytes_max = request.limits.aadl_bytes_max
    if parts := sizes.parts_needed(bytes_max):
        pe = min(parts, key=lambda each: (each in sizes.divisible, each))
        size = f"at least {sizes.bytes_min(pe)}"
        raise _TooLarge(parts, sizes.too_large(request.job_name, pe, size, bytes_max))


def _record(drafted: Draft, pes: tuple[PeRecord, ...], packing: Packing) -> PlanRecord:
    request, identities, topology = drafted.request, drafted.identities, drafted.topology
    application, widths = request.application, drafted.widths.by_region
    return PlanRecord(
        generation=request.generation,
        bundle_digest=request.bundle_digest,
        job_name=request.job_name,
        job_id=request.job_id,
        application_name=application.name,
        application_scope=application.scope,
        fusion=drafted.fusion,
        regions=tuple(
            RegionRecord(region.index, region.name, widths[region.index])
            for region in sorted(application.regions, key=lambda each: each.index)
        ),
        pools=tuple(topology.pools[index] for index in sorted(topology.pools)),
        pes=tuple(
            replace(pe, config_map=at.config_map, key=at.key, aadl_bytes=at.size)
            for pe in pes
            for at in (packing.of_pe[pe.id],)
        ),
        operators=identities.operator_records(dict(drafted.pe_of)),
        port_runs=identities.port_runs(),
        splitters=identities.splitter_records(),
        high_water=identities.high_water({pe.id for pe in pes}),
        measured=request.usage_in_force.cluster if drafted.fusion.scheme == "automatic" else None,
        packs=packing.packs,
        is_python=application.is_python,
    )


def _packing(drafted: Draft, pes: tuple[PeRecord, ...]) -> Packing:
    """Where the AADLs are: as before where the content is."""
    request = drafted.request
    previous = request.previous
    before = {pe.id: pe for pe in previous.pes} if previous else {}
    kept = {
        pe.id: Packed(known.config_map, known.key, known.aadl_bytes)
        for pe in pes
        if (known := before.get(pe.id)) and known.content_id == pe.content_id
    }
    contents = [
        Content(
            pe.id,
            pe.content_id,
            pe.aadl_bytes,
            _pack_place(drafted, drafted.placed[pe.id]),
            is_new=pe.id not in before,
        )
        for pe in pes
        if pe.id not in kept
    ]
    places = {pe: _pack_place(drafted, drafted.placed[pe]) for pe in kept}
    packs = previous.packs if previous else {}
    return packed(request.job_name, contents, kept, places, packs)


def _pack_place(drafted: Draft, operators: list[int]) -> PackPlace:
    """The channel of the outermost region that all operators of a PE are in."""
    levels = [drafted.topology.operators[operator].levels for operator in operators]
    places = {PackPlace(each[-1].region, each[-1].local) for each in levels if each}
    if not all(levels):
        return PackPlace()
    return places.pop() if len(places) == 1 else PackPlace()


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
    return JobFacts(
        request.job_id, request.job_name, request.threading, request.data_directory, tracing
    )


def _contents(drafted: Draft, sizes: Sizes, keep: Keep) -> tuple[PeRecord, ...]:
    """The PEs of the record; the texts of those whose meaning is new are kept."""
    request, placed = drafted.request, drafted.placed
    describer = _describer(drafted)
    positions = compat.positions(placed)
    before = {pe.id: pe for pe in request.previous.pes} if request.previous else {}
    stood_for = channels_stood_for(drafted.topology.operators.values(), placed)
    records: list[PeRecord] = []
    for pe in sorted(placed):
        meaning = describer.describe(pe, placed[pe])
        if request.compat:
            meaning = compat.widened(
                meaning, positions[pe], request.application, drafted.topology.pools
            )
        digest = meaning.digest()
        known = before.get(pe)
        if known is not None and known.meaning == digest:
            content_id, size = known.content_id, known.aadl_bytes
        else:
            text = _rendered(meaning, request, sizes)
            content_id, size = hashlib.sha256(text).hexdigest(), len(text)
            keep(content_id, text)
        place = place_of(drafted.topology, placed[pe])
        record = _pe_record(request, meaning, digest, content_id, place)
        records.append(replace(record, channel_of=stood_for[pe], aadl_bytes=size))
    return tuple(records)


def _describer(drafted: Draft) -> Describer:
    return Describer(
        drafted.request.application,
        drafted.topology,
        job=_job_facts(drafted.request),
        values=drafted.values,
        consistent=drafted.consistent,
        identities=drafted.identities,
        exported=drafted.exported,
        pe_of=drafted.pe_of,
    )


def _pe_record(
    request: PlanRequest, meaning: PeMeaning, digest: str, content_id: str, place: PeHost
) -> PeRecord:
    return PeRecord(
        id=meaning.id,
        name=pe_name(request.job_name, meaning.id),
        meaning=digest,
        content_id=content_id,
        config_map="",
        operators=tuple(operator.name for operator in meaning.operators),
        restartable=meaning.restartable,
        relocatable=meaning.relocatable,
        input_ports=tuple(port.id for port in meaning.inputs),
        regions=_regions(meaning),
        host_pool=place.host_pool,
        host=place.host,
        colocations=place.colocations,
        exlocations=place.exlocations,
        isolation=place.isolation,
        in_pool_index=place.in_pool_index,
        isolated=place.isolated,
    )


def _regions(meaning: PeMeaning) -> tuple[int, ...]:
    return tuple(sorted({level[4] for operator in meaning.operators for level in operator.levels}))


def _rendered(meaning: PeMeaning, request: PlanRequest, sizes: Sizes) -> bytes:
    text, bytes_max = render(meaning), request.limits.aadl_bytes_max
    size = len(text)
    if size > bytes_max:
        parts = {meaning.id: 2, **sizes.parts_needed(bytes_max, size / sizes.bytes_min(meaning.id))}
        refusal = sizes.too_large(request.job_name, meaning.id, str(size), bytes_max)
        raise _TooLarge(parts, refusal)
    return text


def _warnings(
    request: PlanRequest, values: SubmissionValues, fusion: Fusion, pes: int
) -> tuple[str, ...]:
    found = [
        *request.application.warnings,
        *values.warnings,
        *repeated(request.width_overrides),
    ]
    if fusion.scheme == "manual" and fusion.pes_max != pes:
        found.append(
            f"{counted(fusion.pes_max or 0, 'PE')} {agreeing(fusion.pes_max or 0, 'were')} "
            f"asked for and {pes} {agreeing(pes, 'were')} made, because of constraints or "
            "the number of operators (CDISR3035W)"
        )
    return tuple(found)
