"""The facts to publish of an object that was seen, given those that were published before.

The ledger remembers the digest of the last published projection of each object: it needs to know
whether an object changed, not what it was, and the projections of 5,000 PEs take 100 MiB. An object
whose projection did not change has no new fact; one that moved to another job is published as
deleted in its old partition. Lists are compared in resync.py; how facts become records is the
adapters' business.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contracts.belonging import is_root, root_of
from contracts.canonical import canonical_bytes
from contracts.facts import Epoch, Fact, FactType, Projection
from contracts.topics import RESOURCES
from contracts.unreadable import Unreadable

Obj = Mapping[str, Any]
Ref = tuple[str, str, str]
"""(kind, namespace, name)."""

_EDITED = frozenset({"ParallelRegion"})
"""Kinds of objects of a root whose spec people change."""
_TRACE_CHARS = 32
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Published:
    """The last published state of one object.

    `digest` is that of its projection, `owner` (kind, name) of its controller owner; `generation`
    is 0 for kinds that are no root of a trace.
    """

    uid: str
    resource_version: int
    job: str
    digest: bytes
    owner: tuple[str, str] | None
    generation: int


@dataclass(frozen=True, slots=True)
class Publication:
    """A fact to be published; `trace_id` names the user action at its root.

    `begins` is the metadata.generation of the spec whose change begins that trace with this fact,
    else 0.
    """

    fact: Fact
    trace_id: str
    begins: int = 0

    def unreadable(self, why: str) -> Publication:
        """The same of an object that cannot be published as it is."""
        known = (self.fact.data or {}).get("metadata") or {}
        return replace(self, fact=replace(self.fact, data=Unreadable(why, {"metadata": known})))


@dataclass(slots=True)
class Ledger:
    """What was published, by object; and the newest user action, by job."""

    published: dict[Ref, Published] = field(default_factory=dict)
    roots: dict[tuple[str, str], str] = field(default_factory=dict)

    def owner_of(self, kind: str, namespace: str, name: str) -> tuple[str, str] | None:
        """(kind, name) of the controller owner of an object, if it was seen."""
        published = self.published.get((kind, namespace, name))
        return None if published is None else published.owner


def digest_of(data: Mapping[str, Any] | None) -> bytes:
    """What stands for a projection in the ledger; equal for equal projections."""
    try:
        text = canonical_bytes(data)
    except (TypeError, ValueError):  # it will not be published as it is either
        text = repr(data).encode(errors="surrogatepass")
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()


def facts_of_object(
    ledger: Ledger, projection: Projection, obj: Obj, epoch: Epoch, *, repeat: bool = False
) -> Iterator[Publication]:
    """The facts of an object that exists; with `repeat` (a full list) always one.

    A part that cannot be read is published as unreadable: readers must take it neither for what it
    was nor for gone. Raises KeyError, TypeError, ValueError or AttributeError for an object that no
    API server sends.
    """
    meta = obj["metadata"]
    ref = (projection.kind, sys.intern(str(meta.get("namespace", ""))), str(meta["name"]))
    before = ledger.published.get(ref)
    data = projection.of(obj)
    if data is None:
        yield from facts_of_deletion(ledger, ref, int(meta["resourceVersion"]), epoch)
        return
    now = Published(
        uid=str(meta["uid"]),
        resource_version=int(meta["resourceVersion"]),
        job=sys.intern(_job(ledger, projection, obj)),
        digest=digest_of(data),
        owner=_owner(data),
        generation=_generation(data) if _begins_traces(projection.kind) else 0,
    )
    if before is not None and (before.job != now.job or before.uid != now.uid):
        # Under its old version: a reader of both partitions may see what is new before this.
        yield from facts_of_deletion(ledger, ref, 0, epoch)
        before = None
    is_news = before is None or before.digest != now.digest
    ledger.published[ref] = now
    begins = _remember_root(ledger, ref, before, now)
    if begins and before is None and repeat and _is_observed(data, begins):
        begins = 0  # a list after a start of this service shows what was there before
    if repeat or before is None:
        yield _publication(ledger, ref, now, FactType.ADDITION, epoch, data, begins)
    elif is_news:
        yield _publication(ledger, ref, now, FactType.MODIFICATION, epoch, data, begins)


def facts_of_deletion(
    ledger: Ledger, ref: Ref, resource_version: int, epoch: Epoch
) -> Iterator[Publication]:
    """The fact that an object is gone, if it was ever published.

    `resource_version` is one at which it is known to be gone; 0 where only that of the object is.
    """
    published = ledger.published.pop(ref, None)
    if published is None:
        return
    gone = replace(published, resource_version=max(resource_version, published.resource_version))
    yield _publication(ledger, ref, gone, FactType.DELETION, epoch)
    if is_root(ref[0]):
        ledger.roots.pop((ref[1], published.job), None)


def _job(ledger: Ledger, projection: Projection, obj: Obj) -> str:
    if projection.topic != RESOURCES:
        return ""
    return root_of(projection.kind, obj, ledger.owner_of).key


def _owner(data: Mapping[str, Any]) -> tuple[str, str] | None:
    owners = data.get("metadata", {}).get("owners", ())
    found = ((sys.intern(o["kind"]), sys.intern(o["name"])) for o in owners if o["controller"])
    return next(found, None)


def _generation(data: Mapping[str, Any]) -> int:
    return int(data["metadata"]["generation"])


def _publication(
    ledger: Ledger,
    ref: Ref,
    published: Published,
    fact_type: FactType,
    epoch: Epoch,
    data: Mapping[str, Any] | None = None,
    begins: int = 0,
) -> Publication:
    kind, namespace, name = ref
    fact = Fact(
        type=fact_type,
        kind=kind,
        namespace=namespace,
        name=name,
        uid=published.uid,
        resource_version=published.resource_version,
        epoch=epoch,
        job=published.job,
        data=data,
    )
    root = ledger.roots.get((namespace, published.job)) if published.job else None
    trace_id = root or _trace_id(published.uid, published.resource_version)
    return Publication(fact, trace_id, begins)


# --------------------------------------------------------------------------- traces


def _begins_traces(kind: str) -> bool:
    return is_root(kind) or kind in _EDITED


def _remember_root(ledger: Ledger, ref: Ref, before: Published | None, now: Published) -> int:
    """A spec that a person changed starts a new trace, which the job's facts carry from then on.

    Returns the generation of a spec that starts one, else 0. `metadata.generation` counts changes
    of the spec alone, so neither status writes nor a restart of this service start a trace.
    """
    if not _begins_traces(ref[0]):
        return 0
    if before is not None and before.generation == now.generation:
        return 0
    is_as_created = not is_root(ref[0]) and now.generation <= 1
    if is_as_created:
        return 0
    ledger.roots[(ref[1], now.job)] = _trace_id(now.uid, now.generation)
    return now.generation


def _is_observed(data: Mapping[str, Any], generation: int) -> bool:
    """Whether a status answers the spec as it is: nothing begins with it any more."""
    status = data.get("status")
    observed = status.get("observedGeneration") if isinstance(status, Mapping) else None
    return bool(observed == generation)


def _trace_id(uid: str, number: int) -> str:
    return hashlib.sha256(f"{uid}/{number}".encode()).hexdigest()[:_TRACE_CHARS]
