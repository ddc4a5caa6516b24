"""PEs that start last: which PE their first pod waits for, and what wakes them.

fusion-backend marks them (`spec.startsLast`) where a resize adds more than the nodes may have room
for, after it has written every PE that the resize changes. So what the others are to run is in the
table before them. A PE that does not start last is awaited until its content has a pod on a node,
or has ended for good.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

from contracts import labels
from contracts.resources.processing_element import PePhase
from services.chassis.table.entries import Entry, TableReading, annotation, is_deleting
from services.launching.core.owners import controller, launch_status_of
from services.launching.core.pods import Pod
from services.launching.core.situation import FIRST_LAUNCH
from services.pod_state_machine.adapters.reading import job_of
from services.pod_state_machine.core.snapshot import Pe

PE: Final = "ProcessingElement"
PES_OF_JOB: Final = "pes-of-job"
PODS_OF_PE: Final = "pods-of-pe"
STARTING_LAST: Final = "starting-last"
_AT_REST: Final = frozenset({PePhase.COMPLETED, PePhase.FAILED, PePhase.STOPPED})


def by_job_if_last(entry: Entry) -> Iterator[Hashable]:
    """The index of PEs that start last, by job, as long as their launch waits for its pod."""
    if _starts_last(entry) and launch_status_of(entry.data["status"]).phase is PePhase.WAITING:
        yield entry.namespace, job_of(entry)


def awaited_pe(table: TableReading, pe: Pe, pods: tuple[Pod, ...]) -> str:
    """The PE that the first launch of another waits for; empty if none, or it has launched.

    A launch that people request with `spec.launchCount` waits for none.
    """
    status = pe.status
    is_first = status.phase is PePhase.WAITING and status.launch_count < FIRST_LAUNCH
    if not (pe.starts_last and is_first and not pods and pe.launch_floor <= FIRST_LAUNCH):
        return ""
    return _first_awaited(table, pe.namespace, pe.job)


def starting_after(table: TableReading, namespace: str, job: str, pe: str) -> Iterator[Entry]:
    """The PEs of a job that may start now that this one changed, or a pod of it.

    Nearly no job has any; where one has, the look at all its PEs is made when the changed one
    is awaited no more.
    """
    if not table.count(STARTING_LAST, (namespace, job)):
        return
    changed = table.get(PE, namespace, pe)
    if changed is not None and (_starts_last(changed) or _is_awaited(table, changed)):
        return
    if _first_awaited(table, namespace, job):
        return
    for waiting in table.by(STARTING_LAST, (namespace, job)):
        if not table.count(PODS_OF_PE, (namespace, waiting.name)):
            yield waiting


def _first_awaited(table: TableReading, namespace: str, job: str) -> str:
    entries = table.by(PES_OF_JOB, (namespace, job))
    return next((entry.name for entry in entries if _is_awaited(table, entry)), "")


def _starts_last(entry: Entry) -> bool:
    return not entry.unreadable and bool(entry.data["spec"].get("startsLast"))


def _is_awaited(table: TableReading, entry: Entry) -> bool:
    """Whether a PE is to be on a node before others start; one that nobody can read is not."""
    if entry.unreadable or is_deleting(entry) or _starts_last(entry):
        return False
    content = str(entry.data["spec"].get("contentId") or "")
    for pod in table.by(PODS_OF_PE, (entry.namespace, entry.name)):
        is_own = controller(pod, PE) == (entry.name, entry.uid)
        if is_own and pod.data["node"] and annotation(pod, labels.CONTENT_ID) == content:
            return False
    status = launch_status_of(entry.data["status"])
    return not (status.phase in _AT_REST and status.content_id == content)
