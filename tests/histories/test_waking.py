"""A change wakes each key whose snapshot it alters.

Shown with the facts of recordings, one after the other, and then with each field of the objects at
their end, which is taken away or gets a value that it has elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from contracts.topics import TopicLayout
from history.recordings import RecordingSource
from history.stages import stage_of
from services.chassis.running.own_part import OwnPart
from services.chassis.table.entries import Change, Entry
from services.chassis.table.table import Table
from services.pod_state_machine.core.snapshot import PeSnapshot
from tests.histories.table import SCENARIOS, path_of

COVERS = ("services/chassis/running/own_part.py", "services/pod_state_machine/adapters/intake.py")

COMPARED = {
    "node-tainter": ("Node",),
    "pod-state-machine": ("ConfigMap", "Job"),
}
"""The kinds of which a service compares what its snapshots show."""
RECORDED = ("pool-of-nodes", "resize-with-kills")
OTHERS: Mapping[type, Any] = {str: "other", int: 99, bool: True, type(None): "2026-11-30T00:00:00Z"}
Place = tuple[str, ...]


class Watched:
    """The stage of a service around a table, and the snapshot of each of its keys."""

    def __init__(self, service: str) -> None:
        self.table = Table()
        self.stage = stage_of(service, {}, TopicLayout())(self.table)
        self.table.declare_indexes(self.stage.indexes)
        self.table.on_observation = self.require_woken
        self.seen: dict[str, list[Any]] = defaultdict(list)
        self._own = OwnPart(self.stage, self.table, TopicLayout(), (), lambda _entry: None)
        self._known: dict[Hashable, object] = {}

    def require_woken(self, change: Change) -> None:
        """Fails where a snapshot differs since the change before, and its key is not woken."""
        if change.new is not None:
            self.seen[change.kind].append(change.new.data)
        woken = set(self._own.keys_of(change))
        keys = {*self._known, *woken, *self.stage.all_keys(self.table)}
        now = {key: self._shown(key) for key in keys}
        differ = {key for key in keys if key in self._known and self._known[key] != now[key]}
        assert differ <= woken, f"{change.entries[0].ref} wakes none of {differ - woken}"
        self._known = now

    def put(self, entry: Entry, data: Mapping[str, Any]) -> None:
        """Let an object have these data."""
        found = self.table.get(*entry.ref)
        assert found is not None
        version = found.resource_version + 1
        self.table.observe(*entry.ref, uid=entry.uid, resource_version=version, data=data)

    def _shown(self, key: Hashable) -> object:
        """Snapshot and fence; None of a field that nobody can read."""
        try:
            snapshot = self.stage.snapshot(self.table, key)
            fence = self.stage.fence(self.table, key)
        except (TypeError, ValueError, AttributeError):
            return None
        if isinstance(snapshot, PeSnapshot):
            # How many PEs wait at once, and the node of a pod that is gone, wake nobody.
            there = {pod.node for pod in snapshot.pods}
            there |= {snapshot.placement.node} if snapshot.placement else set()
            nodes = tuple(node for node in snapshot.nodes if node.name in there)
            snapshot = replace(snapshot, pes_of_job=0, nodes=nodes)
        return snapshot, fence


async def played(service: str, recording: str) -> Watched:
    """A stage that read the facts of a recording, in the order of their partitions."""
    watched = Watched(service)
    source = RecordingSource(path_of(SCENARIOS[recording]))
    for name, bounds in sorted((await source.bounds()).items()):
        if not name.startswith(("resources/", "cluster/")):
            continue
        async for batch in source.read_facts(name, bounds.first, bounds.end):
            for each in batch:
                fact = each.decoded() if each.kind in watched.stage.kinds else None
                for change in watched.table.apply(fact, each.partition) if fact else ():
                    watched.require_woken(change)
    return watched


@pytest.mark.parametrize("recording", RECORDED)
@pytest.mark.parametrize("service", COMPARED)
async def test_each_change_wakes_the_keys_whose_snapshot_it_alters(
    service: str, recording: str
) -> None:
    """`Watched` fails where it does not."""
    watched = await played(service, recording)
    for kind in COMPARED[service]:
        fields = fields_of(watched.seen[kind])
        for entry in watched.table.of_kind(kind):
            for data in changed(entry.data, fields):
                watched.put(entry, data)
                watched.put(entry, entry.data)


def fields_of(seen: Iterable[Any]) -> Mapping[Place, Sequence[Any]]:
    """Every value that a field had in any of these data."""
    found: dict[Place, list[Any]] = defaultdict(list)
    for data in seen:
        for place, value in fields_in(data):
            if value not in found[place]:
                found[place].append(value)
    return found


def fields_in(data: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """The fields of some data and of what is in it, each with its value."""
    for name, value in data.items() if isinstance(data, dict) else ():
        yield (*at, name), value
        yield from fields_in(value, (*at, name))


def changed(data: Any, fields: Mapping[Place, Sequence[Any]]) -> Iterator[Any]:
    """The data without each field, and with each other value of it; a fact lacks no part."""
    for (*outer, name), values in fields.items():
        for value in (*values, *filter(None, [OTHERS.get(type(values[0]))])):
            yield from with_field(data, outer, {name: value})
        if outer not in ([], ["metadata"]):
            yield from with_field(data, outer, {}, without=name)


def with_field(
    data: Any, outer: Sequence[str], field: Mapping[str, Any], without: str = ""
) -> Iterator[Any]:
    """The data with a field in the part `outer`, if they have that part and differ then."""
    found = within = deepcopy(data)
    for name in outer:
        within = within.get(name)
        if not isinstance(within, dict):
            return
    within.update(field)
    within.pop(without, None)
    if found != data:
        yield found
