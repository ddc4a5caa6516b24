"""What to say of an object that was seen: facts, given what was said before.

The ledger remembers the projection last said of each object. An object whose projection did not
change says nothing, one that moved to another job is said to be gone in its old partition. Lists
are compared in resync.py; how facts become records is the adapters' business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contracts.facts import Epoch, Fact, FactType, Projection, job_of
from contracts.topics import RESOURCES
from contracts.unreadable import Unreadable

Obj = Mapping[str, Any]
Ref = tuple[str, str, str]
"""(kind, namespace, name)."""

_ROOT_KINDS = ("Job", "ParallelRegion")
_TRACE_CHARS = 32


@dataclass(frozen=True, slots=True)
class Published:
    """What was last said of one object."""

    uid: str
    resource_version: int
    job: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Publication:
    """A fact to be published; `trace_id` names the user action at its root."""

    fact: Fact
    trace_id: str

    def unreadable(self, why: str) -> Publication:
        """The same of an object that cannot be published as it is."""
        known = (self.fact.data or {}).get("metadata") or {}
        return replace(self, fact=replace(self.fact, data=Unreadable(why, {"metadata": known})))


@dataclass(slots=True)
class Ledger:
    """What was said, by object; and the newest user action, by job."""

    published: dict[Ref, Published] = field(default_factory=dict)
    roots: dict[tuple[str, str], str] = field(default_factory=dict)

    def owner_of(self, kind: str, namespace: str, name: str) -> tuple[str, str] | None:
        """(kind, name) of the controller owner of an object, if it was seen."""
        said = self.published.get((kind, namespace, name))
        if said is None:
            return None
        owners = said.data.get("metadata", {}).get("owners", ())
        return next(((o["kind"], o["name"]) for o in owners if o["controller"]), None)


def facts_of_object(
    ledger: Ledger, projection: Projection, obj: Obj, epoch: Epoch, *, repeat: bool = False
) -> Iterator[Publication]:
    """The facts of an object that exists; with `repeat` (a full list) it is always said.

    What cannot be read of it is said so: readers must take it neither for what it was nor for gone.
    Raises KeyError, TypeError, ValueError or AttributeError for an object that no API server sends.
    """
    meta = obj["metadata"]
    ref = (projection.kind, str(meta.get("namespace", "")), str(meta["name"]))
    before = ledger.published.get(ref)
    data = projection.of(obj)
    if data is None:
        yield from facts_of_deletion(ledger, ref, int(meta["resourceVersion"]), epoch)
        return
    now = Published(
        uid=str(meta["uid"]),
        resource_version=int(meta["resourceVersion"]),
        job=_job(ledger, projection, obj),
        data=data,
    )
    if before is not None and (before.job != now.job or before.uid != now.uid):
        # Under its old version: a reader of both partitions may see what is new before this.
        yield from facts_of_deletion(ledger, ref, 0, epoch)
        before = None
    is_news = before is None or before.data != data
    ledger.published[ref] = now
    _remember_root(ledger, ref, before, now)
    if repeat or before is None:
        yield _publication(ledger, ref, now, FactType.ADDITION, epoch)
    elif is_news:
        yield _publication(ledger, ref, now, FactType.MODIFICATION, epoch)


def facts_of_deletion(
    ledger: Ledger, ref: Ref, resource_version: int, epoch: Epoch
) -> Iterator[Publication]:
    """The fact that an object is gone, if it was ever said to exist.

    `resource_version` is one at which it is known to be gone; 0 where only that of the object is.
    """
    said = ledger.published.pop(ref, None)
    if said is None:
        return
    gone = Published(said.uid, max(resource_version, said.resource_version), said.job, said.data)
    yield _publication(ledger, ref, gone, FactType.DELETION, epoch)
    if ref[0] == "Job":
        ledger.roots.pop((ref[1], said.job), None)


def _job(ledger: Ledger, projection: Projection, obj: Obj) -> str:
    if projection.topic != RESOURCES:
        return ""
    return job_of(projection.kind, obj, ledger.owner_of)


def _publication(
    ledger: Ledger, ref: Ref, said: Published, fact_type: FactType, epoch: Epoch
) -> Publication:
    kind, namespace, name = ref
    fact = Fact(
        type=fact_type,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=said.uid,
        resource_version=said.resource_version,
        epoch=epoch,
        job=said.job,
        data=None if fact_type is FactType.DELETION else said.data,
    )
    root = ledger.roots.get((namespace, said.job)) if said.job else None
    return Publication(fact, root or _trace_id(said.uid, said.resource_version))


# --------------------------------------------------------------------------- traces


def _remember_root(ledger: Ledger, ref: Ref, before: Published | None, now: Published) -> None:
    """A spec that a person changed starts a new trace, which the job's facts carry from then on.

    `metadata.generation` counts changes of the spec alone, so neither status writes nor a restart
    of this service start a trace.
    """
    if ref[0] not in _ROOT_KINDS:
        return
    generation = _generation(now)
    if before is not None and _generation(before) == generation:
        return
    is_as_created = ref[0] != "Job" and generation <= 1
    if not is_as_created:
        ledger.roots[(ref[1], now.job)] = _trace_id(now.uid, generation)


def _generation(said: Published) -> int:
    return int(said.data["metadata"]["generation"])


def _trace_id(uid: str, number: int) -> str:
    return hashlib.sha256(f"{uid}/{number}".encode()).hexdigest()[:_TRACE_CHARS]
