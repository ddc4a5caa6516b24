"""Sentences that rules share: who it is about, values of a remedy, texts of others."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from contracts.belonging import container_of
from contracts.reasons import Reason, reason_of
from contracts.resources import CUSTOM_RESOURCES
from contracts.showing import shown
from history.why.case import JOB, NODE, PE, POD, REGION, Case
from history.why.remedies import remedy_of
from history.why.things import Thing, items_of, mapping_of, number_of

CAUSE_CHARS_MAX: Final = 600
"""Of the first line: statuses hold messages of up to some thousand characters."""
_SHORT: Final[Mapping[str, str]] = {
    **{row.kind: row.short_name for row in CUSTOM_RESOURCES},
    POD: "pod",
    NODE: "node",
}
_REASON: Final = re.compile(r"\b([A-Z][a-z]+(?:[A-Z][a-z]+)+): ")
_OUTLOOK: Final = re.compile(r"; it is (?:not )?tried again .*$", re.DOTALL)


def brief(text: str, chars_max: int = CAUSE_CHARS_MAX) -> str:
    """A text of others as part of a sentence: one line, limited, without a full stop at its end."""
    return shown(text, chars_max).rstrip(". ")


def without_outlook(message: str) -> str:
    """The message of a failed Job without what follows it."""
    return _OUTLOOK.sub("", message)


def values_of(case: Case, subject: Thing) -> Mapping[str, str]:
    """What fills the placeholders of a remedy."""
    pod = subject if subject.kind == POD else None
    pe = subject if subject.role == PE else (case.pe_of(pod) if pod else None)
    if pe is not None and pod is None:
        pod = case.pod_of(pe)
    region = subject if subject.kind == REGION else None
    return {
        "ns": subject.namespace or case.namespace or "default",
        "job": case.job_name or "JOB",
        "pe": pe.name if pe else "PE",
        "pod": pod.name if pod else str(pe.status.get("pod") if pe else "") or "POD",
        "node": node_name_of(case, subject) or "NODE",
        "kind": word_of(subject.kind),
        "name": subject.name,
        "launch": str(1 + number_of(pe.status.get("launchCount"))) if pe else "1",
        "region": str(region.spec.get("alias")) if region else "REGION",
        "url": _url_of(case.job),
        "log": _log_of(case, pe),
        "logs": _logs_of(case, pe),
        "width": str(region.status.get("width") or 1) if region else "WIDTH",
    }


def word_of(kind: str) -> str:
    """A kind as kubectl has it in a command."""
    return _SHORT.get(kind, kind.lower())


def _log_of(case: Case, pe: Thing | None) -> str:
    """How the log of the launch that failed is read: of the newest pod, or of the one before."""
    if pe is None:
        return "Read its log"
    ns, pods = pe.namespace or case.namespace, case.pods_of(pe)
    is_before = bool(pods) and pods[-1].phase != "Failed" and _has_failed(pods[-2:-1])
    if not pods or (pods[-1].phase in ("", "Pending") and not is_before):
        return (
            "Its log went with its pod; to keep the next one, set"
            f" spec.processingElement.deleteFailedPod: false (kubectl edit stj {case.job_name} -n"
            f" {ns})"
        )
    return f"Read its log (`millrace logs {pe.name} -n {ns}{' --previous' if is_before else ''}`)"


def _has_failed(pods: Sequence[Thing]) -> bool:
    return any(pod.phase == "Failed" for pod in pods)


def _logs_of(case: Case, pe: Thing | None) -> str:
    """The logs of the pods that a PE has, after something else in a list."""
    pods = case.pods_of(pe) if pe is not None else ()
    if pe is None or not pods:
        return ""
    log = f"millrace logs {pe.name} -n {pe.namespace or case.namespace}"
    return f"; `{log}`" + (f", `{log} --previous`" if len(pods) > 1 else "")


def last_words_of(case: Case, pod: Thing | None) -> str:
    """The last line of what a container wrote as it failed, by its status or its log.

    The container of the PE comes first: a sidecar may have ended because the PE did.
    """
    found = items_of(pod.status.get("containerStatuses")) if pod else ()
    own = container_of(pod.obj) if pod else ""
    for each in sorted(found, key=lambda each: each.get("name") != own):
        for part in ("state", "lastState"):
            ended = mapping_of(mapping_of(each.get(part)).get("terminated"))
            lines = str(ended.get("message") or "").strip().splitlines()
            if ended.get("exitCode") and lines:
                return lines[-1].strip()
    return case.gathered.last_lines.get(pod.name, "") if pod is not None else ""


def _url_of(job: Thing | None) -> str:
    """The URL of the bundle of a job, as a word of the shell and without a password."""
    bundle = mapping_of(job.spec.get("bundle")) if job is not None else {}
    scheme, is_url, rest = str(bundle.get("url") or "").partition("://")
    host, slash, path = rest.partition("/")
    url = f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return shlex.quote(url) if is_url else "URL"


def node_name_of(case: Case, subject: Thing) -> str:
    """The node that an object is, is on, or was on."""
    if subject.kind == NODE:
        return subject.name
    pod = case.pod_of(subject) if subject.role == PE else subject
    named = (pod or subject).spec.get("nodeName") or subject.status.get("node")
    return str(named or "")


def remedy(case: Case, subject: Thing, reason: Reason | str | None) -> str:
    """The remedy for a reason of a status."""
    known = reason if isinstance(reason, Reason) else reason_of(reason)
    return remedy_of(known, values_of(case, subject))


def deepest_reason(message: str, reason: Reason | None) -> Reason | None:
    """The reason that a message quotes, as that of a time-out does; else the one given."""
    found = (reason_of(word) for word in _REASON.findall(message))
    return next((each for each in reversed([*found]) if each is not None), reason)


def and_more(names: Sequence[str]) -> str:
    """How many others there are beside the first, in parentheses; empty for none."""
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def about(case: Case, subject: Thing, alike: Sequence[Thing] = ()) -> str:
    """Who has the trouble: the object, and how many are alike."""
    return f"{_noun(subject)} {subject.name}{and_more([each.name for each in alike])}"


def _noun(thing: Thing) -> str:
    return {PE: "PE", POD: "pod", NODE: "node", JOB: "job"}.get(thing.kind, thing.kind)


def image_of(pod: Thing) -> str:
    """The image of the container that runs the PE, else of the first one."""
    containers = pod.spec.get("containers")
    found = [mapping_of(each) for each in containers] if isinstance(containers, list) else []
    own = [each for each in found if each.get("name") == container_of(pod.obj)]
    return str((own or found or [{}])[0].get("image") or "")
