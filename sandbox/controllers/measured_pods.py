"""The pods that an autoscaler counts, read: what each uses and requests, and whether it is ready.

Pure. CPU is what `sandbox.millrace.dev/cpu` plays, and all of it is used by the first container.
Nothing plays another resource. Without a metric there is the error of kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sandbox.controllers.conditions import condition_of
from sandbox.controllers.replicas import UNREADY, NoMetricError, PodUse
from sandbox.store.played_cpu import played_mcpu
from sandbox.store.quantities import units
from sandbox.store.timestamps import unix_seconds

CPU: Final = "cpu"
INITIALIZATION_S: Final = 300
"""After the start of a pod, only metrics of a whole window in which it was ready count."""
WINDOW_S: Final = 15
"""Of what the sandbox's `metrics.k8s.io` serves."""
READY_DELAY_S: Final = 30
_UNSERVED = "the server could not find the requested resource (get pods.metrics.k8s.io)"
Obj = Mapping[str, Any]


@dataclass(frozen=True)
class Metric:
    """A resource of one container, or of all (""); of a utilization, requests are looked at."""

    resource: str
    container: str
    is_utilization: bool


def uses_of(pods: Sequence[Obj], metric: Metric, now: float, *, is_served: bool) -> list[PodUse]:
    """What counts of the pods that a selector matches. Raises NoMetricError."""
    resource, container = metric.resource, metric.container
    used = {pod["metadata"]["name"]: _used_m(pod, resource, container) for pod in pods}
    prefix = f"unable to get metrics for resource {resource}"
    if not is_served:
        text = f"unable to fetch metrics from resource metrics API: {_UNSERVED}"
        raise NoMetricError(f"{prefix}: {text}")
    if not any(_is_measured(pod) for pod in pods):
        raise NoMetricError(f"{prefix}: no metrics returned from resource metrics API")
    counted = [pod for pod in pods if not _is_ending(pod)]
    ready = {pod["metadata"]["name"]: _is_ready(pod, used, resource, now) for pod in counted}
    if not any(is_ready and used[name] is not None for name, is_ready in ready.items()):
        raise NoMetricError(UNREADY)
    requests = dict.fromkeys(used, 0)
    if metric.is_utilization:
        requests = {pod["metadata"]["name"]: _requested_m(pod, resource, container) for pod in pods}
    return [PodUse(is_ready, used[name], requests[name]) for name, is_ready in ready.items()]


def _is_ending(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"] or pod["status"].get("phase") == "Failed"


def _is_measured(pod: Obj) -> bool:
    return pod["status"].get("phase") == "Running" and played_mcpu(pod) is not None


def _used_m(pod: Obj, resource: str, container: str) -> int | None:
    if resource != CPU or not _is_measured(pod):
        return None
    first = pod["spec"]["containers"][0]["name"]
    return played_mcpu(pod) if container in {"", first} else 0


def _is_ready(pod: Obj, used: Mapping[str, int | None], resource: str, now: float) -> bool:
    """A pod without a metric counts as missing, not as unready, unless it is pending."""
    status = pod["status"]
    if status.get("phase") == "Pending":
        return False
    if used[pod["metadata"]["name"]] is None or resource != CPU:
        return True
    ready = condition_of(status, "Ready")
    if ready is None or "startTime" not in status:
        return False
    started, changed = unix_seconds(status["startTime"]), unix_seconds(ready["lastTransitionTime"])
    if started + INITIALIZATION_S > now:
        return ready["status"] != "False" and now >= changed + WINDOW_S
    return ready["status"] != "False" or started + READY_DELAY_S <= changed


def _requested_m(pod: Obj, resource: str, container: str) -> int:
    """In thousandths, of one container or of all. Raises NoMetricError if one requests nothing."""
    name = pod["metadata"]["name"]
    total, found = 0, not container
    for each in [*pod["spec"]["containers"], *_sidecars(pod)]:
        if container and each["name"] != container:
            continue
        found = True
        request = ((each.get("resources") or {}).get("requests") or {}).get(resource)
        if request is None:
            where = f"in container {each['name']} of Pod {name}"
            raise NoMetricError(f"missing request for {resource} {where}")
        total += units(resource, request) * (1 if resource == CPU else 1_000)
    if not found:
        raise NoMetricError(f"container {container} not found in Pod {name}")
    return total


def _sidecars(pod: Obj) -> list[Obj]:
    started = pod["spec"].get("initContainers") or ()
    return [each for each in started if each.get("restartPolicy") == "Always"]
