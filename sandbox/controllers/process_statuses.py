"""The status of a pod whose containers are processes, as a kubelet writes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox.containers.runs import Run, Runs, Seen, Verdict, newest
from sandbox.controllers.conditions import Status, with_condition
from sandbox.controllers.pod_statuses import (
    CREATING,
    INITIALIZED,
    READY_TO_START,
    TERMINAL,
    Place,
    resources_of,
    with_readiness,
)
from sandbox.controllers.process_states import INITIALIZING, Decision, Waiting, is_sidecar
from sandbox.store.timestamps import rfc3339

Obj = Mapping[str, Any]


def status_of(pod: Obj, place: Place, seen: Seen, decision: Decision, now_s: float) -> Status:
    """The whole status; equal to that of the pod if nothing changed."""
    time, before = rfc3339(now_s), dict(pod.get("status") or {})
    status: dict[str, Any] = {**before, "phase": _phase(pod, seen, decision)}
    status.update({"hostIP": place.host_ip, "hostIPs": [{"ip": place.host_ip}]})
    status.setdefault("startTime", time)
    if seen:
        status.update({"podIP": place.pod_ip, "podIPs": [{"ip": place.pod_ip}]})
    for name in ("reason", "message"):
        if getattr(decision, name):
            status[name] = getattr(decision, name)
    status["containerStatuses"] = _containers(pod, "containers", seen, decision.waiting)
    if pod["spec"].get("initContainers"):
        inits = _containers(pod, "initContainers", seen, decision.waiting)
        status["initContainerStatuses"] = inits
    has_network = {"type": READY_TO_START, "status": "True" if seen else "False"}
    changed = with_condition(status, has_network, time)
    return _with_conditions(changed, time)


def _phase(pod: Obj, seen: Seen, decision: Decision) -> str:
    """Running from the first of its containers on."""
    if decision.phase:
        return decision.phase
    ran = any(newest(seen, each["name"]) is not None for each in pod["spec"]["containers"])
    return "Running" if ran else "Pending"


def _containers(
    pod: Obj, field: str, seen: Seen, waiting: Mapping[str, Waiting]
) -> list[dict[str, Any]]:
    before = {
        each["name"]: each
        for each in (pod.get("status") or {}).get(f"{field.removesuffix('s')}Statuses") or ()
    }
    return [
        _container(each, field, seen.get(each["name"], ()), waiting, before.get(each["name"]))
        for each in pod["spec"].get(field) or ()
    ]


def _container(
    spec: Obj, field: str, runs: Runs, waiting: Mapping[str, Waiting], before: Obj | None
) -> dict[str, Any]:
    run = runs[-1] if runs else None
    why = waiting.get(spec["name"])
    is_running = run is not None and not run.is_over
    last: Run | None = run if why is not None else (runs[-2] if len(runs) > 1 else None)
    is_init = field == "initContainers" and not is_sidecar(spec)
    is_done = is_init and run is not None and run.is_over and run.exit_code == 0
    return {
        "name": spec["name"],
        "image": spec.get("image", ""),
        "imageID": "",
        **({"containerID": f"process://{run.pid}"} if run is not None and run.pid else {}),
        "state": _state(run, why),
        "lastState": {} if last is None or not last.is_over else _terminated(last),
        "ready": is_done or (not is_init and run is not None and run.is_ready),
        "started": not is_init and is_running and _has_started(run),
        "restartCount": 0 if run is None else run.number,
        **resources_of(before, spec, is_running=is_running),
    }


def _has_started(run: Run | None) -> bool:
    return run is not None and run.startup is Verdict.PASSED


def _state(run: Run | None, why: Waiting | None) -> dict[str, Any]:
    if why is not None and (run is None or run.is_over):
        message = {"message": why.message} if why.message else {}
        return {"waiting": {"reason": why.reason, **message}}
    if run is None:
        return {"waiting": {"reason": CREATING}}
    if run.is_over:
        return _terminated(run)
    return {"running": {"startedAt": rfc3339(run.began_s)}}


def _terminated(run: Run) -> dict[str, Any]:
    return {
        "terminated": {
            "exitCode": run.exit_code,
            "reason": run.reason or ("Completed" if run.exit_code == 0 else "Error"),
            **({"message": run.message} if run.message else {}),
            "startedAt": rfc3339(run.began_s),
            "finishedAt": rfc3339(run.ended_s or run.began_s),
        }
    }


def _with_conditions(status: Status, time: str) -> Status:
    containers = status["containerStatuses"]
    unready = [each["name"] for each in containers if not each["ready"]]
    reason = "ContainersNotReady"
    if status["phase"] in TERMINAL:
        reason = "PodCompleted" if status["phase"] == "Succeeded" else "PodFailed"
    return with_readiness(
        status,
        time,
        ready=not unready and status["phase"] not in TERMINAL,
        reason=reason,
        unready=unready,
        initialized=_initialized(status),
    )


def _initialized(status: Status) -> Mapping[str, Any]:
    """What the condition Initialized says."""
    inits = status.get("initContainerStatuses") or ()
    lacking = [each["name"] for each in inits if not (each["ready"] or each["started"])]
    waits = any(
        (each["state"].get("waiting") or {}).get("reason") == INITIALIZING
        for each in status["containerStatuses"]
    )
    if not waits:
        return INITIALIZED
    message = f"containers with incomplete status: [{' '.join(lacking)}]"
    return {"status": "False", "reason": "ContainersNotInitialized", "message": message}
