"""Which jobs a node or a pod that goes may concern: those that an attempt lacked nodes or room for.

What they lacked is in the status of the Job or of a ParallelRegion, and an index finds these. A
node without the tags, names and addresses wakes no job.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from contracts.scheduling.nodes import node_of
from services.chassis.table.entries import Change, Entry, Index, TableReading
from services.fusion_backend.adapters.folding import BOUND_POD, NODE
from services.fusion_backend.core.awaited import Awaited, awaited_of

_AWAITING = "awaiting"


def awaited_in(entry: Entry) -> Sequence[Awaited]:
    """What the status of a Job, or of a ParallelRegion, says that an attempt lacked."""
    if entry.unreadable or entry.kind not in ("Job", "ParallelRegion"):
        return ()
    status: Mapping[str, Any] = entry.data["status"]
    return awaited_of(status if entry.kind == "Job" else status.get("refused") or {})


def is_awaiting(entry: Entry) -> bool:
    """Whether the status of a Job or a ParallelRegion says that the last attempt lacked nodes."""
    return bool(awaited_in(entry))


def _by_what(entry: Entry) -> Iterator[Hashable]:
    awaited = awaited_in(entry)
    if awaited:
        yield NODE
    if any(each.free for each in awaited):
        yield BOUND_POD


AWAITING_INDEX: Mapping[str, Index] = {_AWAITING: _by_what}


def awaiting(change: Change, table: TableReading) -> Iterator[Entry]:
    """The Jobs and ParallelRegions for which a change of a node or of a bound pod may matter."""
    if change.kind == BOUND_POD and change.new is None:
        yield from table.by(_AWAITING, BOUND_POD)  # it leaves room
    elif change.kind == NODE and change.new is not None:
        node = node_of(change.new.name, change.new.data)
        for each in table.by(_AWAITING, NODE) if node.is_open else ():
            if any(awaited.is_met_by(node) for awaited in awaited_in(each)):
                yield each
