"""A change of a pod wakes its job where decisions may look at what changed."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getmembers, isfunction
from typing import Any

import pytest

from services.chassis.table.entries import Change, Entry
from services.chassis.table.table import Table
from services.fusion_backend.adapters import intake
from services.fusion_backend.core import pods_seen
from tests.builders import Builder, a_pod

COVERS = ("services/fusion_backend/core/pods_seen.py",)
READERS = [
    read
    for name, read in getmembers(pods_seen, isfunction)
    if read.__module__ == pods_seen.__name__ and name != "pod_shown"
]
PENDING = {"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "later"}
UNBOUND = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "full"}
CHANGES: tuple[dict[str, Any], ...] = (
    {"phase": "Running"},
    {"startedAt": "2026-11-30T00:00:00Z"},
    {"node": "n1"},
    {"resources": {"limits": {"cpu": "2"}}},
    {"heldResources": {}},
    {"conditions": [PENDING]},
    {"conditions": [UNBOUND]},
)


def wakes(builder: Builder, **changed: Any) -> bool:
    old = builder.entry()
    new = Entry(*old.ref, old.uid, old.resource_version + 1, {**old.data, **changed})
    return bool(list(intake.keys_of(Change(old, new), Table(intake.INDEXES))))


@pytest.mark.parametrize("read", READERS)
def test_whatever_is_read_of_a_pod_wakes_its_job(read: Callable[[Entry], object]) -> None:
    old = a_pod().entry()
    changes = [
        each
        for each in CHANGES
        if read(Entry(*old.ref, old.uid, 2, {**old.data, **each})) != read(old)
    ]
    assert changes, "no change here is one of it"
    assert all(wakes(a_pod(), **each) for each in changes)


def test_what_nobody_reads_of_a_pod_wakes_no_job() -> None:
    ready = {"type": "Ready", "status": "False", "reason": "", "message": ""}
    waits = {"name": "pe", "waiting": "ContainerCreating", "waitingMessage": ""}
    assert not wakes(a_pod(), conditions=[ready], containers=[waits], ip="10.0.0.1", message="m")
    assert wakes(a_pod(), metadata={**a_pod().entry().data["metadata"], "labels": {}})
