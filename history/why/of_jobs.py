"""Guards and sentences about a job as a whole: refusals, placements, widths, edits, deletion."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from contracts.moments import unix_s_of
from contracts.reasons import UNPLACEABLE, Reason, reason_of
from contracts.resources.conditions import READABLE, STALLED
from history.why.case import JOB, NODE, PE, PLACEMENT, POOL, REGION, Case
from history.why.closed_nodes import open_one_of
from history.why.phrases import brief, deepest_reason, remedy, values_of, without_outlook, word_of
from history.why.remedies import RETRY
from history.why.things import Condition, Thing, mapping_of

Guard = Callable[[Case], Thing | None]
Text = Callable[[Case, Thing], str]
_OF_BUNDLES: Final = frozenset(
    {
        Reason.BUNDLE_MISSING,
        Reason.BUNDLE_FORBIDDEN,
        Reason.BUNDLE_UNTRUSTED,
        Reason.ADDRESS_REFUSED,
        Reason.BUNDLE_UNREADABLE,
    }
)
_BAD_BUNDLES: Final = frozenset(
    {Reason.BUNDLE_INVALID, Reason.BUNDLE_TOO_LARGE, Reason.ADL_INVALID}
)
_TAKEN: Final = re.compile(r"\b([A-Z]\w+) (\S+) belongs to ")
_REFUSED_WIDTHS: Final = frozenset({Reason.WIDTH_REFUSED, Reason.WIDTH_WAITS}) | UNPLACEABLE


def submitted(case: Case) -> Condition | None:
    """The condition Submitted of the Job where it is False, as while something is in the way."""
    return case.job.condition("Submitted", "False") if case.job else None


def trouble_of(case: Case) -> tuple[Reason | None, str]:
    """Reason and message of what keeps a job from being submitted, or resized; else none."""
    job = case.job
    if job is None:
        return None, ""
    condition = submitted(case)
    message = condition.message if condition and condition.message else job.message
    message = without_outlook(message)
    reason = condition.known if condition else None
    if job.phase == "Failed" and reason is None:
        reason = _known(job)
    if reason is Reason.SUBMISSION_TIMED_OUT:
        reason = deepest_reason(message, reason)
    return reason, message


def _known(thing: Thing) -> Reason | None:
    return reason_of(thing.reason)


def refused(*reasons: Reason) -> Guard:
    """A guard: the job failed, or is held up, for one of these reasons; any, if none is given."""

    def guard(case: Case) -> Thing | None:
        job, (reason, _) = case.job, trouble_of(case)
        if job is None or reason is None or job.is_deleting:
            return None
        is_held = job.phase == "Failed" or _is_trouble(reason)
        return job if is_held and (not reasons or reason in reasons) else None

    return guard


def _is_trouble(reason: Reason) -> bool:
    return reason not in (
        Reason.SUBMITTING,
        Reason.RESIZING,
        Reason.DELETING,
        Reason.PLACING,
        Reason.WAITING,
        Reason.SUBMITTED,
    )


bundle_away = refused(*_OF_BUNDLES)
bundle_bad = refused(*_BAD_BUNDLES)
name_taken = refused(Reason.NAME_TAKEN)
quota_of_nodes = refused(Reason.NODE_QUOTA_EXCEEDED)
any_refusal = refused()


def of_refusal(case: Case, subject: Thing) -> str:
    """The job, its phase, and the message of the refusal."""
    _, message = trouble_of(case)
    return f"job {subject.name} {stands(subject)}: {brief(message)}"


def stands(job: Thing) -> str:
    """How a job that is refused something stands."""
    if job.phase == "Failed":
        return "failed"
    return "cannot be submitted" if job.phase in ("", "Submitting") else "cannot go on"


def cure_refusal(case: Case, subject: Thing) -> str:
    """The remedy for the reason of the refusal."""
    reason, message = trouble_of(case)
    found = _TAKEN.search(message) if reason is Reason.NAME_TAKEN else None
    if found is None:
        return remedy(case, subject, reason)
    values = values_of(case, subject)
    return (
        f"If nobody needs it, delete what has the name: kubectl delete {word_of(found.group(1))}"
        f" {found.group(2)} -n {values['ns']}; then try again: {RETRY.format_map(values)}; or"
        " submit the job under another --name"
    )


# --------------------------------------------------------------------------- the object itself


def of_condition(type_: str, status: str) -> Guard:
    """A guard: the object, or its Job, has a condition of this status."""

    def guard(case: Case) -> Thing | None:
        found = (case.target, *((case.job,) if case.job is not None else ()))
        return next((each for each in found if each.condition(type_, status)), None)

    return guard


unreadable = of_condition(READABLE, "False")
stalled = of_condition(STALLED, "True")


def says(type_: str, status: str) -> Text:
    """What the condition says of the object."""

    def text(_case: Case, subject: Thing) -> str:
        condition = subject.condition(type_, status)
        return f"{subject.title}: {brief(condition.message if condition else '')}"

    return text


def cure(reason: Reason) -> Text:
    """The remedy for one reason."""
    return lambda case, subject: remedy(case, subject, reason)


def cure_own(case: Case, subject: Thing) -> str:
    """The remedy for the reason in the status of the object."""
    return remedy(case, subject, subject.reason)


def wrong_reference(case: Case) -> Thing | None:
    """Guard: the object names a Job that does not exist, or is not its own."""
    target = case.target
    if target.role == JOB:
        return None
    condition = target.condition("Accepted", "False")
    return target if condition and condition.known is Reason.INVALID_REFERENCE else None


# --------------------------------------------------------------------------- placements


def unplaced(*reasons: Reason) -> Guard:
    """A guard: what waits for nodes gets none, for one of these reasons."""
    wanted = frozenset(reasons) or UNPLACEABLE

    def guard(case: Case) -> Thing | None:
        reason, _ = of_placing(case)
        return _waits_for_place(case) if reason in wanted else None

    return guard


def _waits_for_place(case: Case) -> Thing | None:
    """The Placement, else the Job whose condition tells of it, where somebody waits for nodes."""
    is_needed = case.target.kind == PLACEMENT or bool(case.idle) or _waits_for_nodes(case)
    return (case.placement or case.job) if is_needed else None


def _waits_for_nodes(case: Case) -> bool:
    job = case.job
    return case.is_of_job and job is not None and job.phase in ("Failed", "Submitting", "")


def of_placing(case: Case) -> tuple[Reason | None, str]:
    """Why there is no placement, by the Job, which names operators, or by the Placement."""
    job, placement = case.job, case.placement
    condition = job.condition("Placed", "False") if job is not None else None
    if condition is not None and condition.known in UNPLACEABLE:
        return condition.known, condition.message
    if placement is not None and placement.phase in ("Refused", "Unknown"):
        return _known(placement), placement.message
    return None, ""


def of_placement(case: Case, subject: Thing) -> str:
    """What finds no place, by which job."""
    _, message = of_placing(case)
    owner = f"job {case.job_name}" if case.job_name else subject.title
    pools = [
        f"{each.kind}/{each.name} is the pool {name}"
        for each in case.of(POOL)
        if (name := str(mapping_of(each.spec.get("hostpool")).get("name") or ""))
        and f"pool {name} " in f"{message.replace(':', ' ').replace(',', ' ')} "
    ]
    named = f" ({'; '.join(pools)})" if pools else ""
    return f"{owner} finds no nodes: {brief(without_outlook(message))}{named}"


def cure_placement(case: Case, subject: Thing) -> str:
    """The remedy for the reason of the Placement; of closed nodes the command with their names."""
    reason, message = of_placing(case)
    if reason is Reason.NODES_CLOSED:
        named = [node for node in case.of(NODE) if f"{node.name} " in f"{message} "]
        if found := open_one_of(named or case.of(NODE)):
            return found
    return remedy(case, subject, reason)


# --------------------------------------------------------------------------- widths and edits


def width_refused(case: Case) -> Thing | None:
    """Guard: a region requests a width that is not put in force."""
    for region in case.regions:
        if region.spec.get("width") != region.status.get("width") and _refusal_of(region):
            return region
    return None


def _refusal_of(region: Thing) -> str:
    refusal = Thing(REGION, region.part("status")).part("refused")
    if refusal.get("width") == region.spec.get("width"):
        return str(refusal.get("message") or "")
    return region.message if _known(region) in _REFUSED_WIDTHS else ""


def of_width(_case: Case, subject: Thing) -> str:
    """Which width, its region, and why it is refused."""
    spec, status = subject.spec, subject.status
    return (
        f"width {spec.get('width')} of {spec.get('alias')} ({subject.title}) is refused, and"
        f" {status.get('width')} is in force: {brief(_refusal_of(subject))}"
    )


def cure_width(case: Case, subject: Thing) -> str:
    """Another width; where nodes are missing, what the placement lacks."""
    refusal = subject.part("status").get("refused")
    reason = str(refusal.get("reason") or "") if isinstance(refusal, dict) else ""
    back = remedy(case, subject, Reason.WIDTH_REFUSED)
    if reason in UNPLACEABLE:
        return f"{remedy(case, subject, reason)}. Or: {back[0].lower()}{back[1:]}"
    return back


def edit_refused(case: Case) -> Thing | None:
    """Guard: an edit of the running job was refused."""
    job = case.job if case.is_of_job else None
    condition = job.condition("Accepted", "False") if job is not None else None
    return job if condition and condition.known is Reason.EDIT_REFUSED else None


def pes_deleted(case: Case) -> Thing | None:
    """Guard: PEs of the job that somebody deleted stay away."""
    job = case.job if case.is_of_job else None
    return job if job is not None and job.status.get("deletedProcessingElements") else None


# --------------------------------------------------------------------------- pools and progress


def own_status(case: Case) -> Thing | None:
    """Guard: the pool or Placement of the question says itself that something is wrong."""
    target = case.target
    if target.kind == POOL and target.condition("Ready", "False"):
        return target
    return target if target.kind == PLACEMENT and target.phase in ("Refused", "Unknown") else None


def of_own_status(_case: Case, subject: Thing) -> str:
    """The object and its message."""
    return f"{subject.title}: {brief(subject.message)}"


def held_by_finalizers(case: Case) -> Thing | None:
    """Guard: an object of a deletion is kept by finalizers of others."""
    if not (case.target.is_deleting or (case.job is not None and case.job.is_deleting)):
        return None
    ours = ("streams.ibm.com/", "foregroundDeletion", "orphan")
    kinds = (case.target.kind, *case.kinds_with_pods, REGION, POOL, PLACEMENT, "Pod")
    for thing in (thing for kind in dict.fromkeys(kinds) for thing in case.of(kind)):
        if thing.is_deleting and any(not each.startswith(ours) for each in thing.finalizers):
            return thing
    return None


def of_finalizers(_case: Case, subject: Thing) -> str:
    """Which object, and which finalizers."""
    named = ", ".join(subject.finalizers)
    return f"{subject.title} is being deleted, and its finalizers keep it: {named}"


def cure_finalizers(case: Case, subject: Thing) -> str:
    """Who removes a finalizer."""
    values = values_of(case, subject)
    return (
        "Start what removes them; only if it does not exist any more: kubectl patch"
        f" {values['kind']} {subject.name} -n {values['ns']} --type=merge -p"
        ' \'{"metadata":{"finalizers":null}}\''
    )


def not_connected(case: Case) -> Thing | None:
    """Guard: the job, or the PE of the question, runs and reports that connections are missing."""
    return case.target if case.lacks_connections(case.target) else None


def of_connections(case: Case, subject: Thing) -> str:
    """Which PEs lack connections, and what they report; or what this one does."""
    if subject.role == JOB:
        return says("Healthy", "False")(case, subject)
    message = str(mapping_of(subject.status.get("runtime")).get("message") or "")
    does = f"reports: {message}" if message else "is not connected to all of its neighbours"
    return f"{subject.title} runs, and {brief(does)}"


def cure_connections(case: Case, subject: Thing) -> str:
    """Where the PEs report more, and the log of one."""
    if subject.role == PE:
        return f"See its log: millrace logs {subject.name} -n {case.namespace}"
    return remedy(case, subject, Reason.SOME_NOT_CONNECTED)


def handing_over(case: Case) -> Thing | None:
    """Guard: a resize of the job waits until PEs have sealed their state."""
    job = case.job
    if job is None or job.is_deleting or job.phase != "Resizing":
        return None
    hand_over = mapping_of(job.status.get("handOver"))
    return job if hand_over and not hand_over.get("complete") else None


def of_hand_over(case: Case, subject: Thing) -> str:
    """Which PEs have not sealed yet, and how many seconds are left."""
    hand_over = mapping_of(subject.status.get("handOver"))
    launches, gone = mapping_of(hand_over.get("pes")), hand_over.get("gone") or ()
    sealed = {
        str(pe.spec.get("id"))
        for pe in case.pes
        if (runtime := mapping_of(pe.status.get("runtime"))).get("launch")
        == launches.get(str(pe.spec.get("id")))
        and runtime.get("sealed") == hand_over.get("generation")
    }
    late = sorted(int(pe) for pe in launches if pe not in sealed and int(pe) not in gone)
    left_s = max(0.0, unix_s_of(str(hand_over["deadline"])) - case.gathered.now_s)
    if not late:
        return f"job {subject.name} is being resized: every PE has handed over"
    more = f" and {len(late) - 1} more" if len(late) > 1 else ""
    waits = f"it waits for PE {late[0]}{more} to hand over"
    return f"job {subject.name} is being resized: {waits}, {left_s:.0f} s left"


def in_progress(case: Case) -> Thing | None:
    """Guard: the object, or its job, is on its way."""
    for thing in (case.target, case.job):
        if thing is None or thing.kind == "Node":
            continue
        if thing.is_deleting or thing.phase in ("Submitting", "Resizing", "Deleting", "Starting"):
            return thing
        if thing.phase in ("", "Waiting", "Pending") and thing.role in (JOB, PE, "Pod", PLACEMENT):
            return thing
    regions = case.of(REGION) if case.target.role == JOB else (case.target,)
    return next(iter((*case.idle, *filter(_has_new_width, regions))), None)


def _has_new_width(thing: Thing) -> bool:
    return thing.kind == REGION and thing.spec.get("width") != thing.status.get("width")


def of_progress(case: Case, subject: Thing) -> str:
    """What happens now, by the status."""
    if subject.is_deleting:
        return f"{subject.title} is being deleted"
    if subject.kind == REGION:
        wanted, in_force = subject.spec.get("width"), subject.status.get("width") or "no width"
        return f"{subject.title} waits for its width {wanted} ({in_force} is in force)"
    words = f" ({brief(subject.message)})" if subject.message else ""
    return f"{subject.title} is {subject.phase or 'not taken up yet'}{words}; nothing is in its way"
