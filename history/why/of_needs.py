"""Guards and sentences about what pods need: leave of the API server, Secrets, claims, accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from contracts.reasons import Reason
from history.why.case import PE, Case
from history.why.of_jobs import Guard, Text, stands, trouble_of
from history.why.phrases import about, brief, remedy, values_of
from history.why.things import Thing, items_of, mapping_of, number_of

SECRET: Final = "Secret"  # noqa: S105 - the name of a kind
CONFIG_MAP: Final = "ConfigMap"
PULL: Final = "imagePullSecrets"
CLAIM: Final = "PersistentVolumeClaim"
_QUOTA: Final = re.compile(r"exceeded quota: ([^\s,]+)")
_POLICY: Final = re.compile(
    r"denied the request|ValidatingAdmissionPolicy|violates PodSecurity|admission webhook"
)
_ACCOUNT: Final = re.compile(r"service ?account \"?([^\s\"]+)\"? not found", re.IGNORECASE)
_LIMITS: Final = re.compile(r"(?:maximum|minimum) \S+ usage per|limit to request ratio per")
_PRIORITY: Final = re.compile(r"no PriorityClass with name (\S+) was found")
_RUNTIME: Final = re.compile(r'RuntimeClass "([^"]+)" not found')
_VOLUME: Final = re.compile(r"volume", re.IGNORECASE)
_KNOWN: Final = (_QUOTA, _ACCOUNT, _POLICY, _LIMITS, _PRIORITY, _RUNTIME)
_OF_REFUSALS: Final = (Reason.POD_REFUSED, Reason.WRITE_FAILED, Reason.SUBMISSION_TIMED_OUT)


# --------------------------------------------------------------------------- refused by the API


def _refusals(case: Case) -> Iterator[tuple[Thing, str]]:
    """What the API server refused, and its words: pods of PEs, then objects of the job."""
    for pe in case.idle:
        if pe.reason == Reason.POD_REFUSED:
            yield pe, pe.message
    reason, message = trouble_of(case)
    if case.job is not None and reason in _OF_REFUSALS:
        yield case.job, message


def _words_about(case: Case, subject: Thing) -> str:
    return next(text for thing, text in _refusals(case) if thing.name == subject.name)


def refused_with(pattern: re.Pattern[str] | None) -> Guard:
    """A guard: the API server refused a pod or an object with words that match."""

    def guard(case: Case) -> Thing | None:
        found = (thing for thing, text in _refusals(case) if not pattern or pattern.search(text))
        return next(found, None)

    return guard


over_quota = refused_with(_QUOTA)
against_policy = refused_with(_POLICY)
without_account = refused_with(_ACCOUNT)
pod_refused = refused_with(None)


def of_api_refusal(case: Case, subject: Thing) -> str:
    """What gets no pod, or cannot be written, and the words of the API server."""
    text = _words_about(case, subject)
    if subject.role == PE:
        refusal = _refusal_in(text)
        alike = [
            thing
            for thing, words in _refusals(case)
            if thing.role == PE and _refusal_in(words) is refusal
        ]
        return (
            f"{about(case, subject, alike)} gets no pod, the API server refuses it: {brief(text)}"
        )
    return f"job {subject.name} {stands(subject)}: {brief(text)}"


def _refusal_in(text: str) -> re.Pattern[str] | None:
    """Which of the known refusals the words of the API server are."""
    return next((each for each in _KNOWN if each.search(text)), None)


def cure_refused(case: Case, subject: Thing) -> str:
    """What the API server lacks by its words, or what is changed; else the field of the Job."""
    text, values = _words_about(case, subject), values_of(case, subject)
    edit = f"kubectl edit stj {values['job']} -n {values['ns']}"
    if _LIMITS.search(text):
        return (
            "Change the requests and limits of the Job (spec.processingElement.resources:"
            f" {edit}), or the LimitRange of the namespace: kubectl edit limitrange -n"
            f" {values['ns']}"
        )
    if found := _PRIORITY.search(text):
        return (
            f"Create the class (kubectl create priorityclass {found.group(1)} --value=NUMBER), or"
            f" correct spec.processingElement.podTemplate.spec.priorityClassName: {edit}"
        )
    if found := _RUNTIME.search(text):
        return (
            f"Create RuntimeClass {found.group(1)}, or name one that exists (kubectl get"
            " runtimeclass) in spec.processingElement.podTemplate.spec.runtimeClassName:"
            f" {edit}"
        )
    return remedy(case, subject, Reason.POD_REFUSED)


def cure_quota(case: Case, subject: Thing) -> str:
    """The quota by name, and the two ways out."""
    found = _QUOTA.search(_words_about(case, subject))
    name, values = found.group(1) if found else "NAME", values_of(case, subject)
    return (
        f"Raise the quota (kubectl edit resourcequota {name} -n {values['ns']}), delete what is not"
        " needed in the namespace, or lower spec.processingElement.resources: kubectl edit stj"
        f" {values['job']} -n {values['ns']}"
    )


def cure_policy(case: Case, subject: Thing) -> str:
    """The field of the Job, or the policy."""
    values = values_of(case, subject)
    return (
        "Change the field of the Job that the policy forbids (spec.processingElement.podTemplate:"
        f" kubectl edit stj {values['job']} -n {values['ns']}), or ask an administrator to change"
        " the policy or webhook that the message names"
    )


def cure_account(case: Case, subject: Thing) -> str:
    """The account is created, or another one named."""
    found = _ACCOUNT.search(_words_about(case, subject))
    name = (found.group(1) if found else "NAME").rpartition("/")[2]
    values = values_of(case, subject)
    return (
        f"Create the account (kubectl create serviceaccount {name} -n {values['ns']}), or correct"
        " spec.processingElement.podTemplate.spec.serviceAccountName: kubectl edit stj"
        f" {values['job']} -n {values['ns']}"
    )


# --------------------------------------------------------------------------- what is missing


def wanted_by(pod: Thing) -> Iterator[tuple[str, str, str]]:
    """Kind, name and field of what a pod needs in its namespace; what is optional is left out."""
    spec = pod.spec
    for volume in items_of(spec.get("volumes")):
        at = f"volume {volume.get('name')}"
        yield from _named(volume, "secret", "secretName", SECRET, at)
        yield from _named(volume, "configMap", "name", CONFIG_MAP, at)
        yield from _named(volume, "persistentVolumeClaim", "claimName", CLAIM, at)
        for source in items_of(mapping_of(volume.get("projected")).get("sources")):
            yield from _named(source, "secret", "name", SECRET, at)
            yield from _named(source, "configMap", "name", CONFIG_MAP, at)
    for list_ in ("initContainers", "containers"):
        for container in items_of(spec.get(list_)):
            at = f"container {container.get('name')}"
            for each in items_of(container.get("envFrom")):
                yield from _named(each, "secretRef", "name", SECRET, at)
                yield from _named(each, "configMapRef", "name", CONFIG_MAP, at)
            for each in items_of(container.get("env")):
                value = mapping_of(each.get("valueFrom"))
                yield from _named(value, "secretKeyRef", "name", SECRET, at)
                yield from _named(value, "configMapKeyRef", "name", CONFIG_MAP, at)
    for each in items_of(spec.get("imagePullSecrets")):
        if each.get("name"):
            yield SECRET, str(each["name"]), PULL


def _named(of: object, part: str, field: str, kind: str, at: str) -> Iterator[tuple[str, str, str]]:
    found = mapping_of(mapping_of(of).get(part))
    if found.get(field) and not found.get("optional"):
        yield kind, str(found[field]), at


def lacking(*kinds: str) -> Guard:
    """A guard: a pod that does not start names an object of these kinds that does not exist."""

    def guard(case: Case) -> Thing | None:
        return next((pod for pod in case.newest_pods if _lack_of(case, pod, kinds)), None)

    return guard


def _lack_of(case: Case, pod: Thing, kinds: tuple[str, ...]) -> tuple[str, str, str] | None:
    if pod.phase not in ("", "Pending"):
        return None
    for kind, name, at in wanted_by(pod):
        if kind in kinds and at != PULL and f"{kind}/{name}" in case.gathered.missing:
            return kind, name, at
    return None


def of_lack(*kinds: str) -> Text:
    """What does not exist, who needs it, and the field that names it."""

    def text(case: Case, subject: Thing) -> str:
        found = _lack_of(case, subject, kinds)
        assert found is not None, "the guard held"
        kind, name, at = found
        alike = [pod for pod in case.newest_pods if _lack_of(case, pod, kinds)]
        field = _field_of(case, subject, kind, name) or at
        return f"{kind} {name} does not exist, and {about(case, subject, alike)} needs it ({field})"

    return text


def _field_of(case: Case, pod: Thing, kind: str, name: str) -> str:
    """The field of the PE that names an object, by the status of the PE."""
    pe = case.pe_of(pod)
    found = re.search(rf"(spec\.[^\s:]+): {kind} {re.escape(name)}\b", pe.message if pe else "")
    return found.group(1) if found else ""


def create(*kinds: str) -> Text:
    """The command that creates what is missing."""

    def text(case: Case, subject: Thing) -> str:
        found = _lack_of(case, subject, kinds)
        assert found is not None, "the guard held"
        kind, name, _ = found
        ns, job = (values_of(case, subject)[key] for key in ("ns", "job"))
        if kind != CLAIM and _has_run(case, subject):
            return (
                "Restore it with its former content, which an earlier launch had: kubectl apply -n"
                f" {ns} -f FILE (kind: {kind}, metadata.name: {name}); pods that wait for it then"
                " start by themselves"
            )
        how = {
            SECRET: f"kubectl create secret generic {name} -n {ns} --from-literal=KEY=VALUE",
            CONFIG_MAP: f"kubectl create configmap {name} -n {ns} --from-literal=KEY=VALUE",
            CLAIM: f"kubectl apply -n {ns} -f CLAIM.yaml (metadata.name: {name})",
        }[kind]
        return f"Create it: {how}; or correct the field: kubectl edit stj {job} -n {ns}"

    return text


def _has_run(case: Case, pod: Thing) -> bool:
    """Whether a launch before that of the pod had what the pod lacks."""
    pe = case.pe_of(pod)
    return pe is not None and number_of(pe.status.get("launchCount")) > 1


def claim_unbound(case: Case) -> Thing | None:
    """Guard: a pod that does not start needs a claim that is not bound to a volume."""
    for pod in case.newest_pods:
        if _unbound(case, pod) is not None:
            return pod
    return None


def _unbound(case: Case, pod: Thing) -> Thing | None:
    if pod.phase not in ("", "Pending"):
        return None
    names = [name for kind, name, _ in wanted_by(pod) if kind == CLAIM]
    claims = [each for name in names if (each := case.named(CLAIM, name))]
    wanting = ("Pending", "Lost") if _is_held_by_volumes(pod) else ("Lost",)
    return next((each for each in claims if each.phase in wanting), None)


def _is_held_by_volumes(pod: Thing) -> bool:
    """Whether a volume may keep a pod from its node, by the words of the scheduler.

    A claim that binds once its pod has a node (WaitForFirstConsumer) is Pending because nothing
    else lets the pod go there: then the words name only that.
    """
    unscheduled = pod.condition("PodScheduled", "False")
    return (
        unscheduled is None or not unscheduled.message or bool(_VOLUME.search(unscheduled.message))
    )


def of_claim(case: Case, subject: Thing) -> str:
    """Which claim, who waits for it, and why it is not bound."""
    claim = _unbound(case, subject)
    assert claim is not None, "the guard held"
    words = [str(each.obj.get("message") or "") for each in case.events_of(claim)]
    class_ = claim.spec.get("storageClassName")
    why = brief(words[0]) if words else f"storageClassName is {class_ or 'not set'}"
    alike = [pod for pod in case.newest_pods if _unbound(case, pod)]
    return f"{claim.title} is {claim.phase}, and {about(case, subject, alike)} needs it: {why}"


def cure_claim(case: Case, subject: Thing) -> str:
    """How a claim gets its volume."""
    claim = _unbound(case, subject)
    assert claim is not None, "the guard held"
    ns = values_of(case, subject)["ns"]
    return (
        "Create a PersistentVolume for it, or make the claim again with a storage class that exists"
        f" (`kubectl get storageclass`; kubectl describe pvc {claim.name} -n {ns})"
    )
