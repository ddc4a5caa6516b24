"""Which changes of nodes and pods wake the jobs that await nodes."""

from __future__ import annotations

import itertools
from typing import Any

from services.chassis.table.entries import Change, Entry
from services.chassis.table.table import Table
from services.fusion_backend.adapters.awaiting import awaiting
from services.fusion_backend.adapters.intake import INDEXES

VERSIONS = itertools.count(1)
META: dict[str, Any] = {"labels": {}, "annotations": {}, "owners": [], "generation": 1}


def observed(table: Table, kind: str, name: str, data: dict[str, Any]) -> Entry:
    table.observe(kind, "ns", name, uid=name, resource_version=next(VERSIONS), data=data)
    entry = table.get(kind, "ns", name)
    assert entry is not None
    return entry


def table_of_waiting() -> Table:
    """One job lacks a node with a tag, one lacks room, a width lacks another tag, one has run."""
    table = Table(INDEXES)
    lacks: dict[str, list[dict[str, Any]]] = {
        "tagged": [{"tags": ["a"], "count": 1}],
        "roomless": [{"free": {"cpu": "1"}}],
        "runs": [],
    }
    for name, awaited in lacks.items():
        of_job = {"awaitedNodes": awaited} if awaited else {}
        observed(table, "Job", name, {"metadata": META, "spec": {}, "status": of_job})
    refused: dict[str, Any] = {"awaitedNodes": [{"tags": ["b"], "count": 2}]}
    status: dict[str, Any] = {"refused": refused}
    observed(table, "ParallelRegion", "wide-0", {"metadata": META, "spec": {}, "status": status})
    return table


def woken(table: Table, new: Entry | None, old: Entry | None = None) -> set[str]:
    return {each.name for each in awaiting(Change(old, new), table)}


def node(table: Table, *tags: str, **more: Any) -> Entry:
    metadata = {"labels": {f"tag.streams.ibm.com/{tag}": "" for tag in tags}}
    data = {"taints": [], "unschedulable": False, "addresses": [], "allocatable": {}, "ready": True}
    return observed(table, "Node", "n", {"metadata": metadata, **data, **more})


def test_a_node_wakes_those_whose_tags_it_carries_and_those_that_lack_room() -> None:
    table = table_of_waiting()
    assert woken(table, node(table, "a")) == {"tagged", "roomless"}
    assert woken(table, node(table, "b")) == {"wide-0", "roomless"}
    assert woken(table, node(table, "a", unschedulable=True)) == set()
    assert woken(table, node(table, "a", ready=False)) == set()


def test_a_pod_wakes_those_that_lack_room_when_it_goes() -> None:
    table = table_of_waiting()
    pod = observed(table, "BoundPod", "p", {"node": "n", "requests": {"cpu": 1000}})
    assert woken(table, pod) == set()
    table.observe_gone(pod.ref, pod.uid)
    assert woken(table, None, pod) == {"roomless"}
