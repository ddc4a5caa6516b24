"""What becomes of an edit of a running Job's spec: the next resize takes it up, or it is refused.

1. What would fail a submission is refused, and so is another value of a field that the first plan
   was made from: new fusion, or another bundle, would restart everything at a moment when a user
   requested one more channel (docs/adr/0004).
2. A refused edit is refused as a whole: nothing of that spec is taken up, the last good one counts.
3. The rules for pods are checked where the template changes: a job that was accepted under
   other settings keeps its template, but does not get another that goes as far.
4. What is accepted is the template of ProcessingElements: the next resize makes those that it adds
   or changes of it. spec.admission is no part of any PE: it is taken up at once.

Which field is which stands in docs/fields.md. Nothing is remembered here: an edit that is taken
back is not one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from contracts.reasons import Reason
from contracts.resources import JobSpec
from contracts.resources.job import Admission
from contracts.unreadable import Unreadable
from planner.graph.threading_models import Threading
from planner.numbering.records import Fusion
from planner.refusals import PlanRefused, shown
from services.fusion_backend.core.spec.accepting import refusal_of_spec, sentence
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.dividing import refusal_of_units
from services.fusion_backend.core.spec.inputs import (
    PlanInputs,
    admission_of,
    bundle_differences,
    bundle_source,
    fusion_of,
    overrides_of,
    template_of,
    threading_of,
    values_of,
)
from services.fusion_backend.core.spec.pod_rules import PodRules
from services.fusion_backend.core.spec.sizing import refusal_of_copies

Pairs = tuple[tuple[str, object], ...]
_NO_VALUE = "no value"
_NEVER_SET = (_NO_VALUE, "none")
"""What is in force of a field that the job was submitted without."""


def refusal_of_edit(
    spec: Mapping[str, Any], inputs: PlanInputs, rules: PodRules, pes: int
) -> PlanRefused | None:
    """Why the spec of a Job whose plan of `pes` PEs was made from `inputs` is refused, if it is."""
    refused = _refusal_as_submitted(spec, inputs, rules, pes)
    if refused is not None:
        field, value, why = refused.field, refused.value, sentence(refused)
        return _refusal(field, value, f"{why}; what runs is as before: take the edit back")
    for field, wanted, in_force in _differences(JobSpec.model_validate(spec), inputs):
        if field.startswith("spec.parallelRegions"):
            why = (
                f"{field} is {shown(wanted)}, and the job was submitted with {shown(in_force)}: the"
                f" widths of a job that runs are changed by `millrace scale {inputs.job_name}"
                " REGION=WIDTH` or `kubectl scale stpr NAME --replicas=WIDTH`;"
                f" {_way_back(in_force)}"
            )
            return _refusal(field, wanted, why)
        why = (
            f"{field} is {shown(wanted)}, and the job runs with {shown(in_force)}: it is not"
            f" changed while the job runs; {_way_back(in_force)}, or delete the Job and submit it"
            " again"
        )
        return _refusal(field, wanted, why)
    return None


def _refusal_of_template(template: str, inputs: PlanInputs, pes: int) -> PlanRefused | None:
    if template == inputs.template:
        return None
    refused = refusal_of_copies(replace(inputs, template=template), pes)
    return refused or refusal_of_units(orjson.loads(template), pes)


def _refusal_as_submitted(
    spec: Mapping[str, Any], inputs: PlanInputs, rules: PodRules, pes: int
) -> PlanRefused | None:
    """Why a submission would be refused, but for what its template was accepted with before."""
    if isinstance(spec, Unreadable):
        return refusal_of_spec(spec)
    template = template_of(spec)
    if spec.get("services") is None:
        spec = {**spec, "services": inputs.services}
    refused = refusal_of_spec(spec, None if template == inputs.template else rules)
    return refused or _refusal_of_template(template, inputs, pes)


def _way_back(in_force: object) -> str:
    return "take it out again" if in_force in _NEVER_SET else "set it back"


def _refusal(field: str, value: object, message: str) -> PlanRefused:
    return PlanRefused(Reason.EDIT_REFUSED, field=field, value=value, message=message)


def template_to_take_up(
    spec: Mapping[str, Any], inputs: PlanInputs, rules: PodRules, pes: int
) -> str:
    """The template of the plan after one of `pes` PEs: the newest one that is accepted."""
    if refusal_of_edit(spec, inputs, rules, pes) is not None:
        return inputs.template
    return template_of(spec)


def admission_to_take_up(
    spec: Mapping[str, Any], inputs: PlanInputs, rules: PodRules, pes: int
) -> Admission:
    """The newest value of spec.admission that is accepted: an edit of it is taken up at once."""
    if not isinstance(spec, Unreadable):
        in_force = admission_of(inputs, spec)
        if (spec.get("admission") or Admission.CHECK) == in_force:
            return in_force
    template = template_to_take_up(spec, inputs, rules, pes)
    return Admission(_template(template).get("admission") or Admission.CHECK)


def waiting_fields(spec: Mapping[str, Any], inputs: PlanInputs) -> tuple[str, ...]:
    """Fields of an accepted spec that wait for the next resize."""
    if not inputs.template or template_of(spec) == inputs.template:
        return ()
    changed = _changed(_template(inputs.template), _template(template_of(spec)), "spec")
    return tuple(field for field in changed if field != "spec.admission")


def _changed(before: object, after: object, place: str) -> Iterator[str]:
    """The fields that differ, as deep as groups of fields go; a group that is absent is empty."""
    groups = [each for each in (before, after) if each is not None]
    if groups and all(isinstance(each, Mapping) for each in groups):
        was, is_now = (each if isinstance(each, Mapping) else {} for each in (before, after))
        for name in sorted({*was, *is_now}):
            yield from _changed(was.get(name), is_now.get(name), f"{place}.{name}")
    elif before != after:
        yield place


def _template(text: str) -> dict[str, Any]:
    template: dict[str, Any] = orjson.loads(text) if text else {}
    return template


def _differences(spec: JobSpec, inputs: PlanInputs) -> Iterator[tuple[str, object, object]]:
    """(field, requested value, value in force) of the inputs of the first plan."""
    yield from bundle_differences(bundle_source(spec), inputs.bundle)
    fusion = fusion_of(spec, Cluster())
    if _fusion(fusion) != _fusion(inputs.fusion):
        yield "spec.fusion", _fusion(fusion), _fusion(inputs.fusion)
    threading = threading_of(spec)
    if threading != inputs.threading:
        yield "spec.threadingModel", _threading(threading), _threading(inputs.threading)
    if spec.services is not None and spec.services is not inputs.services:
        yield "spec.services", spec.services.value, inputs.services.value
    yield from _of_pairs(
        "spec.submissionTimeValues.{}", values_of(spec), inputs.submission_time_values
    )
    yield from _of_pairs(
        "spec.parallelRegions[{}].width", overrides_of(spec), inputs.width_overrides
    )


def _fusion(fusion: Fusion) -> str:
    scheme = f"manual {fusion.pes_max}" if fusion.requested == "manual" else fusion.requested
    return scheme if fusion.type == "noChannelInfluence" else f"{scheme}, type {fusion.type}"


def _threading(given: Threading | None) -> str:
    if given is None:
        return "none"
    if given.model != "dynamic":
        return given.model
    threads = "" if given.threads is None else f", threadCount {given.threads}"
    return f"dynamic{threads}, elastic {str(given.elastic).lower()}"


def _of_pairs(field: str, wanted: Pairs, in_force: Pairs) -> Iterator[tuple[str, object, object]]:
    if wanted == in_force:
        return
    before, after = dict(in_force), dict(wanted)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield (
                field.format(shown(name)),
                after.get(name, "not given"),
                before.get(name, _NO_VALUE),
            )
