"""Pods of a PE that are gone, as the table remembers them."""

from __future__ import annotations

from contracts.resources.processing_element import PePhase
from services.chassis.table.entries import TableReading
from services.launching.adapters.launches import Launches
from services.launching.core.pods import Pod, pod_of
from services.launching.core.situation import FIRST_LAUNCH, newest_launch, predecessors
from services.launching.core.snapshot import Launched
from services.pod_state_machine.core.snapshot import Pe

_POD = "Pod"


def ended_pods(table: TableReading, pe: Pe) -> frozenset[str]:
    """Names of earlier pods of a PE whose end was observed."""
    names = predecessors(pe)
    return frozenset(name for name in names if table.saw_end(_POD, pe.namespace, name))


def note_deleted(table: TableReading, pe: Pe, launches: Launches) -> None:
    """Remember the newest launch, if no status recorded it and its pod is deleted.

    Without a memory, as after a restart, it would be made once more under its number, and its
    process would find the states of another one under the names of its own. Its content is the one
    that it was intended with: what changed since is still to be launched.
    """
    launch = max(pe.status.launch_count, FIRST_LAUNCH)
    name = pe.pod_name(launch)
    if pe.status.phase is PePhase.WAITING and table.was_deleted(_POD, pe.namespace, name):
        launches.note(pe.uid, Launched(launch, name, pe.status.content_id or pe.content_id))


def last_pod(table: TableReading, pe: Pe, pods: tuple[Pod, ...], launches: Launches) -> Pod | None:
    """The last observed state of the newest launch's pod, if it is gone.

    None of a pod that only the answer to its creation shows: its end was not observed.
    """
    launch = newest_launch(pe, pods, launches.newest(pe.uid))
    entry = table.last_shown(_POD, pe.namespace, pe.pod_name(launch))
    return pod_of(entry, pe.uid) if entry else None
