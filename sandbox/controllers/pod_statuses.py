"""What the status of a pod says in each state, as a kubelet writes it. Pure.

When a pod enters a state is decided in kubelet_states.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.controllers.conditions import Status, condition_of, with_condition

Obj = Mapping[str, Any]
TERMINAL = ("Succeeded", "Failed")
CREATING = "ContainerCreating"
"""What a container waits for before the volumes of its pod are mounted."""
INITIALIZED: Mapping[str, Any] = {"status": "True"}
READY_TO_START = "PodReadyToStartContainers"


@dataclass(frozen=True)
class Place:
    """Where a pod runs."""

    host_ip: str
    pod_ip: str


def waiting(pod: Obj, place: Place, time: str, reason: str, message: str = "") -> Status:
    """Pending: accepted by the kubelet, its containers wait for something."""
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    status = {**_status(pod), "phase": "Pending", "hostIP": place.host_ip}
    status.setdefault("startTime", time)
    status = _with_containers(pod, status, state, ready=False, restarts=0)
    unstarted = {"type": READY_TO_START, "status": "False" if reason == CREATING else "True"}
    return with_condition(_with_readiness(pod, status, time, ready=False), unstarted, time)


def running(pod: Obj, place: Place, time: str, *, ready: bool, restarts: int = 0) -> Status:
    """Running; `restarts` above what the status says means that the containers ended before."""
    status = {
        **_status(pod),
        "phase": "Running",
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "podIP": place.pod_ip,
        "podIPs": [{"ip": place.pod_ip}],
    }
    status.setdefault("startTime", time)
    state = {"running": {"startedAt": time}}
    status = _with_containers(pod, status, state, ready=ready, restarts=restarts)
    if condition_of(status, READY_TO_START) is not None:
        status = dict(with_condition(status, {"type": READY_TO_START, "status": "True"}, time))
    return _with_readiness(pod, status, time, ready=ready)


def crash_looping(pod: Obj, time: str, *, exit_code: int, restarts: int, wait_s: float) -> Status:
    """Running as a phase, while the containers wait to be started again."""
    state = {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off {wait_s:.0f}s restarting failed container",
        }
    }
    last = {"terminated": _terminated(_status(pod), time, exit_code)}
    status = _with_containers(
        pod, dict(_status(pod)), state, ready=False, restarts=restarts, last=last
    )
    return _with_readiness(pod, status, time, ready=False)


def restarted(pod: Obj, place: Place, time: str, *, exit_code: int, restarts: int) -> Status:
    """Running again at once after its containers ended."""
    last = {"terminated": _terminated(_status(pod), time, exit_code)}
    status = dict(running(pod, place, time, ready=True, restarts=restarts))
    status["containerStatuses"] = [
        {**container, "lastState": last} for container in status["containerStatuses"]
    ]
    return status


def ended(pod: Obj, time: str, *, exit_code: int) -> Status:
    """Succeeded or Failed, by the exit code of the containers."""
    before = _status(pod)
    phase = "Succeeded" if exit_code == 0 else "Failed"
    state = {"terminated": _terminated(before, time, exit_code)}
    status = _with_containers(
        pod, {**before, "phase": phase}, state, ready=False, restarts=_restarts(before)
    )
    reason = "PodCompleted" if exit_code == 0 else "PodFailed"
    return _with_readiness(pod, status, time, ready=False, reason=reason)


def evicted(pod: Obj, time: str, message: str) -> Status:
    """Failed, because the kubelet threw it out."""
    status: Status = {**_status(pod), "phase": "Failed", "reason": "Evicted", "message": message}
    status = _with_readiness(pod, {**status}, time, ready=False, reason="PodFailed")
    return disrupted(status, time, "TerminationByKubelet", message)


def rejected(pod: Obj, time: str, reason: str, message: str) -> Status:
    """Failed, because the kubelet did not let it in."""
    says = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
    return {"startTime": time, **_status(pod), **says}


def disrupted(status: Status, time: str, reason: str, message: str) -> Status:
    """The status with the condition that says: this end was not the pod's own."""
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
    }
    return with_condition(status, condition, time)


def restart_count(pod: Obj) -> int:
    return _restarts(_status(pod))


def _status(pod: Obj) -> dict[str, Any]:
    return dict(pod.get("status") or {})


def _restarts(status: Status) -> int:
    return max(
        (item.get("restartCount", 0) for item in status.get("containerStatuses") or ()), default=0
    )


def _terminated(before: Status, time: str, exit_code: int) -> dict[str, Any]:
    containers = before.get("containerStatuses") or [{}]
    started = (containers[0].get("state") or {}).get("running", {}).get("startedAt", time)
    return {
        "exitCode": exit_code,
        "reason": "Completed" if exit_code == 0 else "Error",
        "startedAt": started,
        "finishedAt": time,
    }


def _with_containers(
    pod: Obj,
    status: dict[str, Any],
    state: Mapping[str, Any],
    *,
    ready: bool,
    restarts: int,
    last: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    before = {item["name"]: item for item in status.get("containerStatuses") or ()}
    is_running = "running" in state
    status["containerStatuses"] = [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "state": dict(state),
            "lastState": dict(last or before.get(container["name"], {}).get("lastState") or {}),
            "ready": ready,
            "started": is_running,
            "restartCount": restarts,
            **resources_of(before.get(container["name"]), container, is_running=is_running),
        }
        for container in pod["spec"].get("containers") or ()
    ]
    return status


def resources_of(
    before: Mapping[str, Any] | None, container: Mapping[str, Any], *, is_running: bool
) -> dict[str, Any]:
    """The resources that a container has; a resize that is not in force yet changes none."""
    if before is not None and "resources" in before:
        return {"resources": before["resources"]}
    return {"resources": container.get("resources") or {}} if is_running else {}


def _with_readiness(
    pod: Obj, status: Status, time: str, *, ready: bool, reason: str = "ContainersNotReady"
) -> Status:
    unready = [container["name"] for container in pod["spec"].get("containers") or ()]
    return with_readiness(status, time, ready=ready, reason=reason, unready=unready)


def with_readiness(
    status: Status,
    time: str,
    *,
    ready: bool,
    reason: str,
    unready: Sequence[str],
    initialized: Mapping[str, Any] = INITIALIZED,
) -> Status:
    """The status with the conditions of a pod; `unready` names containers.

    `initialized` is what the condition Initialized says.
    """
    names = " ".join(unready)
    says: dict[str, Any] = {"status": "True" if ready else "False"}
    if not ready:
        says["reason"] = reason
        if reason == "ContainersNotReady":
            says["message"] = f"containers with unready status: [{names}]"
    conditions: list[dict[str, Any]] = [
        {"type": "Initialized", **initialized},
        {"type": "Ready", **says},
        {"type": "ContainersReady", **says},
        {"type": "PodScheduled", "status": "True"},
    ]
    for condition in conditions:
        status = with_condition(_without_reason(status, condition), condition, time)
    return status


def _without_reason(status: Status, condition: Mapping[str, Any]) -> Status:
    """Drop what an older condition says and the new one does not, so that both can be compared."""
    kept = {*condition, "lastTransitionTime", "lastProbeTime"}
    return {
        **status,
        "conditions": [
            {key: value for key, value in item.items() if key in kept}
            if item.get("type") == condition["type"]
            else item
            for item in status.get("conditions") or ()
        ],
    }
