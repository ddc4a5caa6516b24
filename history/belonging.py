"""Whose an entry is: the service that made it, the namespace and the root that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.belonging import root_in
from contracts.facts import Fact
from history.entries import Decided, Entry, Gap, Observed, Seen, Unread

NAMED_BY_JOB = frozenset({"Placement"})
"""Kinds whose objects have the name of their Job."""
_OF_CLUSTER = frozenset({"BoundPod", "Node"})
"""Kinds of objects of the cluster, whatever their labels are."""
OBSERVER = "watch-ingest"
"""The service that publishes facts."""
_KIND, _NAMESPACE, _NAME = range(3)


def service_of(entry: Entry) -> str:
    """Who decided, observed, or published; empty where that is not known."""
    match entry:
        case Seen():
            return OBSERVER
        case Observed():
            return entry.service
        case Decided():
            return entry.decision.service
        case _:
            return ""


def namespace_of(entry: Entry) -> str | None:
    """The namespace of the object that an entry is about; None where it may be any."""
    match entry:
        case Seen(fact=Fact() as fact):
            return fact.namespace
        case Decided():
            return entry.namespace
        case Observed():
            ref = ref_of(entry.observation.content)
            return ref[_NAMESPACE] if ref else None
        case _:
            return None


def is_of_job(entry: Entry, job: str) -> bool:
    """Whether an entry is about an object of a root, by its key; of what is unread it may be."""
    match entry:
        case Seen(fact=Fact() as fact):
            return job_seen(fact) == job
        case Decided():
            return entry.job == job
        case Observed():
            return job_observed(entry.observation.content) == job
        case Gap() | Unread():
            return True
        case _:
            return False


def job_seen(fact: Fact) -> str:
    """The key of the root of the object of a fact; a host pool has it in its spec."""
    return fact.job or _job_in(fact.kind, fact.name, fact.data or {})


def job_observed(content: Any) -> str:
    """The key of the root of the object that an observation is about; empty if unknown."""
    ref = ref_of(content)
    data = content.get("data") if ref else None
    return _job_in(ref[_KIND], ref[_NAME], data if isinstance(data, Mapping) else {}) if ref else ""


def _job_in(kind: str, name: str, data: Mapping[str, Any]) -> str:
    if kind in NAMED_BY_JOB:
        return name
    root = root_in(kind, name, data) if kind not in _OF_CLUSTER else None
    return root.key if root is not None else ""


def ref_of(content: Any) -> tuple[str, str, str] | None:
    """(kind, namespace, name) of the object that an observation is about, if it names one."""
    ref = content.get("ref") if isinstance(content, Mapping) else None
    if not isinstance(ref, list | tuple) or len(ref) != 3:
        return None
    return str(ref[0]), str(ref[1]), str(ref[2])
