"""Guards and sentences about PEs that do not run, and their pods."""

from __future__ import annotations

from typing import Final

from contracts.belonging import container_of
from contracts.failures import ended_with
from contracts.reasons import Reason
from history.why.case import PE, POD, Case, containers_of
from history.why.of_jobs import Guard, Text
from history.why.of_needs import PULL, wanted_by
from history.why.phrases import (
    about,
    brief,
    image_of,
    last_words_of,
    node_name_of,
    remedy,
    values_of,
)
from history.why.things import READY, Obj, Thing, items_of, mapping_of

OVERDUE_S: Final = 10.0
"""After the end of its grace period, a pod that is being deleted should be gone."""


# --------------------------------------------------------------------------- pods


def blocked(*reasons: Reason) -> Guard:
    """A guard: a pod does not start for one of these reasons, by its own status or its PE's."""

    def guard(case: Case) -> Thing | None:
        pod = case.first_pod(lambda seen: seen.blocked in reasons)
        return pod or case.idle_with(*reasons)

    return guard


def _alike(case: Case, *reasons: Reason) -> list[Thing]:
    def is_alike(pod: Thing) -> bool:
        seen = case.as_launch(pod)
        return seen is not None and seen.blocked in reasons

    return [pod for pod in case.newest_pods if is_alike(pod)]


def problem_of(case: Case, subject: Thing) -> str:
    """Why a pod does not start or failed, by its status, else by that of its PE."""
    seen = case.as_launch(subject) if subject.kind == POD else None
    words = seen.problem if seen else ""
    pe = subject if subject.role == PE else case.pe_of(subject)
    events = [str(each.obj.get("message") or "") for each in case.events_of(subject)[:1]]
    return words or (pe.message if pe and pe.message else "") or "".join(events)


def of_blocked(words: str, *reasons: Reason) -> Text:
    """A text: who is blocked, in words, and what its status says."""

    def text(case: Case, subject: Thing) -> str:
        alike = _alike(case, *reasons) if subject.kind == POD else []
        who = about(case, subject, alike)
        return f"{who} {words}: {brief(problem_of(case, subject))}"

    return text


def of_image(case: Case, subject: Thing) -> str:
    """Which image."""
    pod = subject if subject.kind == POD else case.pod_of(subject)
    image = image_of(pod) if pod else ""
    who = about(case, subject, _alike(case, Reason.IMAGE_PULL_FAILED))
    lost = [f"Secret {name} for it does not exist" for name in _pull_secrets_lost(case, pod)]
    why = "; ".join([*lost, brief(problem_of(case, subject))])
    return f"the image {image} of {who} cannot be pulled: {why}"


def _pull_secrets_lost(case: Case, pod: Thing | None) -> list[str]:
    return [
        name
        for kind, name, at in (wanted_by(pod) if pod else ())
        if at == PULL and f"{kind}/{name}" in case.gathered.missing
    ]


def cure_image(case: Case, subject: Thing) -> str:
    """The Secret that is missing, else the image."""
    lost = _pull_secrets_lost(case, subject if subject.kind == POD else case.pod_of(subject))
    if not lost:
        return remedy(case, subject, Reason.IMAGE_PULL_FAILED)
    values = values_of(case, subject)
    return (
        f"Create it: kubectl create secret docker-registry {lost[0]} -n {values['ns']}"
        " --docker-server=HOST --docker-username=USER --docker-password=PASSWORD; or correct the"
        f" field: kubectl edit stj {values['job']} -n {values['ns']}"
    )


def of_mounts(case: Case, subject: Thing) -> str:
    """What the kubelet says of the volumes, else the status of the PE."""
    pod = subject if subject.kind == POD else case.pod_of(subject)
    failed = case.events_of(pod, "FailedMount", "FailedAttachVolume") if pod else ()
    words = str(failed[0].obj.get("message") or "") if failed else problem_of(case, subject)
    return f"the volumes of {about(case, subject)} are not mounted: {brief(words)}"


def not_mounted(case: Case) -> Thing | None:
    """Guard: a pod waits for its volumes: by its PE, or by an Event of the kubelet."""
    for pod in case.newest_pods:
        failed = case.events_of(pod, "FailedMount", "FailedAttachVolume")
        if pod.phase in ("", "Pending") and failed:
            return pod
    return case.idle_with(Reason.VOLUMES_NOT_MOUNTED)


def stuck(case: Case) -> Thing | None:
    """Guard: a pod is being deleted and does not end."""
    for pod in case.pods:
        due, is_over = pod.deleted_s, pod.phase in ("Succeeded", "Failed")
        if due is not None and not is_over and case.gathered.now_s > due + OVERDUE_S:
            return pod
    return None


def of_stuck(case: Case, subject: Thing) -> str:
    """Which pod, and what is known of its node."""
    name = node_name_of(case, subject)
    node = case.node(name)
    where = "is on no node"
    if name:
        ready = node.condition(READY, "True") if node else None
        state = "is ready" if ready else "is not ready" if node else "is not known"
        state = "does not exist" if case.is_gone(name) else state
        where = f"does not end on node {name}, which {state}"
    kept = f"; finalizers keep it: {', '.join(subject.finalizers)}" if subject.finalizers else ""
    return f"pod {subject.name} is being deleted and {where}{kept}"


def cure_stuck(case: Case, subject: Thing) -> str:
    """What ends a pod: on a node that is ready, else the node's end."""
    name, ns = node_name_of(case, subject), values_of(case, subject)["ns"]
    node = case.node(name)
    force = f"kubectl delete pod {subject.name} -n {ns} --force --grace-period=0"
    if subject.finalizers:
        edit = f"kubectl edit pod {subject.name} -n {ns}"
        return f"Start what removes the finalizers, or remove them: {edit}"
    if node is not None and node.condition(READY, "True"):
        return f"See what its process does on node {name}, then end it there; or by force: {force}"
    return remedy(case, subject, Reason.STUCK_TERMINATING)


def evicted(case: Case) -> Thing | None:
    """Guard: the kubelet threw a pod out, as under pressure of the node."""
    return next((pod for pod in case.newest_pods if pod.reason == "Evicted"), None)


def of_eviction(case: Case, subject: Thing) -> str:
    """Which pod, from which node, and why."""
    node = node_name_of(case, subject)
    return f"node {node} evicted pod {subject.name}: {brief(subject.message)}"


def cure_eviction(case: Case, subject: Thing) -> str:
    """Where the pressure shows."""
    values = values_of(case, subject)
    return (
        f"Free on node {values['node']} what the message names (kubectl describe node"
        f" {values['node']}), or request it, so that the scheduler counts it"
        f" (spec.processingElement.resources): kubectl edit stj {values['job']} -n {values['ns']}"
    )


def init_failed(case: Case) -> Thing | None:
    """Guard: a container that initializes the pod fails."""
    return next((pod for pod in case.newest_pods if _failed_init(pod)), None)


def _failed_init(pod: Thing) -> tuple[str, str] | None:
    if pod.phase not in ("", "Pending", "Failed") or _has_begun(pod):
        return None
    for each in items_of(pod.status.get("initContainerStatuses")):
        for part in ("state", "lastState"):
            ended = mapping_of(mapping_of(each.get(part)).get("terminated"))
            if ended.get("exitCode"):
                why = ended.get("message") or ended.get("reason") or "Error"
                return str(each.get("name")), f"exit code {ended['exitCode']}, {why}"
    return None


def _has_begun(pod: Thing) -> bool:
    """Whether the container of the PE started: then a sidecar among the others ended as it did."""
    own = (each for each in containers_of(pod) if each.name == container_of(pod.obj))
    states = (mapping_of(each.obj.get("state")) for each in own)
    return any("running" in state or "terminated" in state for state in states)


def of_init(case: Case, subject: Thing) -> str:
    """Which container, and how it ended."""
    found = _failed_init(subject)
    assert found is not None, "the guard held"
    alike = [pod for pod in case.newest_pods if _failed_init(pod)]
    who = about(case, subject, alike)
    return (
        f"the init container {found[0]} of {who} fails ({brief(found[1])}), so the PE never starts"
    )


def cure_init(case: Case, subject: Thing) -> str:
    """Its log, and the field."""
    found, values = _failed_init(subject), values_of(case, subject)
    assert found is not None, "the guard held"
    return (
        f"Read its log (kubectl logs {subject.name} -c {found[0]} -n {values['ns']}), and correct"
        " spec.processingElement.podTemplate.spec.initContainers: kubectl edit stj"
        f" {values['job']} -n {values['ns']}"
    )


def with_reason(*reasons: Reason) -> Guard:
    """A guard: a PE that does not run has one of these reasons."""
    return lambda case: case.idle_with(*reasons)


def of_pe(words: str) -> Text:
    """A text: the PE, in words, and its message."""

    def text(case: Case, subject: Thing) -> str:
        alike = [pe for pe in case.idle if pe.reason == subject.reason]
        last = last_words_of(case, case.pod_of(subject))
        wrote = f"; its last line: {brief(last)}" if last and last not in subject.message else ""
        return f"{about(case, subject, alike)} {words}: {brief(subject.message)}{wrote}"

    return text


def restarting(case: Case) -> Thing | None:
    """Guard: a PE failed, and its next restart waits, or has just begun."""
    now_s = case.gathered.now_s
    again = (pe for pe in case.idle if ended_with(pe.status, now_s))
    return case.idle_with(Reason.BACKING_OFF) or next(again, None)


def of_restarting(case: Case, subject: Thing) -> str:
    """How its launch ended."""
    if subject.reason == Reason.BACKING_OFF:
        return of_pe("failed and is restarted soon")(case, subject)
    why = brief(ended_with(subject.status, case.gathered.now_s))
    return f"{about(case, subject)} failed and is launched again: {why}"


def cure_pe(case: Case, subject: Thing) -> str:
    """The remedy for the reason of the PE."""
    return remedy(case, subject, subject.reason)


def failed_pod(case: Case) -> Thing | None:
    """Guard: the pod of the question failed, whatever follows."""
    return case.target if case.target.kind == POD and case.target.phase == "Failed" else None


def not_ready(case: Case) -> Thing | None:
    """Guard: the pod of the question runs and is not ready."""
    target = case.target
    return target if target.kind == POD and target.condition(READY, "False") else None


def of_not_ready(_case: Case, subject: Thing) -> str:
    """Which containers."""
    condition = subject.condition(READY, "False")
    waits = [
        f"{each.name}: {reason}"
        for each in containers_of(subject)
        if (reason := _part_of_state(each, "waiting").get("reason"))
    ]
    why = "; ".join([condition.message if condition else "", *waits])
    return f"pod {subject.name} is {subject.phase} and not ready: {brief(why)}"


def _part_of_state(container: Thing, name: str) -> Obj:
    return mapping_of(mapping_of(container.obj.get("state")).get(name))


def without_sidecar(case: Case) -> Thing | None:
    """Guard: a PE runs, and another container of its pod has failed, or fails again and again."""
    pods = (case.pod_of(pe) for pe in case.pes if case.runs(pe))
    found = (case.target,) if case.target.kind == POD else pods
    return next((pod for pod in found if pod is not None and _failed_sidecar(pod)), None)


def _failed_sidecar(pod: Thing) -> tuple[str, str] | None:
    """Which container, and how it ended; None where the others run, or ended with 0."""
    if pod.phase != "Running" or pod.is_deleting:
        return None
    for each in containers_of(pod):
        ended = _part_of_state(each, "terminated")
        if _part_of_state(each, "waiting").get("reason") == "CrashLoopBackOff":
            ended = mapping_of(mapping_of(each.obj.get("lastState")).get("terminated"))
        if each.name != container_of(pod.obj) and ended.get("exitCode"):
            why = ended.get("message") or ended.get("reason") or "Error"
            return each.name, f"exit code {ended['exitCode']}, {brief(str(why))}"
    return None


def of_sidecar(case: Case, subject: Thing) -> str:
    """Which container, and how it ended."""
    found, pe = _failed_sidecar(subject), case.pe_of(subject)
    assert found is not None, "the guard held"
    who = f"PE {pe.name}" if pe is not None else "the PE"
    return f"container {found[0]} of pod {subject.name} failed ({found[1]}); {who} runs without it"


def cure_sidecar(case: Case, subject: Thing) -> str:
    """Its log; who starts it again; and how it is started again by itself."""
    found, values = _failed_sidecar(subject), values_of(case, subject)
    assert found is not None, "the guard held"
    log = f"Read its log (kubectl logs {subject.name} -c {found[0]} -n {values['ns']})"
    inits = items_of(subject.status.get("initContainerStatuses"))
    if any(each.get("name") == found[0] for each in inits):
        return f"{log}; the kubelet starts it again by itself"
    return (
        f"{log}; it starts again with the PE only: millrace restart {values['pe']} -n"
        f" {values['ns']}. So that the kubelet starts it again, make it one of initContainers with"
        " restartPolicy: Always in spec.processingElement.podTemplate: kubectl edit stj"
        f" {values['job']} -n {values['ns']}"
    )


def closed_gates(case: Case) -> Thing | None:
    """Guard: a PE waits for something that its message names."""
    return case.idle_with(Reason.GATES_CLOSED)
