"""Which widths are requested, which of them can be put in force, and what a region reports.

1. Widths that differ from the newest plan are tried together: one resize, one new generation.
2. If that is refused, they are added one by one in the order of names, and those that fit make the
   generation. So one person's impossible width does not hold up another's.
3. A region that is refused keeps the width in force; the region's status says why. Where nodes were
   missing, that is remembered there: who wants it tried again says a width again, or a newer plan
   comes into force.

Every trial is a plan under the digest of its inputs; a trial without an answer is planned first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from contracts import labels
from contracts.reasons import UNPLACEABLE, Reason
from contracts.resources.fields import MESSAGE_CHARS_MAX
from planner.numbering.records import RegionRecord
from planner.refusals import PlanRefused, shown
from services.chassis.table.table import Entry, is_deleting
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.effects import RequestedWidths, WriteRegionStatus
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Outcome, Snapshot
from services.fusion_backend.core.spec.accepting import sentence
from services.fusion_backend.core.spec.editing import template_to_take_up
from services.fusion_backend.core.spec.inputs import PlanInputs, resized


@dataclass(frozen=True, slots=True)
class WidthRequests:
    """`unplanned`: a trial without an answer; `ready`: what can be recorded; `refused`: by region.

    `requested` are the widths of `ready`.
    """

    unplanned: PlanInputs | None = None
    ready: PlanInputs | None = None
    refused: Mapping[str, PlanRefused] = field(default_factory=dict)
    requested: RequestedWidths = ()


def width_requests(snapshot: Snapshot, plan: KnownPlan) -> WidthRequests:
    """What the ParallelRegions ask for, beside what the newest plan has put in force.

    Where the plan in force is lost and only the one before is left, it is made again first: of the
    same widths, it is the same.
    """
    assert snapshot.job is not None, "widths belong to a Job"
    if snapshot.is_behind:
        return _made_again(snapshot, snapshot.job, plan)
    wanted, refused = _wanted(snapshot, plan)
    if not wanted:
        return WidthRequests(refused=refused)
    rules, pes = snapshot.pod_rules, len(plan.record.pes)
    template = template_to_take_up(snapshot.job.spec, plan.inputs, rules, pes)
    plan = replace(plan, inputs=replace(plan.inputs, template=template))
    together, requested = _trial(plan, wanted), _requested_of(snapshot, plan, wanted)
    outcome = _outcome(snapshot, together, requested)
    if outcome is None:
        return WidthRequests(unplanned=together, refused=refused)
    if not isinstance(outcome, PlanRefused):
        return WidthRequests(ready=together, refused=refused, requested=requested)
    if len(wanted) == 1:
        return WidthRequests(refused={**refused, **dict.fromkeys(wanted, outcome)})
    return _one_by_one(snapshot, plan, wanted, refused)


def _made_again(snapshot: Snapshot, job: JobSeen, plan: KnownPlan) -> WidthRequests:
    in_force: Mapping[str, int] = job.status.get("widths") or {}
    known = {name: in_force.get(name, width) for name, width in plan.record.widths.items()}
    inputs = replace(_trial(plan, known), generation=job.plan_generation)
    outcome = _outcome(snapshot, inputs)
    if outcome is None:
        return WidthRequests(unplanned=inputs)
    is_refused = isinstance(outcome, PlanRefused)
    return WidthRequests() if is_refused else WidthRequests(ready=inputs)


def _one_by_one(
    snapshot: Snapshot,
    plan: KnownPlan,
    wanted: Mapping[str, int],
    refused: dict[str, PlanRefused],
) -> WidthRequests:
    accepted: dict[str, int] = {}
    for name in sorted(wanted):
        widths = {**accepted, name: wanted[name]}
        inputs = _trial(plan, widths)
        outcome = _outcome(snapshot, inputs, _requested_of(snapshot, plan, widths))
        if outcome is None:
            return WidthRequests(unplanned=inputs, refused=refused)
        if isinstance(outcome, PlanRefused):
            refused[name] = outcome
        else:
            accepted[name] = wanted[name]
    if not accepted:
        return WidthRequests(refused=refused)
    requested = _requested_of(snapshot, plan, accepted)
    return WidthRequests(ready=_trial(plan, accepted), refused=refused, requested=requested)


def _trial(plan: KnownPlan, wanted: Mapping[str, int]) -> PlanInputs:
    return resized(plan.inputs, plan.record, {**plan.record.widths, **wanted})


def _outcome(
    snapshot: Snapshot, inputs: PlanInputs, widths: RequestedWidths = ()
) -> Outcome | None:
    unplaced = snapshot.unplaced.get((inputs.digest, widths))
    return unplaced or snapshot.outcomes.get(inputs.digest)


def _requested_of(
    snapshot: Snapshot, plan: KnownPlan, wanted: Mapping[str, int]
) -> RequestedWidths:
    entries = ((each.name, region_entry(snapshot, each)) for each in plan.record.regions)
    return tuple(
        (name, int(entry.data["metadata"]["generation"]))
        for name, entry in entries
        if entry is not None and name in wanted
    )


def _wanted(snapshot: Snapshot, plan: KnownPlan) -> tuple[dict[str, int], dict[str, PlanRefused]]:
    wanted: dict[str, int] = {}
    refused: dict[str, PlanRefused] = {}
    for region in plan.record.regions:
        entry = region_entry(snapshot, region)
        if entry is None or is_deleting(entry):
            continue
        width = int(entry.data["spec"].get("width", region.width))
        if width == region.width:
            continue
        if not 1 <= width <= snapshot.width_max:
            refused[region.name] = _out_of_bounds(region, width, snapshot.width_max)
        elif (refusal := _reported_unplaced(entry, region, plan)) is not None:
            refused[region.name] = refusal
        else:
            wanted[region.name] = width
    return wanted, refused


def _reported_unplaced(entry: Entry, region: RegionRecord, plan: KnownPlan) -> PlanRefused | None:
    """The refusal in the region's status, if these widths had no placement beside this plan."""
    status, accepted = entry.data["status"], condition(entry.data["status"], "Accepted")
    stands = (status.get("observedGeneration"), status.get("generation"), status.get("width"))
    reason = accepted.get("reason")
    if (
        stands != (entry.data["metadata"]["generation"], plan.record.generation, region.width)
        or status.get("reason") != Reason.WIDTH_REFUSED
        or reason not in UNPLACEABLE
    ):
        return None
    message = str(status.get("message") or "").removeprefix(_stays(region))
    return PlanRefused(Reason(reason), field="", value="", message=message)  # type: ignore[call-arg]


def _stays(region: RegionRecord) -> str:
    return f"width {region.width} stays in force: "


def _out_of_bounds(region: RegionRecord, width: int, width_max: int) -> PlanRefused:
    return PlanRefused(
        Reason.WIDTH_INVALID,
        field=f"spec.width of parallel region {shown(region.name)}",
        value=width,
        message=f"spec.width of parallel region {shown(region.name)} is {width};"
        f" it must be from 1 to {width_max}",
    )


def region_entry(snapshot: Snapshot, region: RegionRecord) -> Entry | None:
    """The ParallelRegion of a region, if it exists."""
    return snapshot.of("ParallelRegion").get(labels.pe_name(snapshot.name, region.index))


@dataclass(frozen=True, slots=True)
class Waiting:
    """What wanted widths wait for, as a sentence without its subject, and why."""

    reason: Reason
    text: str


def outdated_statuses(
    snapshot: Snapshot,
    plan: KnownPlan,
    widths: WidthRequests,
    waiting: Waiting | None,
    *,
    is_settled: bool,
) -> tuple[WriteRegionStatus, ...]:
    """Statuses of ParallelRegions that do not say what is so.

    A new width is reported in force only when the generation is complete (`is_settled`).
    """
    statuses = []
    requested = dict(widths.requested) if waiting is not None else {}
    for region in plan.record.regions:
        entry = region_entry(snapshot, region)
        if entry is None or is_deleting(entry):
            continue
        refusal = widths.refused.get(region.name)
        status = _in_force(entry, region, plan.record.generation)
        if refusal is not None:
            status = _refused(status, region, refusal)
        elif waiting is not None and region.name in requested:
            status = _waits(status, region, entry, waiting)
        elif not is_settled:
            continue
        if not _is_current(entry, status):
            statuses.append(status)
    return tuple(statuses)


def _in_force(entry: Entry, region: RegionRecord, generation: int) -> WriteRegionStatus:
    return WriteRegionStatus(
        name=entry.name,
        index=region.index,
        width=region.width,
        generation=generation,
        observed_generation=int(entry.data["metadata"]["generation"]),
        reason=Reason.WIDTH_IN_FORCE,
        message=f"width {region.width} is in force",
    )


def _refused(
    desired: WriteRegionStatus, region: RegionRecord, refusal: PlanRefused
) -> WriteRegionStatus:
    message = f"{_stays(region)}{sentence(refusal)}"[:MESSAGE_CHARS_MAX]
    return replace(desired, reason=Reason.WIDTH_REFUSED, message=message, refusal=refusal.reason)


def _waits(
    desired: WriteRegionStatus, region: RegionRecord, entry: Entry, waiting: Waiting
) -> WriteRegionStatus:
    wanted = f"width {entry.data['spec']['width']} {waiting.text}"
    message = f"{_stays(region)}{wanted}"[:MESSAGE_CHARS_MAX]
    return replace(desired, reason=Reason.WIDTH_WAITS, message=message, awaited=waiting.reason)


def _is_current(entry: Entry, desired: WriteRegionStatus) -> bool:
    status = entry.data["status"]
    written = {key: status.get(key) for key in ("width", "reason", "message", "observedGeneration")}
    return written == {
        "width": desired.width,
        "reason": desired.reason.value,
        "message": desired.message,
        "observedGeneration": desired.observed_generation,
    }
