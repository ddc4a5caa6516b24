"""Who has to act next on an object, and whether it does: services of millrace, and the log.

A service that does not run is a cause only of what waits for it, as its row says. What a service
sees comes by the log, from the writers of the topics that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contracts import labels
from contracts.reasons import Reason
from contracts.waits import Wait, is_waiting_for_claim, is_waiting_for_placement
from history.why.case import JOB, NODE, POOL, Case
from history.why.gathered import ServiceSeen
from history.why.phrases import brief
from history.why.things import Thing, mapping_of, number_of
from services.roster import SERVICES, writers

_ENDED_BY: Final = {wait: row for row in SERVICES for wait in row.awaited}
"""The service that ends each wait."""
LATE_S: Final = 30.0
"""After this a service that was not seen to work is suspected; a restore takes some seconds."""
_BUSY: Final = frozenset({"", "Submitting", "Resizing"})
_LAUNCHES: Final = frozenset(
    {
        Reason.FIRST_LAUNCH,
        Reason.LAUNCH_DUE,
        Reason.LAUNCH_REQUESTED,
        Reason.RESTART_REQUESTED,
        Reason.CONTENT_CHANGED,
        Reason.REASSIGNED,
        Reason.POD_SUPERSEDED,
        Reason.POD_FAILED,
        Reason.DISRUPTED,
    }
)


@dataclass(frozen=True, slots=True)
class Awaited:
    """What an object waits for, also as the end of a sentence."""

    wait: Wait
    subject: Thing
    what: str
    since_s: float | None = None

    @property
    def service(self) -> str:
        """The service that ends the wait."""
        return _ENDED_BY[self.wait].name

    @property
    def sources(self) -> tuple[str, ...]:
        """The services by which it sees what changes."""
        found = (each for topic in _ENDED_BY[self.wait].reads for each in writers(topic))
        return tuple({each.name: None for each in found})


def all_awaited(case: Case) -> Iterator[Awaited]:
    """Whose turn it is, the most particular first; several services may have something to do."""
    found = (_of_job(case), _of_widths(case), _of_pool(case))
    yield from (each for each in found if each is not None)
    yield from (each for pe in case.idle if (each := _of_pe(case, pe)) is not None)
    yield from _of_reports(case)
    job = case.job
    if job is not None and job.phase in _BUSY and job.status and case.target.kind != NODE:
        yield Awaited(Wait.PROGRESS, job, f"Job {job.name} is {job.phase}")


def awaited(case: Case) -> Awaited | None:
    """The first service that has to act; None if it is nobody's turn."""
    return next(all_awaited(case), None)


def awaited_and_down(case: Case) -> tuple[Awaited, ServiceSeen] | None:
    """An awaited service, or the one by which it sees anything, that does not run."""
    found = ((waits, case.down(*waits.sources, waits.service)) for waits in all_awaited(case))
    return next(((waits, down) for waits, down in found if down is not None), None)


def service_down(case: Case) -> Thing | None:
    """Guard: the next step is that of a service that does not run."""
    found = awaited_and_down(case)
    return found[0].subject if found else None


def of_service_down(case: Case, _subject: Thing) -> str:
    """Which service, since when, and what waits for it."""
    found = awaited_and_down(case)
    assert found is not None, "the guard held"
    waits, down = found
    by = "" if down.name == waits.service else f", by which {waits.service} sees what changes"
    return f"{down.name} {down.problem}{by}: {waits.what}"


def start_service(case: Case, _subject: Thing) -> str:
    """How the service is started."""
    found = awaited_and_down(case)
    assert found is not None, "the guard held"
    return found[1].remedy


def log_away(case: Case) -> Thing | None:
    """Guard: the next step is that of a service, and the log does not answer."""
    waits = awaited(case) if case.gathered.log.away else None
    return waits.subject if waits else None


def of_log_away(case: Case, _subject: Thing) -> str:
    """Which log, and what waits for it."""
    waits = awaited(case)
    assert waits is not None, "the guard held"
    away = brief(case.gathered.log.away)
    return f"the log does not answer ({away}), by which all services see what changes: {waits.what}"


def start_log(_case: Case, _subject: Thing) -> str:
    """How the log comes back."""
    return (
        "Start the brokers, or end what cuts them off (`millrace topics check` says whether they"
        " answer; of `up --real`: millrace real status); the services go on by themselves"
    )


def service_silent(case: Case) -> Thing | None:
    """Guard: the next step is that of a service for long, and nothing says whether it runs."""
    waits = awaited(case)
    if waits is None or case.gathered.services is not None or waits.since_s is None:
        return None
    return waits.subject if case.gathered.now_s - waits.since_s > LATE_S else None


def of_service_silent(case: Case, _subject: Thing) -> str:
    """Which service did not act."""
    waits = awaited(case)
    assert waits is not None, "the guard held"
    return f"{waits.service} has not acted yet: {waits.what}; whether it runs is not known here"


def look_at_services(case: Case, _subject: Thing) -> str:
    """Where services are seen."""
    waits = awaited(case)
    assert waits is not None, "the guard held"
    return (
        f"See whether {' and '.join((waits.service, *waits.sources))} run: kubectl get pods -A -l"
        " app.kubernetes.io/name=millrace (of `up`: millrace service status)"
    )


# --------------------------------------------------------------------------- whose turn it is


def _of_job(case: Case) -> Awaited | None:
    job = case.job
    if job is None or case.target.kind == NODE:
        return None
    if job.is_deleting:
        return _of_deletion(case, job)
    if not job.status:
        return Awaited(Wait.SPEC, job, f"Job {job.name} is not taken up", job.created_s)
    if not job.is_observed and case.target.kind == JOB:
        return Awaited(Wait.SPEC, job, f"the newest spec of Job {job.name} is not taken up")
    placement = case.placement if job.phase in _BUSY else None
    if placement is None or placement.is_observed:
        return None
    since = placement.created_s
    return Awaited(Wait.ANSWER, placement, f"Placement {placement.name} has no answer", since)


def _of_deletion(case: Case, job: Thing) -> Awaited | None:
    """A claimed node is released before its pool goes."""
    held = [pool for pool in case.of(POOL) if labels.NODE_CLAIMS_FINALIZER in pool.finalizers]
    if held:
        what = f"nodes of HostPool {held[0].name} are not released, which the deletion waits for"
        return Awaited(Wait.RELEASE, held[0], what, job.deleted_s)
    what = f"the deletion of Job {job.name} is not complete"
    return Awaited(Wait.DELETION, job, what, job.deleted_s)


def _of_widths(case: Case) -> Awaited | None:
    for region in case.regions:
        if region.spec.get("width") != region.status.get("width") and not region.is_observed:
            what = f"width {region.spec.get('width')} of {region.title} is not taken up"
            return Awaited(Wait.WIDTH, region, what)
    return None


def _of_pe(case: Case, pe: Thing) -> Awaited | None:
    message, pod = pe.message, case.pod_of(pe)
    if is_waiting_for_placement(message):
        return Awaited(Wait.PLACE, pe, f"PE {pe.name} has no node", pe.created_s)
    if is_waiting_for_claim(message):
        return Awaited(Wait.CLAIM, pe, f"PE {pe.name}: {brief(message)}", pe.created_s)
    is_to_launch = pe.phase in ("", "Waiting") and pe.reason in ("", *_LAUNCHES)
    is_requested = number_of(pe.spec.get("launchCount")) > number_of(pe.status.get("launchCount"))
    if pod is None and (is_to_launch or (is_requested and pe.status)):
        return Awaited(Wait.LAUNCH, pe, f"PE {pe.name} has no pod", pe.created_s)
    is_over = pod is None or pod.phase in ("Failed", "Succeeded")
    if is_over and pe.phase in ("Starting", "Running"):
        return Awaited(Wait.END, pe, f"the end of the pod of PE {pe.name} is not recorded")
    return None


def _of_pool(case: Case) -> Awaited | None:
    pool = case.target if case.target.kind == POOL else None
    if pool is None or pool.is_observed:
        return None
    return Awaited(Wait.POOL, pool, f"{pool.title} is not taken up", pool.created_s)


def _of_reports(case: Case) -> Iterator[Awaited]:
    """What runtimes report: that they sealed their state, or how they are connected."""
    job = case.job
    hand_over = mapping_of(job.status.get("handOver")) if job is not None else {}
    if job is not None and hand_over and not hand_over.get("complete"):
        yield Awaited(
            Wait.REPORT, job, f"PEs of Job {job.name} report that they sealed their state"
        )
    for pe in case.pes:
        if case.lacks_connections(pe) or _has_not_reported(pe):
            yield Awaited(Wait.REPORT, pe, f"PE {pe.name} reports how it is connected")


def _has_not_reported(pe: Thing) -> bool:
    """Whether a launch runs and its runtime, which reported before, has not reported yet."""
    launch = mapping_of(pe.status.get("runtime")).get("launch")
    newer = number_of(pe.status.get("launchCount")) > number_of(launch)
    return pe.phase == "Running" and launch is not None and newer
