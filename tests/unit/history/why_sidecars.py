"""Troubles of pods that have other containers beside that of the PE."""

from __future__ import annotations

from typing import Any

from history.why.rules import Trouble
from tests.builders import PodBuilder, a_pe
from tests.unit.history.troubles import (
    Scene,
    a_blocked_pe,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    condition,
    ill,
)
from tests.unit.history.why_cases import Case

Json = dict[str, Any]
RUNS: Json = {"running": {"startedAt": "2026-11-20T09:00:00Z"}}
CRASHES: Json = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


def ended(code: int, reason: str = "Error", **more: object) -> Json:
    return {"terminated": {"exitCode": code, "reason": reason, **more}}


def pod(pe: Json, proxy: Json, *, is_init: bool = False, **fields: Any) -> PodBuilder:
    """The pod of a PE and a sidecar, which comes first, as by its name."""
    beside = {"name": "envoy", "state": proxy, "lastState": ended(3)}
    own = {"name": "pe", "state": pe}
    mains = [own] if is_init else [beside, own]
    unready = condition("Ready", "False", "ContainersNotReady", "unready status: [envoy]")
    found: Json = {
        "containerStatuses": mains,
        "initContainerStatuses": [beside] if is_init else [],
        "conditions": [unready],
    }
    return a_running_pod().with_status(**{**found, **fields})


def running(seen: PodBuilder) -> Scene:
    return Scene((a_submitted_job(), a_pe().launched(1), seen, a_ready_node()))


FAILED = a_blocked_pe("PodFailed", "The pod failed. Container pe: OOMKilled.", phase="Failed")
SIDECARS: dict[str, Case] = {
    "a sidecar that failed": Case(
        running(pod(RUNS, ended(3, "Error"))),
        Trouble.SIDECAR_FAILED,
        ("container envoy of pod shop-0-", "failed (exit code 3, Error)", "PE shop-0 runs without"),
        (" -c envoy -n default", "millrace restart shop-0 -n default", "restartPolicy: Always"),
    ),
    "a sidecar that failed, of its PE": Case(
        running(pod(RUNS, ended(3, "OOMKilled"))).about("ProcessingElement", "shop-0"),
        Trouble.SIDECAR_FAILED,
        ("failed (exit code 3, OOMKilled)",),
        (" -c envoy -n default",),
    ),
    "a sidecar that the kubelet starts again and again": Case(
        running(pod(RUNS, CRASHES, is_init=True)),
        Trouble.SIDECAR_FAILED,
        ("container envoy", "exit code 3"),
        ("the kubelet starts it again by itself",),
    ),
    "a PE that failed beside a sidecar that ended with it": Case(
        ill(FAILED, pod(ended(137, "OOMKilled"), ended(143), is_init=True, phase="Failed")),
        Trouble.ENDED,
        ("PE shop-0 is not launched again", "OOMKilled"),
        ("millrace restart shop-0",),
    ),
    "a PE that failed beside a sidecar that runs": Case(
        ill(FAILED, pod(ended(137, "OOMKilled"), RUNS)),
        Trouble.ENDED,
        ("PE shop-0 is not launched again", "OOMKilled"),
        ("(`millrace logs shop-0 -n default`)",),
    ),
    "a sidecar without which the PE does not begin": Case(
        ill(
            a_blocked_pe("PodStarting", "The pod starts."),
            pod({"waiting": {"reason": "PodInitializing"}}, CRASHES, is_init=True, phase="Pending"),
        ),
        Trouble.INIT_FAILED,
        ("the init container envoy", "exit code 3"),
        (" -c envoy",),
    ),
}
