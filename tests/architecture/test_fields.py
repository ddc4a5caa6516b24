"""When a field is taken up is asked of both services: docs/fields.md cannot say otherwise.

Each field is edited alone, and everything that reads a spec is run on both versions: the inputs of
the first plan, the ProcessingElement that is made, the deadline of a submission, the pod of a
launch, and what is decided of pods that run or have ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from contracts.reasons import Reason
from contracts.resources import JobSpec, ProcessingElementSpec, ProcessingElementTemplate
from contracts.resources.fields import Fields
from contracts.resources.mutability import (
    JOB_FIELDS,
    OTHER_NAMES,
    PE_FIELDS,
    FieldNote,
    Moment,
    nearest,
)
from contracts.resources.scaling import hand_over_s
from contracts.resources.structural import structural
from deploy.fields import (
    IGNORED_WHY,
    TEMPLATE,
    Field,
    job_fields,
    note_of,
    pe_fields,
    template_fields,
)
from planner.numbering.records import Fusion, HighWater, PeRecord, PlanRecord
from services.fusion_backend.core.admission import AdmissionInForce
from services.fusion_backend.core.children import processing_element
from services.fusion_backend.core.effects import KeepCertificate
from services.fusion_backend.core.provisions_due import provisions_due
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Snapshot
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.inputs import (
    PlanInputs,
    first_inputs,
    spec_in_force,
    template_of,
)
from services.fusion_backend.core.trying_again import settle_s
from services.launching.core.effects import PatchStatus
from services.pod_state_machine.adapters.reading import job_view, pe_of
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.pod_spec import RuntimeImage, pod_of_launch
from tests.builders import (
    EPOCH_TIME,
    Builder,
    PeBuilder,
    a_host_pool,
    a_job,
    a_node,
    a_pe,
    a_placement,
    a_pod,
)
from tests.unit.pod_state_machine.cluster import decided, snapshot_of, submitted, waits_for_others

Json = dict[str, Any]
Probe = Callable[[Json, Json], bool]
"""Whether a spec before an edit and after it make a difference."""
Scene = Callable[[PeBuilder], tuple[Builder, ...]]
"""A PE with its pods."""

PE = PeRecord(
    0, "shop-0", "m", "c1", "shop-0-c1", ("A",), True, True, (), (), exlocations=("apart",)
)
RECORD = PlanRecord(
    generation=0,
    bundle_digest="d",
    job_name="shop",
    job_id=0,
    application_name="app::Main",
    application_scope="Default",
    fusion=Fusion.legacy(),
    regions=(),
    pools=(),
    pes=(PE, PE),
    operators=(),
    port_runs=(),
    splitters=(),
    high_water=HighWater(),
)
# --------------------------------------------------------------------------- specs


VARIANTS = range(3)


def sample(schema: Mapping[str, Any], variant: int) -> Any:
    """A value of this schema; among the variants is one that differs from what is done without."""
    if "enum" in schema:
        return schema["enum"][variant % len(schema["enum"])]
    if schema.get("x-kubernetes-int-or-string"):
        return str(variant + 2)
    if "priorityClassName" in schema.get("properties", ()):
        return {"priorityClassName": f"text-{variant}"}
    if "additionalProperties" in schema:
        return {"memory": sample(schema["additionalProperties"], variant)}
    match schema["type"]:
        case "object":
            return least(schema)
        case "array":
            return [sample(schema["items"], variant)]
        case "boolean":
            return variant == 0
        case "integer":
            return int(schema.get("minimum", 0)) + variant + 1
    if "pattern" not in schema:
        return f"text-{variant}"
    samples = ("TLSv1.2", f"/text-{variant}", f"text-{variant}")
    return next(each for each in samples if re.search(schema["pattern"], each))


def least(schema: Mapping[str, Any]) -> Json:
    """The smallest object of this schema: what is required, and nothing else."""
    return {name: sample(schema["properties"][name], 0) for name in schema.get("required", ())}


def spec_with(schema: Mapping[str, Any], steps: list[str], variant: int | None) -> Json:
    """The smallest spec that has a field; variant None: the same, and the field left out."""
    name = steps[0].removesuffix("[]")
    child = schema["properties"][name]
    if steps[1:]:
        is_list = steps[0].endswith("[]")
        inner = spec_with(child["items"] if is_list else child, steps[1:], variant)
        return {**least(schema), name: [inner] if is_list else inner}
    return least(schema) | ({} if variant is None else {name: sample(child, variant)})


_URL: Json = {"bundle": {"url": "https://example.com/x.sab"}}
_CONSTRAINT: Json = {"placement": {"coLocations": ["together"]}}
MEANT_BESIDE: Mapping[tuple[type[Fields], str], Json] = {
    (JobSpec, "bundle.pullPolicy"): _URL,
    (JobSpec, "bundle.secret"): _URL,
    (ProcessingElementSpec, "placement.topologyKey"): _CONSTRAINT,
    (ProcessingElementSpec, "placement.required"): _CONSTRAINT,
    (ProcessingElementSpec, "placement.nodeName"): _CONSTRAINT,
    (ProcessingElementSpec, "resizesInPlace"): {"resources": {"requests": {"cpu": "7"}}},
}
"""What has to be given, too, for a field of a group to mean anything."""


def edits(model: type[Fields], field: Field) -> list[tuple[Json, Json]]:
    """Specs before and after an edit of this field alone."""
    schema, steps = structural(model), field.path.split(".")
    before = spec_with(schema, steps, None)
    afters = [spec_with(schema, steps, variant) for variant in VARIANTS]
    for spec in (before, *afters):
        for group, beside in MEANT_BESIDE.get((model, field.path), {}).items():
            spec[group] = {**(spec.get(group) or {}), **beside}
    return [(before, after) for after in afters if after != before]


# --------------------------------------------------------------------------- what reads a Job


def seen(spec: Json) -> JobSeen:
    status = {"phase": "Submitting", "startedAt": EPOCH_TIME}
    return JobSeen("default", "shop", "u", 1, False, False, "", spec, status)


def planned_from(spec: Json) -> PlanInputs:
    return first_inputs(
        JobSpec.model_validate(spec), job_name="shop", job_id=0, generation=0, cluster=Cluster(7)
    )


def refused_fusion(spec: Json) -> bool:
    refusal = refusal_of_spec(spec)
    return refusal is not None and refusal.reason is Reason.FUSION_INVALID


def made_for(spec: Json) -> Json:
    """A PE of a plan that was made when the template said this, of a bundle of before."""
    inputs = replace(planned_from(least(structural(JobSpec))), template=template_of(spec))
    job = seen(dict(spec_in_force(inputs, spec)))
    body = processing_element(job, RECORD, PE, launch_count=0)["spec"]
    assert isinstance(body, dict)
    return body


def submission_times(spec: Json) -> tuple[float | None, int]:
    """The deadline of an attempt, and for how long others follow (seconds)."""
    job = seen(spec)
    return Situation(Snapshot("default", "shop", job=job), now=0.0).deadline, job.retry_s


def launched_later(made: Json, spec: Json) -> Json:
    """The pod of a PE that was made before, of a Job as it is now."""
    pe = a_pe().with_spec(**made).entry()
    return pod_of_launch(pe_of(pe), job_view(a_job().with_spec(**spec).entry()), 1, RuntimeImage())


def certified_for(spec: Json) -> tuple[object, ...]:
    """What is due of a job that has its plan and talks over TLS."""
    template = spec.get(TEMPLATE) or {}
    encrypted = {**spec, TEMPLATE: {**template, "transportSecurityType": "TLSv1.2"}}
    plan = KnownPlan(RECORD, planned_from(spec), "")
    snapshot = Snapshot("default", "shop", job=seen(encrypted), plans={0: plan})
    due = provisions_due(snapshot, now=0.0)
    return tuple(each for each in due if isinstance(each, KeepCertificate))


def admitted_for(before: Json, after: Json) -> bool:
    """Whether an edit makes a difference to a job in force, whose plan was made before."""

    def has_placement(spec: Json) -> tuple[bool, object]:
        free = replace(RECORD, pes=(replace(PE, exlocations=()),))
        inputs = replace(planned_from(before), template=template_of(before))
        plan = KnownPlan(free, inputs, "")
        snapshot = Snapshot("default", "shop", job=seen(spec), plans={0: plan})
        in_force = AdmissionInForce(snapshot, plan, now=0.0, is_settled=True)
        return in_force.has_placement, in_force.admission

    return has_placement(before) != has_placement(after)


JOB_PROBES: Mapping[Moment, Probe] = {
    Moment.ADMISSION: admitted_for,
    Moment.CERTIFICATE: lambda before, after: certified_for(before) != certified_for(after),
    Moment.FIRST_PLAN: lambda before, after: (
        planned_from(before) != planned_from(after)
        or refused_fusion(before) != refused_fusion(after)
    ),
    Moment.PE_MADE: lambda before, after: made_for(before) != made_for(after),
    Moment.HEALTH: lambda *specs: len({seen(each).loss_retention_s for each in specs}) > 1,
    Moment.SUBMISSION: lambda before, after: submission_times(before) != submission_times(after),
    Moment.RESIZE: lambda *specs: any(
        len({read(spec.get("scaling")) for spec in specs}) > 1 for read in (settle_s, hand_over_s)
    ),
    Moment.LAUNCH: lambda before, after: (
        launched_later(made_for(before), before) != launched_later(made_for(before), after)
    ),
}

# --------------------------------------------------------------------------- what reads a PE


def decisions(scene: Scene, spec: Json) -> list[tuple[str, str, bool]]:
    """What is decided, in kind: each effect, and a status's phase and whether it names a pod."""
    effects = decided(*scene(a_pe().with_spec(**spec)), submitted()).effects
    return [
        (type(each).__name__, each.status.phase, bool(each.status.pod))
        if isinstance(each, PatchStatus)
        else (type(each).__name__, "", False)
        for each in effects
    ]


def runs(pe: PeBuilder) -> tuple[Builder, ...]:
    return pe.launched(1), a_pod().in_phase("Running")


ENDED: tuple[Scene, ...] = (
    lambda pe: (pe.launched(1, phase="Failed"), a_pod().in_phase("Failed")),
    lambda pe: (pe.launched(1, phase="Completed"), a_pod().in_phase("Succeeded")),
    lambda pe: (pe.launched(1, phase="Stopped"),),
    lambda pe: (pe.launched(1).with_status(restarts=3), a_pod().in_phase("Failed")),
    lambda pe: (
        pe.launched(1, phase="Failed").with_spec(restartFailedPod=False),
        a_pod().in_phase("Failed"),
    ),
    lambda pe: (
        pe.launched(5).with_spec(deleteFailedPod=False),
        *(a_pod(launch=launch).in_phase("Failed") for launch in (1, 2, 3, 4)),
        a_pod(launch=5).in_phase("Running"),
    ),
    lambda pe: (
        pe.launched(2),
        a_pod().in_phase("Failed"),
        a_pod(launch=2).in_phase("Running"),
    ),
)


LEAVING = a_pod().in_phase("Running").on_node("n1").deleting()
HANGING: tuple[Scene, ...] = (
    lambda pe: (pe.launched(2, phase="Waiting"), LEAVING),
    lambda pe: (
        pe.launched(2, phase="Waiting").with_spec(nodeLossTimeOutInSeconds=10),
        LEAVING,
        a_node("n1"),
    ),
)


NODE = "n1"
PLACED: tuple[Builder, ...] = (
    a_placement({NODE: "0-9"}),
    a_node(NODE),
    *(a_host_pool(index=at).with_tags(f"tag-{at}") for at in range(9)),
)


def launched(spec: Json) -> tuple[Json, bool]:
    """The pod of a PE that has a place, and a host pool, should it ask for them."""
    pe = a_pe().with_spec(**spec)
    snapshot = snapshot_of(pe, *PLACED)
    assert snapshot.owner is not None
    place = place_of(snapshot)
    pod = pod_of_launch(snapshot.owner, job_view(a_job().entry()), 1, RuntimeImage(), place)
    return pod, waits_for_others(spec, PLACED)


def is_seen_while_it_runs(before: Json, after: Json) -> bool:
    return decisions(runs, before) != decisions(runs, after)


def is_seen_only_in(scenes: Iterable[Scene], before: Json, after: Json) -> bool:
    return not is_seen_while_it_runs(before, after) and any(
        decisions(scene, before) != decisions(scene, after) for scene in scenes
    )


PE_PROBES: Mapping[Moment, Probe] = {
    Moment.LAUNCH: lambda before, after: launched(before) != launched(after),
    Moment.AT_ONCE: is_seen_while_it_runs,
    Moment.POD_END: lambda before, after: is_seen_only_in(ENDED, before, after),
    Moment.POD_HANGS: lambda before, after: is_seen_only_in(HANGING, before, after),
}

# --------------------------------------------------------------------------- the tests


def found(probes: Mapping[Moment, Probe], pairs: list[tuple[Json, Json]]) -> set[Moment]:
    assert pairs, "an edit that changes nothing shows nothing"
    return {
        moment
        for moment, differs in probes.items()
        if any(differs(before, after) for before, after in pairs)
    }


def leaves(of: Iterable[Field]) -> list[Field]:
    return [each for each in of if each.is_leaf]


def note_under_first_name(field: Field) -> FieldNote:
    head, dot, rest = field.path.partition(".")
    path = f"{OTHER_NAMES.get(head, head)}.{rest}" if dot else head
    return note_of(PE_FIELDS, Field(path, field.schema, field.is_required))


@pytest.mark.parametrize("field", leaves(job_fields()), ids=lambda field: field.path)
def test_a_job_s_field_is_taken_up_when_its_note_says(field: Field) -> None:
    """Also that nothing reads what has no moment."""
    assert found(JOB_PROBES, edits(JobSpec, field)) == set(note_of(JOB_FIELDS, field).taken_up)


@pytest.mark.parametrize("field", leaves(template_fields()), ids=lambda field: field.path)
def test_a_template_s_field_is_written_into_pes_that_are_made_unless_it_is_ignored(
    field: Field,
) -> None:
    pairs = [
        tuple({"bundle": {"name": "shop.sab"}, TEMPLATE: template} for template in pair)
        for pair in edits(ProcessingElementTemplate, field)
    ]
    is_ignored = nearest(IGNORED_WHY, f"{TEMPLATE}.{field.path}") is not None
    expected = set() if is_ignored else {Moment.PE_MADE}
    assert found(JOB_PROBES, [(before, after) for before, after in pairs]) == expected


@pytest.mark.parametrize("field", leaves(pe_fields()), ids=lambda field: field.path)
def test_a_pe_s_field_is_taken_up_when_its_note_says(field: Field) -> None:
    """Also that nothing reads what has no moment."""
    moments = set(note_under_first_name(field).taken_up)
    assert found(PE_PROBES, edits(ProcessingElementSpec, field)) == moments


def is_in(field: Field, group: Field) -> bool:
    return field.path.startswith((f"{group.path}.", f"{group.path}[]"))


@pytest.mark.parametrize(
    ("notes", "of"), [(JOB_FIELDS, job_fields()), (PE_FIELDS, pe_fields())], ids=["Job", "PE"]
)
def test_a_group_is_taken_up_when_some_field_of_it_is(
    notes: Mapping[str, FieldNote], of: tuple[Field, ...]
) -> None:
    for group in (each for each in of if not each.is_leaf and each.path != TEMPLATE):
        inside = (each for each in leaves(of) if is_in(each, group))
        moments = {moment for each in inside for moment in note_of(notes, each).taken_up}
        own = set(note_of(notes, group).taken_up)
        assert own <= moments, group.path
        assert bool(own) == bool(moments), group.path
