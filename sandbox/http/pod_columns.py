"""What stands in the columns of a Pod: how ready, in which state, how often restarted.

The rules are those of kube-apiserver's printer for Pods (pkg/printers/internalversion): the
containers that initialize come first, and the most telling word wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.http.durations import age
from sandbox.store.timestamps import unix_seconds

Obj = Mapping[str, Any]
NONE = "<none>"
_ENDED = frozenset({"Failed", "Succeeded"})


@dataclass
class _Summary:
    """What the containers of a Pod come to."""

    reason: str
    ready: int = 0
    restarts: int = 0
    restarted_at: list[str] = field(default_factory=list)


def ready(pod: Obj, _: float) -> str:
    """Ready containers of all, those counted that initialize and then stay."""
    spec = pod.get("spec") or {}
    staying = [item for item in spec.get("initContainers") or () if _stays(item)]
    return f"{_summary(pod).ready}/{len(spec.get('containers') or ()) + len(staying)}"


def status(pod: Obj, _: float) -> str:
    """One word for the state of a Pod."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in _ENDED:
            return "Terminating"
    return _summary(pod).reason


def restarts(pod: Obj, now: float) -> str:
    """How often containers were restarted, and how long ago the last time was."""
    summary = _summary(pod)
    if not summary.restarts or not summary.restarted_at:
        return str(summary.restarts)
    return f"{summary.restarts} ({age(max(summary.restarted_at, key=unix_seconds), now)} ago)"


def address(pod: Obj, _: float) -> str:
    """The first address."""
    addresses = (pod.get("status") or {}).get("podIPs") or ()
    return str(addresses[0].get("ip") or NONE) if addresses else NONE


def readiness_gates(pod: Obj, _: float) -> str:
    """How many gates are open."""
    gates = (pod.get("spec") or {}).get("readinessGates")
    if not gates:
        return NONE
    opened = sum(1 for gate in gates if _has(pod, gate.get("conditionType")))
    return f"{opened}/{len(gates)}"


def _summary(pod: Obj) -> _Summary:
    status = pod.get("status") or {}
    gated = any(
        item.get("type") == "PodScheduled" and item.get("reason") == "SchedulingGated"
        for item in status.get("conditions") or ()
    )
    reason = "SchedulingGated" if gated else status.get("reason") or status.get("phase") or ""
    summary = _Summary(str(reason))
    containers = (pod.get("spec") or {}).get("initContainers") or ()
    initial = {item.get("name"): item for item in containers}
    if _initializing(pod, initial, summary) and not _has(pod, "Initialized"):
        return summary
    staying = [item for item in status.get("initContainerStatuses") or () if _is_of(item, initial)]
    summary.restarts, summary.restarted_at = 0, []
    _count_restarts(staying, summary)
    _look_at_containers(pod, status.get("containerStatuses") or (), summary)
    return summary


def _initializing(pod: Obj, initial: Mapping[Any, Obj], summary: _Summary) -> bool:
    """Whether a container that initializes is not done yet; it gives the reason then."""
    statuses = (pod.get("status") or {}).get("initContainerStatuses") or ()
    for index, container in enumerate(statuses):
        _count_restarts([container], summary)
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and not ended.get("exitCode"):
            continue
        if _is_of(container, initial) and container.get("started"):
            summary.ready += bool(container.get("ready"))
            continue
        if ended is not None:
            summary.reason = f"Init:{_end_of(ended)}"
        elif waiting.get("reason", "PodInitializing") not in {"", "PodInitializing"}:
            summary.reason = f"Init:{waiting['reason']}"
        else:
            summary.reason = f"Init:{index}/{len(initial)}"
        return True
    return False


def _look_at_containers(pod: Obj, statuses: Sequence[Obj], summary: _Summary) -> None:
    _count_restarts(statuses, summary)
    running, failed = False, ""
    for container in reversed(statuses):
        state = container.get("state") or {}
        ended = state.get("terminated")
        if waiting := (state.get("waiting") or {}).get("reason"):
            summary.reason = waiting
        elif ended is not None:
            summary.reason = _end_of(ended)
            failed = summary.reason if ended.get("exitCode") else failed
        elif container.get("ready") and state.get("running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        if running and _has(pod, "Ready"):
            summary.reason = "Running"
        elif failed or running:
            summary.reason = failed or "NotReady"


def _count_restarts(statuses: Sequence[Obj], summary: _Summary) -> None:
    summary.restarts += sum(item.get("restartCount") or 0 for item in statuses)
    summary.restarted_at.extend(_ends(statuses))


def _ends(statuses: Sequence[Obj]) -> Iterator[str]:
    for container in statuses:
        last = (container.get("lastState") or {}).get("terminated") or {}
        if last.get("finishedAt"):
            yield last["finishedAt"]


def _end_of(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _is_of(container: Obj, initial: Mapping[Any, Obj]) -> bool:
    return _stays(initial.get(container.get("name")) or {})


def _stays(container: Obj) -> bool:
    return bool(container.get("restartPolicy") == "Always")


def _has(pod: Obj, condition: Any) -> bool:
    return any(
        item.get("type") == condition and item.get("status") == "True"
        for item in (pod.get("status") or {}).get("conditions") or ()
    )
