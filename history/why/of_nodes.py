"""Guards and sentences about nodes: lost, not ready, closed, under pressure."""

from __future__ import annotations

import re
from typing import Final

from contracts.reasons import Reason
from contracts.scheduling.taints import NO_EXECUTE
from contracts.waits import lost_node_in
from history.why.case import NODE, POD, Case, unready
from history.why.closed_nodes import closing, closing_taints, open_one_of, opening
from history.why.phrases import about, brief, node_name_of
from history.why.things import Condition, Thing

PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_AVAILABLE: Final = re.compile(r"(\d+)/(\d+) nodes are available")
_CLOSED_COUNTS: Final = re.compile(r"(\d+) node\(s\) (?:were unschedulable|had untolerated taint)")


def lost(case: Case) -> Thing | None:
    """Guard: a pod, or the place of a PE, is on a node that is gone or does not report."""
    if case.target.kind == NODE:
        return None
    for pod in case.newest_pods:
        name = node_name_of(case, pod)
        if name and case.is_away(name) and pod.phase not in ("Succeeded", "Failed"):
            return pod
    for pe in case.idle:
        name = lost_node_in(pe.message) or _promised(case, pe)
        if name and case.is_away(name):
            return pe
    return None


def _promised(case: Case, pe: Thing) -> str:
    """The node of a PE without a pod, as its status names it."""
    return str(pe.status.get("node") or "") if case.pod_of(pe) is None else ""


def _name(case: Case, subject: Thing) -> str:
    return lost_node_in(subject.message) or node_name_of(case, subject)


def of_lost(case: Case, subject: Thing) -> str:
    """Which node, how it is lost, and who was there."""
    name, node = _name(case, subject), case.node(_name(case, subject))
    there = [pod for pod in case.newest_pods if node_name_of(case, pod) == name]
    who = about(case, subject, there if subject.kind == POD else ())
    if node is None:
        return f"node {name} does not exist any more, and {who} needs it"
    condition = unready(node)
    why = brief(condition.message or condition.reason) if condition else ""
    return f"node {name} is lost: its kubelet does not report ({why}), and {who} is there"


def cure_lost(case: Case, subject: Thing) -> str:
    """The node comes back, or is given up."""
    name = _name(case, subject)
    if case.node(name) is None:
        return (
            f"Bring node {name} back under its name, or add a node that can take its place"
            " (`kubectl get nodes`); where nothing is fixed to it, PEs go elsewhere by themselves"
        )
    return (
        f"Start the kubelet of node {name} again; if the node is lost for good, kubectl delete node"
        f" {name}: its pods are then launched elsewhere"
    )


# ----------------------------------------------------------------- the node of the question


def not_ready(case: Case) -> Thing | None:
    """Guard: the node of the question is not ready."""
    target = case.target
    return target if target.kind == NODE and unready(target) else None


def of_not_ready(_case: Case, subject: Thing) -> str:
    """What its condition says."""
    condition = unready(subject)
    assert condition is not None, "the guard held"
    why = brief(condition.message or condition.reason)
    return f"node {subject.name} is not ready: {why}"


def cure_not_ready(_case: Case, subject: Thing) -> str:
    """Where to look, and what if it is lost."""
    return (
        f"Start its kubelet again (on the machine: systemctl status kubelet); if it is lost for"
        f" good: kubectl delete node {subject.name}"
    )


def pressed(case: Case) -> Thing | None:
    """Guard: the node of the question is under pressure."""
    target = case.target
    return target if target.kind == NODE and _pressure(target) else None


def _pressure(node: Thing) -> Condition | None:
    found = (each for each in node.conditions if each.type in PRESSURES and each.status == "True")
    return next(found, None)


def of_pressure(_case: Case, subject: Thing) -> str:
    """Which pressure."""
    condition = _pressure(subject)
    assert condition is not None, "the guard held"
    return f"node {subject.name} has {condition.type}: {brief(condition.message)}"


def cure_pressure(_case: Case, subject: Thing) -> str:
    """How it is relieved."""
    return (
        "Free what is short there (images, logs and emptyDir volumes for the disk), or drain it:"
        f" kubectl drain {subject.name} --ignore-daemonsets --delete-emptydir-data"
    )


def closed(case: Case) -> Thing | None:
    """Guard: the node of the question takes no new pods."""
    target = case.target
    return target if target.kind == NODE and closing(target) else None


def of_closed(_case: Case, subject: Thing) -> str:
    """What closes it."""
    why = " and ".join(closing(subject))
    is_evicting = any(each.effect == NO_EXECUTE for each in closing_taints(subject))
    stay = "pods that run there and do not tolerate the taint are evicted"
    stay = stay if is_evicting else "pods that run there stay"
    return f"node {subject.name} takes no new pods: {why}; {stay}"


def cure_closed(_case: Case, subject: Thing) -> str:
    """The command for each thing that closes it."""
    commands = opening(subject)
    if not commands:
        return f"See what the cluster reports: kubectl describe node {subject.name}"
    return f"Open it when that is over: {'; '.join(commands)}"


# --------------------------------------------------------------------------- nodes of a pod


def all_closed(case: Case) -> Thing | None:
    """Guard: no node takes a pod, only because nodes are closed, by the scheduler's words."""
    pod = case.first_pod(lambda seen: seen.blocked is Reason.UNSCHEDULABLE)
    return pod if pod is not None and _is_closed_only(_words(pod)) else None


def _words(pod: Thing) -> str:
    condition = pod.condition("PodScheduled", "False")
    return condition.message if condition else ""


def _is_closed_only(message: str) -> bool:
    """Whether the counts of closed nodes are those of all nodes."""
    counted = _AVAILABLE.search(message)
    closed_nodes = sum(map(int, _CLOSED_COUNTS.findall(message.partition("preemption:")[0])))
    return counted is not None and 0 < int(counted.group(2)) <= closed_nodes


def of_all_closed(case: Case, subject: Thing) -> str:
    """Who waits, and which nodes are closed."""
    names = [node.name for node in case.of(NODE) if closing(node)]
    named = f" ({', '.join(names[:5])}{', …' if len(names) > 5 else ''})" if names else ""
    alike = [pod for pod in case.newest_pods if _is_closed_only(_words(pod))]
    return f"all nodes{named} are closed to {about(case, subject, alike)}: {brief(_words(subject))}"


def cure_all_closed(case: Case, _subject: Thing) -> str:
    """The commands that open nodes."""
    return open_one_of(case.of(NODE)) or "Add a node, or see what closes them: kubectl get nodes"
