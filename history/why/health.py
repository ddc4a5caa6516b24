"""Whether nothing is wrong with an object, and since when; then no rule is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from contracts.reasons import Reason
from contracts.resources.conditions import READABLE, STALLED
from contracts.showing import agreeing, counted
from history.why.case import JOB, NODE, PE, PLACEMENT, POD, POOL, REGION, Case, unready
from history.why.closed_nodes import closing
from history.why.of_losses import lost_tuples
from history.why.of_nodes import PRESSURES
from history.why.of_operators import is_in_trouble
from history.why.of_pods import without_sidecar
from history.why.of_streams import not_connected as streams_not_connected
from history.why.things import READY, Thing, mapping_of, moment_s, number_of

PROVEN_S: Final = 600.0
"""After so long a run, pod-state-machine forgets the restarts before it."""
_CHANGES: Final = frozenset({"WIDTH_REFUSED", "EDIT_REFUSED"})
_FAILURES: Final = frozenset({Reason.POD_FAILED, Reason.TOO_MANY_RESTARTS})


@dataclass(frozen=True, slots=True)
class Well:
    """Nothing is wrong: what the object does, since when (unix seconds).

    `but` has the PEs that run since a short time ago, after launches that failed.
    """

    does: str
    since_s: float | None
    but: tuple[Thing, ...] = ()


def well(case: Case) -> Well | None:
    """How well the object is; None if something is wrong, or on its way."""
    target = case.target
    if (
        target.is_deleting
        or target.condition(READABLE, "False")
        or target.condition(STALLED, "True")
    ):
        return None
    looks = {JOB: _job, PE: _pe, REGION: _region, POOL: _pool, PLACEMENT: _placement, POD: _pod}
    return _node(target) if target.kind == NODE else looks[target.role](case, target)


def _job(case: Case, job: Thing) -> Well | None:
    widths = all(each.spec.get("width") == each.status.get("width") for each in case.of(REGION))
    is_missing = bool(job.status.get("deletedProcessingElements"))
    is_refused = any(job.condition(each, "False") for each in ("Accepted", "Submitted"))
    if not job.is_observed or is_refused or is_missing or not widths:
        return None
    if streams_not_connected(case) is not None:
        return None
    if case.lacks_connections(job) or _is_in_trouble(case) or lost_tuples(case):
        return None
    healthy = job.condition("Healthy", "True")
    if job.phase == "Completed":
        completed = job.condition("Completed", "True") or healthy
        return Well("has completed", completed.since_s if completed else None)
    if job.phase not in ("Submitted", "Running") or case.idle or not (healthy or case.pes):
        return None
    since = healthy.since_s if healthy else _newest_start(case)
    again = tuple(pe for pe in case.pes if has_just_failed(case, pe))
    return Well(f"runs: {job.message}" if job.message else "runs", since, again)


def _is_in_trouble(case: Case) -> bool:
    """Whether PEs run, and something beside their connections is wrong with one."""
    return is_in_trouble(case) or without_sidecar(case) is not None


def share_running(case: Case) -> float:
    """Which share of the PEs of a job runs, from 0 to 1; 0 of a job that has none."""
    return (len(case.pes) - len(case.idle)) / len(case.pes) if case.pes else 0.0


def impact_of(case: Case, trouble: str | None) -> str:
    """How much of a job runs, for people who have several to look at."""
    total, running = len(case.pes), len(case.pes) - len(case.idle)
    if running < total or not total:
        run = f"{running} of {counted(total, 'PE')} {agreeing(running, 'run')}"
        return run if total else "nothing runs"
    return "runs; a change was refused" if trouble in _CHANGES else "runs"


def _newest_start(case: Case) -> float | None:
    found = [started_s(pod) for pod in case.pods]
    return max((each for each in found if each is not None), default=None)


def started_s(pod: Thing) -> float | None:
    """Since when a pod runs and is ready (unix seconds)."""
    ready = pod.condition(READY, "True")
    return ready.since_s if ready else moment_s(pod.status.get("startTime"))


def _pe(case: Case, pe: Thing) -> Well | None:
    if lost_tuples(case):
        return None
    if not case.runs(pe) or (pod := case.pod_of(pe)) is None:
        return Well("has completed", None) if pe.phase == "Completed" else None
    if pod.phase == "Succeeded":
        return Well("has completed", None)
    if case.lacks_connections(pe) or _is_in_trouble(case):
        return None
    does = f"runs in pod {pod.name} on node {pod.spec.get('nodeName')}"
    return Well(does, started_s(pod), (pe,) if has_just_failed(case, pe) else ())


def has_just_failed(case: Case, pe: Thing) -> bool:
    """Whether a PE runs for so short a time that the failures before it say more."""
    pod = case.pod_of(pe)
    began_s = started_s(pod) if pod is not None and pod.phase == "Running" else None
    if began_s is None or case.gathered.now_s - began_s >= PROVEN_S:
        return False
    last = pe.condition("BackingOff", "False")
    if number_of(pe.status.get("restarts")):
        return last is None or last.known is not Reason.POD_DELETED
    # A launch by request (a resize, a restart by hand) begins to count restarts again. The launch
    # before it failed for sure only where restarts were over: what backed off may have run since.
    over = pe.condition("RestartsExhausted", "False")
    if over is None or over.known not in _FAILURES or over.since_s is None:
        return False
    return began_s - over.since_s < PROVEN_S


def _region(_case: Case, region: Thing) -> Well | None:
    if region.spec.get("width") != region.status.get("width"):
        return None
    accepted = region.condition("Accepted", "True")
    since = accepted.since_s if accepted else region.created_s
    return Well(f"has its width {region.status.get('width')} in force", since)


def _pool(_case: Case, pool: Thing) -> Well | None:
    ready = pool.condition(READY, "True")
    return Well(pool.message or "has its members", ready.since_s) if ready else None


def _placement(_case: Case, placement: Thing) -> Well | None:
    if placement.phase != "Placed" or not placement.is_observed:
        return None
    placed = placement.condition("Placed", "True")
    return Well("is answered: every PE has a node", placed.since_s if placed else None)


def _pod(case: Case, pod: Thing) -> Well | None:
    if pod.phase == "Succeeded":
        return Well("has completed", None)
    ready = pod.condition(READY, "True")
    if pod.phase != "Running" or ready is None:
        return None
    pe = case.pe_of(pod)
    again = (pe,) if pe is not None and pod == case.pod_of(pe) and has_just_failed(case, pe) else ()
    return Well(f"runs on node {pod.spec.get('nodeName')} and is ready", ready.since_s, again)


def _node(node: Thing) -> Well | None:
    is_pressed = any(node.condition(each, "True") for each in PRESSURES)
    if not node.conditions or unready(node) or closing(node) or is_pressed:
        return None
    ready = node.condition(READY, "True")
    cpu = mapping_of(node.status.get("allocatable")).get("cpu")
    return Well(f"is ready, with {cpu} CPUs", ready.since_s if ready else None)
