"""Folds the objects of the table into the view of the cluster (core/cluster_view.py).

Two kinds are the service's own, and no facts: the searches that run now, by lane, and the last
search for each Placement. They enter the table as observations, and a new leader forgets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from contracts.scheduling.nodes import Node
from services.chassis.process.log_lines import log_of
from services.chassis.process.metrics import Metrics
from services.chassis.table.entries import Entry
from services.chassis.table.tombstones import Ref as ObjectRef
from services.chassis.table.viewing import View
from services.hostpool_manager.adapters.reading import (
    host_pool_of,
    marked_node_of,
    placement_of,
    pod_of,
)
from services.hostpool_manager.core.cluster_view import ClusterView
from services.hostpool_manager.core.snapshot import Ref, Searched, SearchTarget
from services.hostpool_manager.core.specs import Specs

NODE, POD, PLACEMENT, HOST_POOL = "Node", "BoundPod", "Placement", "HostPool"
SEARCHING, SEARCHED = "Searching", "Searched"
LISTED_FIRST: Final = (NODE, HOST_POOL, PLACEMENT)
"""The kinds that a new leader lists before it decides."""
OWN_KINDS: Final = (SEARCHING, SEARCHED)
_SEARCHED: Final = TypeAdapter(Searched)
_TARGET: Final = TypeAdapter(SearchTarget)


def data_of(value: Searched | SearchTarget) -> Mapping[str, Any]:
    """The entry of an own kind, as JSON."""
    if isinstance(value, Searched):
        found: dict[str, Any] = _SEARCHED.dump_python(value, mode="json")
        return found
    return {"target": _TARGET.dump_python(value, mode="json")}


def target_of(entry: Entry) -> SearchTarget:
    """What a search is for that runs now."""
    return _TARGET.validate_python(entry.data["target"])


def searched_of(entry: Entry) -> Searched:
    """The last search for a Placement."""
    return _SEARCHED.validate_python(entry.data)


class ClusterFold(View):
    """The view of the cluster, as folded from the table."""

    kinds = frozenset((NODE, POD, PLACEMENT, HOST_POOL, SEARCHED))
    large = frozenset((PLACEMENT, SEARCHED))

    def __init__(self, metrics: Metrics) -> None:
        self.view = ClusterView(self._note_crash)
        self._specs = Specs()
        self._metrics = metrics
        self._log = log_of("folding")

    def fold(self, ref: ObjectRef, entry: Entry | None) -> None:
        """Let the newest entry of an object count. Raises ObjectUnreadable."""
        kind, namespace, name = ref
        match kind:
            case "Node":
                self.view.update_node(name, *(marked_node_of(entry) if entry else (None,)))
            case "BoundPod":
                self.view.update_pod((namespace, name), pod_of(entry) if entry else None)
            case "HostPool":
                self.view.update_pool((namespace, name), host_pool_of(entry) if entry else None)
            case "Placement":
                placement = placement_of(entry, self._specs) if entry else None
                if placement is None:
                    self._specs.forget(Ref(namespace, name))
                self.view.update_placement(Ref(namespace, name), placement)
            case "Searched":
                searched = searched_of(entry) if entry else None
                self.view.update_searched(Ref(namespace, name), searched)

    def fold_unreadable(self, ref: ObjectRef) -> None:
        """A node exists and is closed, other objects do not count."""
        kind, _, name = ref
        self.fold(ref, None)
        if kind == NODE:
            self.view.update_node(name, Node(name, unschedulable=True, ready=False))

    def settle_some(self) -> bool:
        """Check one job whose placement may not hold any more; whether there was one."""
        try:
            return self.view.check_one()
        except Exception:  # noqa: BLE001 - a snapshot counts and logs it
            return True

    def note_unreadable(self, count: int) -> None:
        """Show how many objects count as they were last read, or as unknown."""
        self._metrics.set_gauge("hostpool_manager_unreadable_objects", count)

    def _note_crash(self, ref: Ref) -> None:
        """Count and log a crash of the check of a Placement; called where it is caught."""
        self._metrics.count("millrace_crashes_total", where="checking")
        self._log.exception("checking_crashed", placement="/".join(ref))
