"""Which widths are requested, and which of them can be put in force.

1. Widths that differ from the newest plan are tried together: one resize, one new generation.
2. If that is refused, they are added one by one in the order of names, and those that fit make the
   generation. So one person's impossible width does not hold up another's.
3. A region that is refused keeps the width in force, and its `status.refused` says why. The refusal
   is read back from there, so that a restarted service does not plan or place it again. It counts
   until the width is set again, a newer plan comes into force, or the inputs of the plan change.
4. Widths gather, wait for PEs to load their state (loading.py), and are tried again where they
   have no placement (trying_again.py).

Every trial is a plan under the digest of its inputs; a trial without an answer is planned first.
In memory, a refusal is an answer under that digest, and one of a placement for the widths as they
were requested. It is kept over the end of a resize, until the job fails, the Job is gone or the
service restarts; of a job's refused placements the newest 64 are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from contracts import labels
from contracts.reasons import UNPLACEABLE, Reason, reason_of
from contracts.resources.fields import INT32_MAX
from planner.numbering.records import RegionRecord
from planner.planning import PlanResult
from planner.refusals import PlanRefused, shown
from services.fusion_backend.core.appearing import have_appeared, lacked
from services.fusion_backend.core.awaited import Awaited
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.effects import RequestedWidths
from services.fusion_backend.core.loading import Loading, loading
from services.fusion_backend.core.placement_requests import placement_spec
from services.fusion_backend.core.seen import RefusedWidth, RegionSeen
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Outcome, Snapshot
from services.fusion_backend.core.spec.accepting import sentence
from services.fusion_backend.core.spec.editing import template_to_take_up
from services.fusion_backend.core.spec.inputs import PlanInputs, resized
from services.fusion_backend.core.trying_again import (
    LastAttempt,
    attempted,
    first_tried,
    gathers_until,
    is_unplaceable,
    look_again_at,
    of_last_attempt,
    stays,
)


@dataclass(frozen=True, slots=True)
class WidthRequests:
    """The plan that comes next, if one is wanted.

    `unplanned`: a trial without an answer; `ready`: what can be recorded, once it has a placement;
    `refused`: by region. `requested` are the widths of `ready`. `refusal`: why a job without a
    plan to go by gets none. `gathering` are regions whose widths gather until `look_again_at`, when
    a width may also be due to be tried again; `waiting` those whose widths wait for the PEs of
    `loading`; `first_tried`: when one of `requested` had no placement first (unix seconds).
    """

    unplanned: PlanInputs | None = None
    ready: PlanInputs | None = None
    refused: Mapping[str, RefusedWidth] = field(default_factory=dict)
    requested: RequestedWidths = ()
    refusal: PlanRefused | None = None
    gathering: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    loading: Loading | None = None
    look_again_at: float | None = None
    first_tried: float | None = None


def first_request(snapshot: Snapshot, inputs: PlanInputs) -> WidthRequests:
    """The first plan of an attempt, or of a job that has lost every record."""
    refusal = snapshot.provisions.refusal
    return WidthRequests(refusal=refusal) if refusal is not None else _of_one(snapshot, inputs)


def _of_one(snapshot: Snapshot, inputs: PlanInputs) -> WidthRequests:
    """A plan of widths that no region requests: an answer to it counts without any."""
    outcome = _answer_to(snapshot, inputs)
    if outcome is None:
        return WidthRequests(unplanned=inputs)
    if isinstance(outcome, PlanRefused):
        return WidthRequests(refusal=outcome)
    return WidthRequests(ready=inputs)


def _answer_to(
    snapshot: Snapshot, inputs: PlanInputs, widths: RequestedWidths = ()
) -> Outcome | None:
    """The plan of these inputs, or why there is none; None: nobody was asked.

    The planner's answer depends on its inputs only. The answer to a placement depends on the
    cluster, too: it counts for the widths as they were requested, so that requesting them again
    asks again.
    """
    refusal = snapshot.unplaced.get((inputs.digest, widths))
    return refusal or snapshot.outcomes.get(inputs.digest)


def width_requests(snapshot: Snapshot, plan: KnownPlan, now: float) -> WidthRequests:
    """What the ParallelRegions ask for now, beside what the newest plan has put in force.

    Where the plan in force is lost and only the one before is left, it is made again first: of the
    same widths, it is the same.
    """
    assert snapshot.job is not None, "widths belong to a Job"
    if snapshot.is_behind:
        return _made_again(snapshot, snapshot.job, plan)
    differing = _differing(snapshot, plan)
    if not differing:
        return WidthRequests()
    rules, pes = snapshot.pod_rules, len(plan.record.pes)
    template = template_to_take_up(snapshot.job.spec, plan.inputs, rules, pes)
    plan = replace(plan, inputs=replace(plan.inputs, template=template))
    wanted, refused = _sorted_out(snapshot, plan, differing, now)
    found = _of_wanted(snapshot, plan, wanted, refused, now) if wanted else WidthRequests()
    again = (look_again_at(each, snapshot.job, now) for each in refused.values())
    times = [found.look_again_at, *again]
    tried = [
        first_tried(each.refused)
        for region, each in differing.items()
        if region.name in wanted and each.attempts and each.refused is not None
    ]
    return replace(
        found,
        refused=refused,
        look_again_at=min((time for time in times if time is not None), default=None),
        first_tried=min((time for time in tried if time is not None), default=None),
    )


def _of_wanted(
    snapshot: Snapshot,
    plan: KnownPlan,
    wanted: Mapping[str, int],
    refused: dict[str, RefusedWidth],
    now: float,
) -> WidthRequests:
    """What follows from the widths to try; `refused` gets those that are refused beside others."""
    if (gathers := gathers_until(snapshot, plan, now)) is not None:
        return WidthRequests(gathering=frozenset(wanted), look_again_at=gathers)
    if (loads := loading(snapshot, plan, now)) is not None:
        return WidthRequests(waiting=frozenset(wanted), loading=loads, look_again_at=loads.until)
    together, requested = _trial(plan, wanted), _requested_of(snapshot, plan, wanted)
    outcome = _answer_to(snapshot, together, requested)
    if outcome is None:
        return WidthRequests(unplanned=together)
    if not isinstance(outcome, PlanRefused):
        return WidthRequests(ready=together, requested=requested)
    return _one_by_one(snapshot, plan, wanted, refused, now)


def _made_again(snapshot: Snapshot, job: JobSeen, plan: KnownPlan) -> WidthRequests:
    in_force: Mapping[str, int] = job.status.get("widths") or {}
    known = {name: in_force.get(name, width) for name, width in plan.record.widths.items()}
    inputs = replace(_trial(plan, known), generation=job.plan_generation)
    return _of_one(snapshot, inputs)


def _one_by_one(
    snapshot: Snapshot,
    plan: KnownPlan,
    wanted: Mapping[str, int],
    refused: dict[str, RefusedWidth],
    now: float,
) -> WidthRequests:
    job, accepted = snapshot.job, dict[str, int]()
    assert job is not None, "widths belong to a Job"
    for name in sorted(wanted):
        widths = {**accepted, name: wanted[name]}
        inputs = _trial(plan, widths)
        requested = _requested_of(snapshot, plan, widths)
        outcome = _answer_to(snapshot, inputs, requested)
        if outcome is None:
            return WidthRequests(unplanned=inputs)
        if not isinstance(outcome, PlanRefused):
            accepted[name] = wanted[name]
            continue
        found = _refused_width(plan, name, wanted[name], outcome, inputs.digest)
        if (inputs.digest, requested) in snapshot.unplaced and is_unplaceable(outcome):
            region = _region_named(snapshot, plan, name)
            in_force = plan.record.widths[name]
            found = replace(found, awaited=_lacked(snapshot, inputs))
            found = attempted(region, found, outcome, job, in_force=in_force, now=now)
        refused[name] = found
    if not accepted:
        return WidthRequests()
    requested = _requested_of(snapshot, plan, accepted)
    return WidthRequests(ready=_trial(plan, accepted), requested=requested)


def _region_named(snapshot: Snapshot, plan: KnownPlan, name: str) -> RegionSeen:
    region = next(each for each in plan.record.regions if each.name == name)
    seen = region_seen(snapshot, region)
    assert seen is not None, "a width is requested by its region"
    return seen


def _trial(plan: KnownPlan, wanted: Mapping[str, int]) -> PlanInputs:
    return resized(plan.inputs, plan.record, {**plan.record.widths, **wanted})


def _requested_of(
    snapshot: Snapshot, plan: KnownPlan, wanted: Mapping[str, int]
) -> RequestedWidths:
    regions = ((each.name, region_seen(snapshot, each)) for each in plan.record.regions)
    return tuple(
        (name, seen.spec_generation, seen.attempts)
        for name, seen in regions
        if seen is not None and name in wanted
    )


def _differing(snapshot: Snapshot, plan: KnownPlan) -> dict[RegionRecord, RegionSeen]:
    """The regions whose requested width is not that of the newest plan."""
    regions = ((region, region_seen(snapshot, region)) for region in plan.record.regions)
    return {
        region: seen
        for region, seen in regions
        if seen is not None and not seen.is_deleting and seen.width(region.width) != region.width
    }


def _sorted_out(
    snapshot: Snapshot, plan: KnownPlan, differing: Mapping[RegionRecord, RegionSeen], now: float
) -> tuple[dict[str, int], dict[str, RefusedWidth]]:
    """The widths to try, and those that are refused without a trial."""
    wanted: dict[str, int] = {}
    refused: dict[str, RefusedWidth] = {}
    for region, seen in differing.items():
        width = seen.width(region.width)
        if not 1 <= width <= snapshot.width_max:
            refusal = _out_of_bounds(region, width, snapshot.width_max)
            refused[region.name] = _refused_width(plan, region.name, width, refusal)
        elif (recorded := _recorded_refusal(seen, region, plan, width)) is not None:
            refused[region.name] = recorded
        elif (waiting := _of_last_attempt(snapshot, seen, region, plan, now)) is not None:
            refused[region.name] = waiting
        else:
            wanted[region.name] = width
    return wanted, refused


def _refused_width(
    plan: KnownPlan, name: str, width: int, refusal: PlanRefused, inputs_digest: str = ""
) -> RefusedWidth:
    """The refusal of a width; without a digest, it is found again at each decision."""
    message = sentence(refusal)
    in_force = plan.record.widths[name]
    return RefusedWidth(
        width=min(max(width, 0), INT32_MAX),  # a record may tell of what no API server stores
        reason=refusal.reason,
        message=message,
        inputs_digest=inputs_digest,
        generation=plan.record.generation,
        text=f"{stays(in_force)}{message}",
    )


def _recorded_refusal(
    seen: RegionSeen, region: RegionRecord, plan: KnownPlan, width: int
) -> RefusedWidth | None:
    """The refusal in the region's status; None if the width, the plan or its inputs are newer.

    A width that was refused beside an accepted one of another region is tried again: alone it may
    be put in force.
    """
    in_force = (seen.spec_generation, plan.record.generation, region.width)
    if seen.reported != in_force or seen.reason != Reason.WIDTH_REFUSED:
        return None
    digest = _trial(plan, {region.name: width}).digest
    if not seen.has_refused:
        return _refusal_of_older_release(seen, plan, width, digest)
    found = seen.refused
    if found is None or found.generation != plan.record.generation:
        return None
    return found if (found.width, found.inputs_digest) == (width, digest) else None


def _of_last_attempt(
    snapshot: Snapshot, seen: RegionSeen, region: RegionRecord, plan: KnownPlan, now: float
) -> RefusedWidth | None:
    assert snapshot.job is not None, "widths belong to a Job"
    if not seen.attempts:
        return None
    digest = _trial(plan, {region.name: seen.width(region.width)}).digest
    generation = plan.record.generation
    last = LastAttempt(
        seen,
        in_force=region.width,
        generation=generation,
        digest=digest,
        has_appeared=have_appeared(snapshot, seen.refused.awaited if seen.refused else ()),
    )
    return of_last_attempt(last, snapshot.job, now)


def _lacked(snapshot: Snapshot, inputs: PlanInputs) -> tuple[Awaited, ...]:
    """The nodes that the plan of these inputs lacks."""
    outcome = snapshot.outcomes.get(inputs.digest)
    if not isinstance(outcome, PlanResult):
        return ()
    plan = KnownPlan(outcome.record, inputs, port_labels_id="")
    return lacked(snapshot, placement_spec(snapshot, plan, is_in_force=False))


def _refusal_of_older_release(
    seen: RegionSeen, plan: KnownPlan, width: int, digest: str
) -> RefusedWidth | None:
    """A refusal without `status.refused`: only placements' were read back; the text stays whole."""
    reason = reason_of(condition(seen.status, "Accepted").get("reason"))
    if reason not in UNPLACEABLE:
        return None
    text = seen.message
    return RefusedWidth(width, reason, text, digest, plan.record.generation, text)


def _out_of_bounds(region: RegionRecord, width: int, width_max: int) -> PlanRefused:
    return PlanRefused(
        Reason.WIDTH_REFUSED,
        field=f"spec.width of parallel region {shown(region.name)}",
        value=width,
        message=f"spec.width of parallel region {shown(region.name)} is {width};"
        f" it must be from 1 to {width_max}",
    )


def region_seen(snapshot: Snapshot, region: RegionRecord) -> RegionSeen | None:
    """The ParallelRegion of a region, if it exists."""
    entry = snapshot.of("ParallelRegion").get(labels.pe_name(snapshot.name, region.index))
    return RegionSeen(entry) if entry is not None else None
