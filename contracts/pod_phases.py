"""The phase of a pod as far as its owner goes: of the container that runs it, beside others.

A pod whose template has a sidecar is Running as long as that runs, although its PE has ended. And
it failed where only the sidecar did. Kubernetes starts no container of such a pod again, since its
`restartPolicy` is Never: what ended has ended for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from contracts.unreadable import is_whole

Obj = Mapping[str, Any]
PENDING: Final = "Pending"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"


def phase_in(status: Obj, container: str) -> str:
    """The phase of a pod by its status, and by how the container of its owner ended.

    A pod with a reason failed as a whole, as where its node evicted it, whatever its PE ended with.
    """
    phase = str(status.get("phase") or PENDING)
    ended = terminated_in(container_in(status.get("containerStatuses"), container))
    if ended is None or phase == SUCCEEDED or (phase == FAILED and status.get("reason")):
        return phase
    return SUCCEEDED if ended.get("exitCode") == 0 else FAILED


def container_in(containers: object, name: str) -> Obj:
    """The container of a name in a list of them, or of their statuses; empty without one."""
    return next((each for each in _objects(containers) if each.get("name") == name), {})


def terminated_in(status: Obj) -> Obj | None:
    """How a container ended, by its status; None while it has not."""
    state = next(_objects([status.get("state")]), {})
    return next(_objects([state.get("terminated")]), None) or None


def _objects(value: object) -> Iterator[Obj]:
    """The objects of a list that can be read: the statuses of pods are other people's."""
    for each in value if isinstance(value, list | tuple) else ():
        if isinstance(each, Mapping) and is_whole(each):
            yield each
