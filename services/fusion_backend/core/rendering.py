"""From an effect about a child to the body that is written: finds what the plan says of it.

`children.py` knows how each kind looks; here is only which part of the plan it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from contracts import labels
from planner.numbering.records import PeRecord, PoolRecord
from services.chassis.table.entries import Entry
from services.fusion_backend.core import children, packs, pe_services
from services.fusion_backend.core.children import Body
from services.fusion_backend.core.effects import CreateChild, PatchChild
from services.fusion_backend.core.placement_requests import placement_spec
from services.fusion_backend.core.placement_states import question_of
from services.fusion_backend.core.seen import PeSeen, labels_of, owner_uids_of
from services.fusion_backend.core.shares import Shares
from services.fusion_backend.core.snapshot import (
    JobSeen,
    KnownPlan,
    Snapshot,
    plan_recorded_in,
    stamp_of,
)
from services.fusion_backend.core.spec.inputs import spec_in_force
from services.fusion_backend.core.spec.pod_rules import hardened
from services.fusion_backend.core.spec.runtime_image import image_of, with_image

PATCHED_KINDS = ("ConfigMap", "Service", "HostPool", "Placement", "ProcessingElement")
"""Children that a newer generation changes; `patch_of` has a case for each."""
_KINDS_OF_PES = frozenset({"ConfigMap", "Service", "ProcessingElement"})


def body_of(snapshot: Snapshot, effect: CreateChild) -> Body:
    """The body to POST."""
    job, plan = _job_and_plan(snapshot, effect)
    record = plan.record
    match effect.kind:
        case "ConfigMap" if effect.pe < 0:
            text = snapshot.texts[plan.port_labels_id]
            return children.job_config_map(job, effect.generation, plan.port_labels_id, text)
        case "ConfigMap":
            members = [pe for pe in record.pes if pe.config_map == effect.name]
            return packs.config_map(job, effect.generation, members, snapshot.texts)
        case "Service":
            return pe_services.service(job, record, _pe_if_named(snapshot, plan, effect))
        case "ProcessingElement":
            pe = _pe(snapshot, plan, effect.pe)
            launched = snapshot.launches.get(pe.name)
            floor = 0 if launched is None else launched + 1
            return children.processing_element(
                _as_planned(job, plan, snapshot),
                record,
                pe,
                launch_count=floor,
                starts_last=effect.starts_last,
                share=Shares(snapshot, plan).of_new(),
            )
        case "ParallelRegion":
            return next(
                children.parallel_region(
                    job, record, region, width=snapshot.lost_widths.get(effect.name)
                )
                for region in record.regions
                if labels.pe_name(job.name, region.index) == effect.name
            )
        case "HostPool":
            return children.host_pool(job, record, _pool(job, plan, effect.name))
        case "Placement":
            spec = placement_spec(snapshot, plan, is_in_force=effect.planned_from is None)
            return children.placement(job, record, spec)
    raise AssertionError(f"no child is of kind {effect.kind}")


def patch_of(snapshot: Snapshot, effect: PatchChild, entry: Entry) -> Body:
    """The merge patch that brings a child to what the plan says."""
    job, plan = _job_and_plan(snapshot, effect)
    match effect.kind:
        case "ConfigMap":
            text = snapshot.texts[plan.port_labels_id]
            return children.job_config_map_patch(effect.generation, plan.port_labels_id, text)
        case "Service":
            of_pe = _pe_if_named(snapshot, plan, effect)
            return pe_services.service_patch(job, effect.generation, of_pe, entry)
        case "ProcessingElement":
            pe = _pe(snapshot, plan, effect.pe)
            shares = Shares(snapshot, plan)
            if PeSeen(entry).content_id == pe.content_id:
                if references := children.references_patch(entry, pe, plan.service):
                    return references
                return children.share_patch(entry, shares.equal)
            planned = _as_planned(job, plan, snapshot)
            has_launched = pe.name in snapshot.launches
            return children.processing_element_patch(
                planned,
                plan.record,
                pe,
                entry,
                has_launched=has_launched,
                share=shares.of_new(),
            )
        case "HostPool":
            return children.host_pool_patch(job, plan.record, _pool(job, plan, effect.name))
        case "Placement":
            spec = placement_spec(snapshot, plan, is_in_force=effect.planned_from is None)
            return children.placement_patch(effect.generation, spec)
    raise AssertionError(f"no child of kind {effect.kind} is ever patched")


def _pool(job: JobSeen, plan: KnownPlan, name: str) -> PoolRecord:
    return next(pool for pool in plan.record.pools if labels.pe_name(job.name, pool.index) == name)


def adoption_of(snapshot: Snapshot, entry: Entry) -> Body:
    """The merge patch that gives a child its owner and its labels back, where it lacks them."""
    assert snapshot.job is not None, "a child belongs to a Job"
    plan, seen = snapshot.newest, labels_of(entry)
    assert plan is not None, "only what a plan names is compared"
    wanted = marks_wanted(snapshot, plan, entry)
    if stamp_of(entry) < 0:
        wanted |= {labels.GENERATION: str(plan.record.generation)}
    lacking = {key: each for key, each in wanted.items() if seen.get(key) != each}
    patch: Body = {"labels": lacking} if lacking else {}
    if not owner_uids_of(entry):
        patch["ownerReferences"] = [children.owner_of(snapshot.job)]
    return {"metadata": patch}


def marks_wanted(snapshot: Snapshot, plan: KnownPlan, entry: Entry) -> dict[str, str]:
    """The labels that a planned child has at least, but for its generation."""
    assert snapshot.job is not None, "a child belongs to a Job"
    marks = children.marks_of_job(snapshot.job)
    recorded = plan_recorded_in(entry.name, snapshot.name)
    if recorded is not None:
        return marks | {labels.PLAN: str(recorded)}
    if entry.kind == "Service" and entry.name == plan.service:
        return {**marks, **pe_services.MARKS_OF_JOB_SERVICE}
    pe = _pe_named(snapshot, plan, entry)
    if pe is None:
        return marks
    marks |= children.marks_of_pe(pe.id)
    return marks | children.marks_of_regions(pe) if entry.kind == "ProcessingElement" else marks


def _pe_named(snapshot: Snapshot, plan: KnownPlan, entry: Entry) -> PeRecord | None:
    """The PE that a child is written for, by the names of children."""
    if entry.kind not in _KINDS_OF_PES:
        return None
    number = entry.name.removeprefix(f"{snapshot.name}-").partition("-")[0]
    is_of_pe = entry.name != snapshot.name and number.isdecimal()
    return snapshot.pe_records(plan).get(int(number)) if is_of_pe else None


def _as_planned(job: JobSeen, plan: KnownPlan, snapshot: Snapshot) -> JobSeen:
    """The Job with its spec of the time of the plan: later edits are not for these PEs.

    An application in Python runs in millrace's own runtime, unless the Job names an image.
    """
    spec: Mapping[str, Any] = spec_in_force(plan.inputs, job.spec)
    spec = hardened(spec, snapshot.pod_rules)
    is_python, default = plan.record.is_python, snapshot.runtime_image
    image = image_of(spec, is_python=is_python, runtime_image=default)
    return replace(job, spec=with_image(spec, image))


def _job_and_plan(
    snapshot: Snapshot, effect: CreateChild | PatchChild
) -> tuple[JobSeen, KnownPlan]:
    assert snapshot.job is not None, "a child belongs to a Job"
    if effect.planned_from is None:
        return snapshot.job, snapshot.plans[effect.generation]
    question = question_of(snapshot, effect.planned_from)
    assert question is not None, "only a plan that was made is requested"
    return snapshot.job, question.plan


def _pe(snapshot: Snapshot, plan: KnownPlan, pe_id: int) -> PeRecord:
    return snapshot.pe_records(plan)[pe_id]


def _pe_if_named(
    snapshot: Snapshot, plan: KnownPlan, effect: CreateChild | PatchChild
) -> PeRecord | None:
    """The PE that a child is of; None for a child of the whole job."""
    return None if effect.pe < 0 else _pe(snapshot, plan, effect.pe)
