"""Which service decides on an object, under which key, and its newest decision in the log."""

from __future__ import annotations

from collections.abc import Iterator

from contracts.reasons import Reason
from history.entries import Decided
from history.why.case import JOB, NODE, PLACEMENT, POD, POOL, REGION, Case
from history.why.things import Thing
from services.roster import OWNERS

_DONE = frozenset({Reason.SUBMITTED.value, Reason.SUBMISSION_SUCCEEDED.value})


def node_key(name: str) -> str:
    """The key of decisions on a node."""
    return f"{NODE}/{name}"


def newest_decision(
    case: Case, thing: Thing, reasons: frozenset[str] = frozenset()
) -> Decided | None:
    """The newest decision of its service about an object that had an effect.

    With `reasons` one that has one of them: it explains a status with this reason.
    """
    for entry in _decisions(case, thing):
        if entry.decision.effects and (not reasons or entry.decision.reason in reasons):
            return entry
    return None


def first_failure_s(case: Case, thing: Thing, reason: str) -> float | None:
    """When the first decision of those in a row was that failed for a reason (unix seconds).

    Attempts between have reasons of their own; what ends the row is one that succeeded.
    """
    first = None
    for entry in _decisions(case, thing):
        if entry.decision.reason in _DONE:
            break
        if entry.decision.reason == reason:
            first = entry.decision.now
    return first


def _decisions(case: Case, thing: Thing) -> Iterator[Decided]:
    """The decisions of its service about an object, newest first."""
    service, keys = OWNERS.get(thing.kind), _keys(case, thing)
    for entry in reversed(case.gathered.log.entries):
        if not isinstance(entry, Decided) or entry.decision.service != service:
            continue
        if entry.decision.key in keys:
            yield entry


def _keys(case: Case, thing: Thing) -> frozenset[str]:
    """The keys under which the service of a kind decides on an object."""
    ns = thing.namespace or case.namespace
    if thing.role in (JOB, REGION):
        job = thing.name if thing.role == JOB else case.job_name
        return frozenset({f"{ns}/{job}"})
    if thing.kind == POD:
        pe = case.pe_of(thing)
        return frozenset({f"{ns}/{pe.name}"} if pe is not None and case.target.kind == POD else ())
    if thing.kind in (POOL, PLACEMENT):
        return frozenset({f"{ns}/{case.job_name}"})
    return frozenset({node_key(thing.name)} if thing.kind == NODE else {f"{ns}/{thing.name}"})
