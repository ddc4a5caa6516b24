"""Whether a Job's spec can be accepted before anything is read: a chain of small checks.

Each check gives a refusal with reason, field, value and a sentence, or nothing; where it finds
several fields wrong, the sentence names them all. What only the planner can find out is refused
there, by the same exception.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from contracts.names import KEY_RULE, is_key
from contracts.reasons import Reason
from contracts.resources import JobSpec, ignored_fields
from contracts.resources.job import Services
from contracts.resources.pod_shapes import Unknown, unknown
from contracts.resources.pod_template import contradictions
from contracts.resources.scaling import HAND_OVER_SECONDS_SHORT, hand_over_s
from contracts.unreadable import Unreadable
from planner.refusals import PlanRefused, shown
from services.fusion_backend.core.spec.bundle_urls import refusal_of_urls
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES, PodRules, faults_of
from services.fusion_backend.core.spec.provisions import TEMPLATE, redis_request, refusal_of_redis
from services.fusion_backend.core.spec.sizing import refusal_of_size

FAULTS_NAMED_MAX = 5


class _Fault(NamedTuple):
    """A field that cannot be as it is, and what to do about it."""

    field: str
    value: Any
    why: str


def refusal_of_spec(
    spec: Mapping[str, Any], rules: PodRules | None = DEFAULT_RULES
) -> PlanRefused | None:
    """Why a Job's spec cannot be accepted, before anything is read or planned.

    `rules` are what it may ask of its pods; None where that was accepted before.
    """
    if isinstance(spec, Unreadable):
        message = f"{spec.why}: make it flatter or smaller, or delete the Job"
        return PlanRefused(Reason.OBJECT_UNREADABLE, field="spec", value="", message=message)
    if (too_large := refusal_of_size(spec)) is not None:
        return too_large
    try:
        JobSpec.model_validate(spec)
    except ValidationError as error:
        return _refusal(
            _Fault(
                ".".join(("spec", *(str(step) for step in each["loc"]))),
                each.get("input", ""),
                each["msg"],
            )
            for each in error.errors()
        )
    return (
        refusal_of_urls(spec.get("bundle") or {})
        or _no_fusion(spec.get("fusion") or {})
        or _no_topology(spec.get("placement") or {})
        or _no_pod(spec)
        or _too_much(spec, rules)
    )


def _refusal(faults: Iterable[_Fault], reason: Reason = Reason.SPEC_INVALID) -> PlanRefused:
    """One refusal of all faults, so that a user can correct them at once."""
    found = list(faults)
    parts = [
        f"{each.field}: {each.why}" + (f" (it is {shown(each.value)})" if _is_set(each) else "")
        for each in found[:FAULTS_NAMED_MAX]
    ]
    more = len(found) - len(parts)
    message = "; ".join(parts) + (f"; and {more} more" if more > 0 else "")
    first = found[0]
    value = shown(first.value) if _is_set(first) else ""
    return PlanRefused(reason, field=first.field, value=value, message=message)


def _is_set(fault: _Fault) -> bool:
    return fault.value is not None and shown(fault.value) != ""


def _no_fusion(fusion: Mapping[str, Any]) -> PlanRefused | None:
    """The refusal of a spec that says no to automatic fusion and yes to no other."""
    chosen = fusion.get("legacy") or fusion.get("manual") is not None
    if fusion.get("automatic") is not False or chosen:
        return None
    return PlanRefused(
        Reason.FUSION_INVALID,
        field="spec.fusion.automatic",
        value="false",
        message="spec.fusion.automatic is false, and neither spec.fusion.legacy nor"
        " spec.fusion.manual says how operators are fused instead",
    )


def _no_topology(placement: Mapping[str, Any]) -> PlanRefused | None:
    """The refusal of hosts by a label that no node can have: every pod would be refused for it."""
    key = placement.get("topologyKey")
    if key is None or is_key(key):
        return None
    return _refusal([_Fault("spec.placement.topologyKey", key, KEY_RULE)])


def _no_pod(spec: Mapping[str, Any]) -> PlanRefused | None:
    """The refusal of a template that no pod could be made of."""
    template = spec.get("processingElement") or {}
    faults = [
        _Fault(
            name.field,
            name.value,
            f"a PodSpec has no such field; write {name.meant} if that is meant, else leave it out",
        )
        for name in _unknown(template)
        if name.meant
    ]
    found = contradictions(template.get("podTemplate"), f"{TEMPLATE}.podTemplate")
    faults += [*(_Fault(*each) for each in found), *_host_names(spec)]
    if faults:
        return _refusal(faults)
    request = redis_request(template, TEMPLATE)
    return refusal_of_redis(request) if request is not None else None


def _host_names(spec: Mapping[str, Any]) -> Iterator[_Fault]:
    """Names of a pod in the DNS, where it has one in the Service of its job."""
    template = (spec.get("processingElement") or {}).get("podTemplate") or {}
    if spec.get("services") == Services.PER_PE:
        return
    for name in ("hostname", "subdomain"):
        value = (template.get("spec") or {}).get(name)
        if value is not None:
            why = "leave it out, or set spec.services to PerPE: millrace names pods in the Service"
            yield _Fault(f"{TEMPLATE}.podTemplate.spec.{name}", value, f"{why} of the job")


def _too_much(spec: Mapping[str, Any], rules: PodRules | None) -> PlanRefused | None:
    """The refusal of pods that would get more than the administrator allows."""
    faults = [_Fault(*each) for each in faults_of(spec, rules)] if rules is not None else []
    return _refusal(faults, Reason.POD_SECURITY) if faults else None


def _unknown(template: Mapping[str, Any]) -> Iterator[Unknown]:
    pod = template.get("podTemplate") or {}
    return unknown(pod.get("spec"), f"{TEMPLATE}.podTemplate.spec")


def ignored(spec: Mapping[str, Any]) -> str:
    """A sentence that names the fields that are accepted and not acted upon, or nothing."""
    if isinstance(spec, Unreadable):
        return ""
    parts = [f"{each.path} is ignored: {each.why}" for each in ignored_fields(spec)]
    parts += [
        f"{each.field} is no field of a PodSpec that this release knows: an API server that does"
        " not know it either ignores it"
        for each in _unknown(spec.get("processingElement") or {})
    ]
    return "; ".join(parts)


def too_short(spec: Mapping[str, Any]) -> str:
    """A sentence on a time that is accepted, and in which nothing can be done; or nothing."""
    if isinstance(spec, Unreadable):
        return ""
    seconds = hand_over_s(spec.get("scaling"))
    if not 0 < seconds < HAND_OVER_SECONDS_SHORT:
        return ""
    return (
        f"spec.scaling.handOverSeconds is {seconds}, which is too short for a hand-over: PEs that"
        " have tuples in hand are late, and lose them; give"
        f" {HAND_OVER_SECONDS_SHORT} or more, or 0 for none"
    )


def sentence(refusal: PlanRefused) -> str:
    """The refusal for people: it names field and value."""
    text = refusal.message
    if refusal.field and refusal.field not in text:
        text = f"{refusal.field}: {text}"
    if refusal.value and refusal.value not in text:
        text = f"{text} (it is {refusal.value})"
    return text
