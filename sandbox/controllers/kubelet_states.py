"""What a kubelet does next with a pod that is bound to its node. Pure.

`next_step` looks at the pod, at what the kubelet remembers of it and at the time, and says what to
write and when to look again. kubelet.py carries it out. The texts of the status are in
pod_statuses.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox.controllers import pod_statuses
from sandbox.controllers.behaviors import Behavior, Directive, directive_of
from sandbox.controllers.conditions import Status, holds
from sandbox.controllers.pod_statuses import TERMINAL, Place
from sandbox.controllers.settings import Settings
from sandbox.store.timestamps import rfc3339

Obj = Mapping[str, Any]
EVICTED_MESSAGE = "The node was low on resource: memory."
_ENDING = (Behavior.COMPLETE, Behavior.FAIL)


@dataclass(frozen=True)
class Memory:
    """What the kubelet remembers of a pod between two looks; times in unix seconds."""

    bound_s: float
    began_s: float | None = None  # of this run of the containers
    restart_at_s: float | None = None
    stopping_s: float | None = None
    order: Directive | None = None  # given by a test; wins over the annotations


@dataclass(frozen=True)
class Sight:
    """What surrounds the pod: its place, the time, the volumes that cannot be mounted."""

    place: Place
    now_s: float
    unmountable: tuple[str, ...] = ()

    @property
    def time(self) -> str:
        return rfc3339(self.now_s)


@dataclass(frozen=True)
class Warned:
    """An Event of type Warning."""

    reason: str
    message: str


@dataclass(frozen=True)
class Step:
    """What to do now: at most one write. `wake_at_s`: when to look again, without a change."""

    memory: Memory
    status: Status | None = None
    remove: bool = False
    wake_at_s: float | None = None
    warnings: tuple[Warned, ...] = ()


def next_step(pod: Obj, memory: Memory, sight: Sight, settings: Settings) -> Step:
    """The next step of a pod whose node is alive.

    1. What is being deleted is removed. 2. What has ended stays. 3. An eviction needs no start.
    4. What has not started waits for its volumes and its image. 5. What runs may end.
    """
    directive = memory.order or directive_of(pod)
    phase = (pod.get("status") or {}).get("phase")
    if pod["metadata"].get("deletionTimestamp"):
        return _stop(pod, memory, sight, settings, directive)
    if phase in TERMINAL:
        return Step(memory)
    if directive.behavior is Behavior.EVICT:
        return _evict(pod, memory, sight, directive)
    if phase != "Running":
        return _start(pod, memory, sight, settings, directive)
    return _live(pod, memory, sight, settings, directive)


def _stop(pod: Obj, memory: Memory, sight: Sight, settings: Settings, directive: Directive) -> Step:
    if directive.behavior is Behavior.HANG:
        return Step(memory)
    grace_s = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    if not grace_s and memory.stopping_s is not None:
        return Step(memory)  # removed; only finalizers hold it
    began_s = sight.now_s if memory.stopping_s is None else memory.stopping_s
    memory = replace(memory, stopping_s=began_s)
    due_s = began_s + min(settings.stop_delay_s, grace_s)
    if sight.now_s < due_s:
        return Step(memory, wake_at_s=due_s)
    return Step(memory, remove=True)


def _evict(pod: Obj, memory: Memory, sight: Sight, directive: Directive) -> Step:
    message = directive.message or EVICTED_MESSAGE
    status = pod_statuses.evicted(pod, sight.time, message)
    return Step(memory, status=status, warnings=(Warned("Evicted", message),))


def _start(
    pod: Obj, memory: Memory, sight: Sight, settings: Settings, directive: Directive
) -> Step:
    due_s = memory.bound_s + settings.start_delay_s
    if sight.now_s < due_s:
        return Step(memory, wake_at_s=due_s)
    if sight.unmountable:
        warnings = tuple(Warned("FailedMount", text) for text in sight.unmountable)
        return _wait(pod, memory, sight, pod_statuses.CREATING, warnings)
    if directive.behavior is Behavior.IMAGE_PULL_ERROR:
        warned = Warned("Failed", "Error: ImagePullBackOff")
        return _wait(pod, memory, sight, "ImagePullBackOff", (warned,))
    ready = directive.behavior is not Behavior.NEVER_READY
    status = pod_statuses.running(pod, sight.place, sight.time, ready=ready)
    began = replace(memory, began_s=sight.now_s)
    return Step(began, status=status, wake_at_s=_end_s(began, directive))


def _wait(
    pod: Obj, memory: Memory, sight: Sight, reason: str, warnings: tuple[Warned, ...]
) -> Step:
    status = pod_statuses.waiting(pod, sight.place, sight.time, reason)
    if _waits_for(pod, reason):
        return Step(memory)
    return Step(memory, status=status, warnings=warnings)


def _live(pod: Obj, memory: Memory, sight: Sight, settings: Settings, directive: Directive) -> Step:
    if memory.began_s is None:
        memory = replace(memory, began_s=sight.now_s)
    if _waits_for(pod, "CrashLoopBackOff"):
        return _restart(pod, memory, sight, directive)
    end_s = _end_s(memory, directive)
    if end_s is not None and sight.now_s >= end_s:
        return _end(pod, memory, sight, settings, directive)
    ready = directive.behavior is not Behavior.NEVER_READY
    if ready and not holds(pod.get("status") or {}, "Ready"):
        # The node was away and others called the pod unready.
        restarts = pod_statuses.restart_count(pod)
        status = pod_statuses.running(pod, sight.place, sight.time, ready=True, restarts=restarts)
        return Step(memory, status=status, wake_at_s=end_s)
    return Step(memory, wake_at_s=end_s)


def _end(pod: Obj, memory: Memory, sight: Sight, settings: Settings, directive: Directive) -> Step:
    code = directive.exit_code
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Never" or (policy == "OnFailure" and code == 0):
        return Step(memory, status=pod_statuses.ended(pod, sight.time, exit_code=code))
    memory = replace(memory, order=None)  # what a test ordered happens once
    count = pod_statuses.restart_count(pod)
    if not count:
        return _restart_at_once(pod, memory, sight, code)
    wait_s = min(
        settings.crash_back_off_min_s * 2.0 ** min(count - 1, 30), settings.crash_back_off_max_s
    )
    status = pod_statuses.crash_looping(
        pod, sight.time, exit_code=code, restarts=count, wait_s=wait_s
    )
    restart_s = sight.now_s + wait_s
    warned = Warned("BackOff", "Back-off restarting failed container")
    return Step(
        replace(memory, restart_at_s=restart_s),
        status=status,
        wake_at_s=restart_s,
        warnings=(warned,),
    )


def _restart_at_once(pod: Obj, memory: Memory, sight: Sight, code: int) -> Step:
    status = pod_statuses.restarted(pod, sight.place, sight.time, exit_code=code, restarts=1)
    again = replace(memory, began_s=sight.now_s)
    return Step(again, status=status, wake_at_s=_end_s(again, directive_of(pod)))


def _restart(pod: Obj, memory: Memory, sight: Sight, directive: Directive) -> Step:
    if memory.restart_at_s is not None and sight.now_s < memory.restart_at_s:
        return Step(memory, wake_at_s=memory.restart_at_s)
    restarts = pod_statuses.restart_count(pod) + 1
    status = pod_statuses.running(pod, sight.place, sight.time, ready=True, restarts=restarts)
    again = replace(memory, began_s=sight.now_s, restart_at_s=None)
    return Step(again, status=status, wake_at_s=_end_s(again, directive))


def _end_s(memory: Memory, directive: Directive) -> float | None:
    if directive.behavior not in _ENDING or memory.began_s is None:
        return None
    return memory.began_s + directive.after_s


def _waits_for(pod: Obj, reason: str) -> bool:
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    states = (item.get("state") or {} for item in containers)
    return any((state.get("waiting") or {}).get("reason") == reason for state in states)
