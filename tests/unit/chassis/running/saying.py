"""Builders of facts, records and observations for the tests of the chassis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from contracts.envelope import Envelope, to_headers
from contracts.facts import Epoch, Fact, FactType, SyncCompleted
from contracts.topics import RESOURCES
from services.chassis.log.bus import NewRecord, Partition

CLUSTER_UID = "cluster-a"
RESOURCES_0 = Partition(RESOURCES.name(), 0)
RESOURCES_1 = Partition(RESOURCES.name(), 1)
METADATA: Mapping[str, Any] = {"labels": {}, "annotations": {}, "owners": []}
"""What readers rest on in every object."""


def epoch(number: int = 1, *, incarnation: int = 1, cluster: str = CLUSTER_UID) -> Epoch:
    """An epoch of the usual cluster and incarnation."""
    return Epoch(incarnation, number, cluster)


def present(
    name: str = "a",
    *,
    version: int = 1,
    uid: str = "",
    kind: str = "Service",
    at: Epoch | None = None,
    **data: Any,
) -> Fact:
    """A fact that says that an object exists."""
    return Fact(
        FactType.ADDITION,
        kind,
        "ns",
        name,
        uid or f"uid-{name}",
        version,
        at or epoch(),
        data=data,
    )


def gone(
    name: str = "a",
    *,
    version: int = 1,
    uid: str = "",
    kind: str = "Service",
    at: Epoch | None = None,
) -> Fact:
    """A fact that says that an object was deleted."""
    return Fact(FactType.DELETION, kind, "ns", name, uid or f"uid-{name}", version, at or epoch())


def synced(kind: str = "Service", *, at: Epoch | None = None, full: bool = True) -> SyncCompleted:
    """Everything of a kind has been published."""
    return SyncCompleted(kind, at or epoch(), full)


def record(
    said: Fact | SyncCompleted,
    partition: Partition,
    *,
    event_id: str = "e",
    trace_id: str = "ab" * 16,
) -> NewRecord:
    """The record of a fact as watch-ingest writes it: no object is without metadata."""
    kind = said.type if isinstance(said, Fact) else FactType.SYNC_COMPLETED
    envelope = Envelope(event_id, "watch-ingest", kind, said.key, 1.0, trace_id)
    value = said.to_json()
    if value.get("object") is not None:
        value["object"] = {"metadata": METADATA, **value["object"]}
    return NewRecord(partition, said.key.encode(), orjson.dumps(value), to_headers(envelope))
