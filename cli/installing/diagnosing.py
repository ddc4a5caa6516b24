"""What keeps services from being ready, in words: from the status of Deployments, Jobs and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = Mapping[str, Any]

_NEVER: Final = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_PULLING: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
_BROKEN: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with one pod; `log_of` is a container whose log says why, if it has one.

    `may_pass`: others are likely to see to it, in minutes.
    """

    sentence: str
    pod: str = ""
    log_of: str = ""
    exit_code: int = 0
    may_pass: bool = False


def is_ready(workload: Json) -> bool:
    """Whether a Deployment or StatefulSet runs what was applied, all of it, and nothing older."""
    status, wanted = workload.get("status") or {}, workload["spec"].get("replicas", 1)
    observed = status.get("observedGeneration", 0) >= workload["metadata"].get("generation", 1)
    counts = ("updatedReplicas", "readyReplicas", "replicas")
    return observed and all(status.get(name, 0) == wanted for name in counts)


def job_state(job: Json) -> str:
    """`Complete`, `Failed`, or empty while it runs."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["status"] == "True" and each["type"] in ("Complete", "Failed"):
            return str(each["type"])
    return ""


def trouble_of_workload(workload: Json) -> Trouble | None:
    """Why no pods are made, such as a quota, or a level of Pod Security."""
    for each in (workload.get("status") or {}).get("conditions") or ():
        if each["type"] == "ReplicaFailure" and each["status"] == "True":
            return Trouble(f"{workload['metadata']['name']} gets no pod: {each.get('message', '')}")
    return None


def troubles_of_pods(pods: Iterable[Json]) -> list[Trouble]:
    """What is wrong with pods that are not ready, one for each of them."""
    found = (trouble_of_pod(pod) for pod in pods if not _is_ready(pod))
    return [each for each in found if each is not None]


def trouble_of_pod(pod: Json) -> Trouble | None:
    """The first thing that is wrong with a pod; None: it may just need time."""
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp"):
        return None
    for each in status.get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False":
            # A cluster autoscaler adds a node in some minutes.
            sentence = f"pod {name} is on no node: {each.get('message', '')}"
            return Trouble(sentence, name, may_pass=True)
    containers = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    for container in containers:
        trouble = _of_container(name, container)
        if trouble is not None:
            return trouble
    return None


def _of_container(pod: str, container: Json) -> Trouble | None:
    state = container.get("state") or {}
    waiting = state.get("waiting") or {}
    reason, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
    if reason in _NEVER | _PULLING:
        why = f" ({message})" if message else ""
        return Trouble(f"the image {container.get('image')} cannot be pulled: {reason}{why}", pod)
    if reason in _BROKEN:
        return Trouble(f"pod {pod} cannot start: {message or reason}", pod)
    ended = state.get("terminated") or (container.get("lastState") or {}).get("terminated") or {}
    code = int(ended.get("exitCode", 0))
    if code:
        sentence = f"{container['name']} in pod {pod} ended with code {code}"
        return Trouble(sentence, pod, container["name"], code)
    return None


def is_final(trouble: Trouble) -> bool:
    """Whether waiting cannot help."""
    return any(f": {reason}" in trouble.sentence for reason in _NEVER)


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
