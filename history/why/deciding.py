"""Which service decides on an object, under which key, and its newest decision in the log."""

from __future__ import annotations

from history.entries import Decided
from history.why.case import JOB, NODE, PE, PLACEMENT, POD, POOL, REGION, Case
from history.why.of_services import BACKEND, MACHINE, MANAGER, TAINTER
from history.why.things import Thing

_OWNERS = {
    JOB: BACKEND,
    REGION: BACKEND,
    PE: MACHINE,
    POD: MACHINE,
    POOL: MANAGER,
    PLACEMENT: MANAGER,
    NODE: TAINTER,
}


def node_key(name: str) -> str:
    """The key under which node-tainter decides on a node."""
    return f"{NODE}/{name}"


def newest_decision(case: Case, thing: Thing) -> Decided | None:
    """The newest decision of its service about an object that had an effect."""
    service, keys = _OWNERS.get(thing.kind), _keys(case, thing)
    for entry in reversed(case.gathered.log.entries):
        if not isinstance(entry, Decided) or entry.decision.service != service:
            continue
        if entry.decision.effects and entry.decision.key in keys:
            return entry
    return None


def _keys(case: Case, thing: Thing) -> frozenset[str]:
    """The keys under which the service of a kind decides on an object."""
    ns = thing.namespace or case.namespace
    if thing.kind in (JOB, REGION):
        job = thing.name if thing.kind == JOB else case.job_name
        return frozenset({f"{ns}/{job}"})
    if thing.kind == POD:
        pe = case.pe_of(thing)
        return frozenset({f"{ns}/{pe.name}"} if pe is not None and case.target.kind == POD else ())
    if thing.kind in (POOL, PLACEMENT):
        return frozenset({f"{ns}/{case.job_name}"})
    return frozenset({node_key(thing.name)} if thing.kind == NODE else {f"{ns}/{thing.name}"})
