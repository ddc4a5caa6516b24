"""Whose an entry is: the service that made it, the namespace and the job that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts import labels
from contracts.facts import Fact
from history.entries import Decided, Entry, Gap, Observed, Seen, Unread

NAMED_BY_JOB = frozenset({"Job", "Placement"})
"""Kinds whose objects have the name of their job."""
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
    """Whether an entry is about an object of a job; of what nobody can read it may be."""
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
    """The job of the object of a fact; a host pool has it in its spec."""
    if fact.kind in NAMED_BY_JOB:
        return fact.name
    spec = fact.data.get("spec") if fact.data is not None and not fact.job else None
    return fact.job or (str(spec.get("job") or "") if isinstance(spec, Mapping) else "")


def job_observed(content: Any) -> str:
    """The job of the object that an observation is about; empty where it does not say."""
    ref = ref_of(content)
    if not ref:
        return ""
    data = content.get("data")
    parts = data.get("metadata") if isinstance(data, Mapping) else None
    labelled = (parts.get("labels") or {}).get(labels.JOB) if isinstance(parts, Mapping) else None
    return str(labelled or (ref[_NAME] if ref[_KIND] in NAMED_BY_JOB else ""))


def ref_of(content: Any) -> tuple[str, str, str] | None:
    """(kind, namespace, name) of the object that an observation is about, if it names one."""
    ref = content.get("ref") if isinstance(content, Mapping) else None
    if not isinstance(ref, list | tuple) or len(ref) != 3:
        return None
    return str(ref[0]), str(ref[1]), str(ref[2])
