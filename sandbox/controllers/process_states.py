"""What a kubelet does next with a pod whose containers are processes. Pure.

`decide` looks at the pod, at what its containers came to and at the time, and says what to start,
to stop and to write. kubelet_processes.py carries it out; process_statuses.py has the status.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox.containers.runs import Run, Seen, Verdict, newest
from sandbox.controllers.kubelet_states import Warned
from sandbox.controllers.pod_statuses import CREATING, TERMINAL
from sandbox.controllers.settings import Settings
from sandbox.store.timestamps import unix_seconds

Obj = Mapping[str, Any]
STEADY_S = 600.0
"""A container that ran for so long begins with the shortest back-off again."""
GRACE_S = 30.0
REMOUNT_S = 2.0
"""When a volume that cannot be mounted is tried again, if no object changes before."""
INITIALIZING = "PodInitializing"


@dataclass(frozen=True)
class Memory:
    """What the kubelet remembers of a pod; `crashes` are ends in a row, by container."""

    crashes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sight:
    """What the containers came to, the time, and what stands against a start.

    `bad_configs`: by container, why it cannot be created.
    """

    seen: Seen
    now_s: float
    unmountable: tuple[str, ...] = ()
    bad_configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """Start the run of this number of a container."""

    container: str
    number: int


@dataclass(frozen=True)
class Stop:
    """End a container; after `grace_s` seconds by force."""

    container: str
    grace_s: float


Effect = Start | Stop


@dataclass(frozen=True)
class Waiting:
    """Why a container does not run."""

    reason: str
    message: str = ""


@dataclass(frozen=True)
class Decision:
    """What to do now. `phase` is that of a pod that is over; `reason` and `message` go with it."""

    memory: Memory
    effects: tuple[Effect, ...] = ()
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    phase: str = ""
    reason: str = ""
    message: str = ""
    remove: bool = False
    wake_at_s: float | None = None
    warnings: tuple[Warned, ...] = ()

    def then(self, other: Decision) -> Decision:
        """This and the other, whose memory is the later one."""
        times = [each.wake_at_s for each in (self, other) if each.wake_at_s is not None]
        return replace(
            other,
            effects=(*self.effects, *other.effects),
            waiting={**self.waiting, **other.waiting},
            wake_at_s=min(times, default=None),
            warnings=(*self.warnings, *other.warnings),
        )


def decide(pod: Obj, memory: Memory, sight: Sight, settings: Settings) -> Decision:
    """The next step of a pod whose node is alive.

    1. What is being deleted ends and is removed. 2. What is over stays. 3. A pod may run for
    `activeDeadlineSeconds`. 4. Nothing starts without the volumes. 5. Init containers run one
    after the other, then all others. 6. A pod is over when none of its containers goes on.
    """
    if pod["metadata"].get("deletionTimestamp"):
        return _end_deleted(pod, memory, sight)
    if (pod.get("status") or {}).get("phase") in TERMINAL:
        return Decision(memory)
    if (late := _past_deadline(pod, memory, sight)) is not None:
        return late
    if sight.unmountable and not sight.seen:
        warnings = tuple(Warned("FailedMount", text) for text in sight.unmountable)
        waiting = {each["name"]: Waiting(_first_reason(pod, each)) for each in _all(pod)}
        again_s = sight.now_s + REMOUNT_S
        return Decision(memory, waiting=waiting, warnings=warnings, wake_at_s=again_s)
    return _go_on(pod, memory, sight, settings)


def _end_deleted(pod: Obj, memory: Memory, sight: Sight) -> Decision:
    going = _going(pod, sight.seen)
    if not going:
        return Decision(memory, phase=_phase_at_end(pod, sight.seen), remove=True)
    grace_s = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
    end_s = unix_seconds(pod["metadata"]["deletionTimestamp"])
    effects = _stops(pod, sight.seen, 0.0 if sight.now_s >= end_s + 1 else grace_s)
    return Decision(memory, effects, wake_at_s=end_s + 1 if sight.now_s < end_s + 1 else None)


def _past_deadline(pod: Obj, memory: Memory, sight: Sight) -> Decision | None:
    limit_s = pod["spec"].get("activeDeadlineSeconds")
    started = (pod.get("status") or {}).get("startTime")
    if limit_s is None or started is None:
        return None
    if sight.now_s < unix_seconds(started) + limit_s:
        return None
    if _going(pod, sight.seen):
        return Decision(memory, _stops(pod, sight.seen, _grace_s(pod)))
    message = "Pod was active on the node longer than the specified deadline"
    return Decision(memory, phase="Failed", reason="DeadlineExceeded", message=message)


def _go_on(pod: Obj, memory: Memory, sight: Sight, settings: Settings) -> Decision:
    policy = str(pod["spec"].get("restartPolicy") or "Always")
    found = Decision(memory)
    for container in pod["spec"].get("initContainers") or ():
        rule = _init_policy(container, policy)
        found = found.then(_container(pod, container, rule, found.memory, sight, settings))
        run = newest(sight.seen, container["name"])
        if run is not None and rule == "Never" and run.is_over and run.exit_code:
            return _finish(pod, found, sight)
        if not _is_past(container, run):
            return replace(found, waiting={**_initializing(pod), **found.waiting})
    for container in pod["spec"]["containers"]:
        found = found.then(_container(pod, container, policy, found.memory, sight, settings))
    if all(_is_finished(newest(sight.seen, each["name"]), policy) for each in _mains(pod)):
        return _finish(pod, found, sight)
    if (limit_s := pod["spec"].get("activeDeadlineSeconds")) is not None:
        started = (pod.get("status") or {}).get("startTime")
        due_s = (unix_seconds(started) if started else sight.now_s) + limit_s
        found = found.then(Decision(found.memory, wake_at_s=due_s))
    return found


def _finish(pod: Obj, found: Decision, sight: Sight) -> Decision:
    """Nothing has to run any more: end what helps the others, then the pod is over."""
    if _going(pod, sight.seen):
        return Decision(found.memory, _stops(pod, sight.seen, _grace_s(pod)))
    return Decision(found.memory, phase=_phase_at_end(pod, sight.seen))


def _container(
    pod: Obj, container: Obj, policy: str, memory: Memory, sight: Sight, settings: Settings
) -> Decision:
    name = str(container["name"])
    run = newest(sight.seen, name)
    if run is None:
        return _start(container, 0, memory, sight)
    if not run.is_over:
        return _watch(pod, container, run, memory)
    if _is_finished(run, policy):
        return Decision(memory)
    crashes = memory.crashes.get(name, 0)
    if run.ended_s is not None and run.ended_s - run.began_s >= STEADY_S:
        crashes = 0
    wait_s = _back_off_s(crashes, settings)
    due_s = (run.ended_s or 0.0) + wait_s
    if sight.now_s < due_s:
        text = f"back-off {wait_s:.0f}s restarting failed container={name}"
        warned = Warned("BackOff", f"Back-off restarting failed container {name}")
        waiting = {name: Waiting("CrashLoopBackOff", text)}
        return Decision(memory, waiting=waiting, wake_at_s=due_s, warnings=(warned,))
    again = Memory({**memory.crashes, name: crashes + 1})
    started = _start(container, run.number + 1, again, sight)
    return started if started.effects else replace(started, memory=memory)


def _start(container: Obj, number: int, memory: Memory, sight: Sight) -> Decision:
    name = str(container["name"])
    problem = sight.bad_configs.get(name)
    if problem is None:
        return Decision(memory, (Start(name, number),))
    waiting = {name: Waiting("CreateContainerConfigError", problem)}
    return Decision(memory, waiting=waiting, warnings=(Warned("Failed", f"Error: {problem}"),))


def _watch(pod: Obj, container: Obj, run: Run, memory: Memory) -> Decision:
    """A container that runs ends when a probe says that it has to."""
    if run.is_stopping:
        return Decision(memory)
    warnings = (Warned("Unhealthy", run.complaint),) if run.complaint else ()
    failed = [
        kind
        for kind, verdict in (("startup", run.startup), ("liveness", run.liveness))
        if verdict is Verdict.FAILED
    ]
    if failed:
        probe = container.get(f"{failed[0]}Probe") or {}
        grace_s = float(probe.get("terminationGracePeriodSeconds") or _grace_s(pod))
        effects = (Stop(str(container["name"]), grace_s),)
        return Decision(memory, effects, warnings=warnings)
    return Decision(memory, warnings=warnings)


def _back_off_s(crashes: int, settings: Settings) -> float:
    """The first restart is at once."""
    if not crashes:
        return 0.0
    wait_s = settings.crash_back_off_min_s * 2.0 ** min(crashes - 1, 30)
    return min(wait_s, settings.crash_back_off_max_s)


def is_sidecar(container: Obj) -> bool:
    """Whether an init container runs beside the others."""
    return container.get("restartPolicy") == "Always"


def _init_policy(container: Obj, policy: str) -> str:
    if is_sidecar(container):
        return "Always"
    return "OnFailure" if policy == "Always" else policy


def _is_past(container: Obj, run: Run | None) -> bool:
    """Whether the next container may start after this init container."""
    if run is None:
        return False
    if is_sidecar(container):
        return run.startup is Verdict.PASSED
    return run.is_over and run.exit_code == 0


def _is_finished(run: Run | None, policy: str) -> bool:
    if run is None or not run.is_over:
        return False
    return policy == "Never" or (policy == "OnFailure" and run.exit_code == 0)


def _phase_at_end(pod: Obj, seen: Seen) -> str:
    """Succeeded if every container ended with 0; of one that never ran, nothing is known."""
    runs = [newest(seen, each["name"]) for each in _all(pod) if not is_sidecar(each)]
    if not all(run is not None and run.exit_code == 0 for run in runs):
        return "Failed"
    return "Succeeded"


def _going(pod: Obj, seen: Seen) -> list[Obj]:
    runs = ((each, newest(seen, each["name"])) for each in _all(pod))
    return [each for each, run in runs if run is not None and not run.is_over]


def _stops(pod: Obj, seen: Seen, grace_s: float) -> tuple[Effect, ...]:
    """End what runs: sidecars after all others, in the other order of their start."""
    going = _going(pod, seen)
    others = [each for each in going if not is_sidecar(each)]
    chosen = others or going[-1:]
    runs = [(str(each["name"]), newest(seen, each["name"])) for each in chosen]
    return tuple(
        Stop(name, grace_s)
        for name, run in runs
        if run is not None and (not run.is_stopping or grace_s == 0)
    )


def _first_reason(pod: Obj, container: Obj) -> str:
    """Why a container waits as long as nothing of its pod has started."""
    inits = pod["spec"].get("initContainers") or ()
    return INITIALIZING if inits and container is not inits[0] else CREATING


def _initializing(pod: Obj) -> dict[str, Waiting]:
    return {str(each["name"]): Waiting(INITIALIZING) for each in _mains(pod)}


def _grace_s(pod: Obj) -> float:
    given = pod["spec"].get("terminationGracePeriodSeconds")
    return GRACE_S if given is None else float(given)


def _mains(pod: Obj) -> list[Obj]:
    return list(pod["spec"]["containers"])


def _all(pod: Obj) -> list[Obj]:
    return [*(pod["spec"].get("initContainers") or ()), *_mains(pod)]
