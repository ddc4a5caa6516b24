"""The conditions of a Job: what each says of the situation, for people.

Those about its plan and its placement are made in `wording_plans.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from contracts import labels
from contracts.reasons import Reason, reason_of
from contracts.resources import JobCondition, JobPhase
from contracts.resources.fields import MESSAGE_CHARS_MAX
from contracts.showing import agreeing, counted, shown
from services.fusion_backend.core.conditions import condition, is_current
from services.fusion_backend.core.connecting import (
    Reporting,
    ended,
    failing,
    failing_again,
    hanging,
    unconnected,
    unsaved,
)
from services.fusion_backend.core.effects import DesiredCondition
from services.fusion_backend.core.health_due import health_due_at
from services.fusion_backend.core.losing import lost
from services.fusion_backend.core.progress import completed_pods
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.situation import TROUBLE_SETTLES_S, Situation
from services.fusion_backend.core.spec.accepting import ignored, too_short
from services.fusion_backend.core.spec.editing import waiting_fields
from services.fusion_backend.core.wording_plans import fused, placed, streams_connected, widths_of

PES_NAMED_MAX = 5
"""How many PEs a message names; more are counted."""


def accepted(situation: Situation) -> DesiredCondition:
    """What becomes of the spec as it is now."""
    name, spec, plan = JobCondition.ACCEPTED.value, situation.job.spec, situation.snapshot.newest
    if plan is not None and situation.phase not in (None, JobPhase.FAILED):
        if situation.edit_refusal is not None:
            return DesiredCondition(
                name, "False", Reason.EDIT_REFUSED, situation.edit_refusal.message
            )
        if waiting := waiting_fields(spec, plan.inputs):
            text = (
                f"{', '.join(waiting)}: accepted, and taken up by the PEs that the next resize adds"
                " or changes"
            )
            return DesiredCondition(name, "True", Reason.EDIT_TAKEN_UP_LATER, text)
    without_effect = ignored(spec)
    if without_effect:
        return DesiredCondition(name, "True", Reason.FIELDS_IGNORED, without_effect)
    if short := too_short(spec):
        return DesiredCondition(name, "True", Reason.WITHOUT_EFFECT, short)
    return DesiredCondition(name, "True", Reason.ACCEPTED)


def steady(situation: Situation) -> tuple[DesiredCondition, ...]:
    """What every condition but Healthy says of a job whose newest plan is in force."""
    return (
        accepted(situation),
        fused(situation.plan),
        *streams_connected(situation.plan),
        placed(situation),
        # What runs may lack something that is not a child: reported once, not withdrawn in between.
        _lasting_trouble(situation)
        or DesiredCondition(JobCondition.SUBMITTED.value, "True", Reason.SUBMITTED),
    )


def running(situation: Situation) -> str:
    """How many PEs of the plan run, and its widths."""
    record = situation.plan.record
    done = completed_pods(situation.snapshot, record)
    run = max(len(record.pes) - len(situation.not_running) - done, 0)
    text = f"{run} of {counted(len(record.pes), 'PE')} {agreeing(run, 'run')}"
    if done:
        text += f", {done} completed"
    widths = widths_of(record)
    return shown(f"{text}, widths {widths}" if widths else text, MESSAGE_CHARS_MAX)


def health(situation: Situation) -> DesiredCondition:
    """Whether every pod of the newest plan runs, or has completed, no operator fails at a tuple,
    no connection is reported as missing, and no lost tuples are to be acknowledged.

    What fails comes first. Neighbours that lack connections to it are no trouble of their own.
    """
    at_tuples, exhausted = failing(situation), frozenset(exhausted_pes(situation))
    found = [
        *_failing(situation, at_tuples, exhausted),
        *_idle(situation, {each.pe for each in at_tuples}, exhausted),
    ]
    found = found or [*_unconnected(situation)]
    if (losses := lost(situation)) is not None:
        found.append((Reason.TUPLES_LOST, losses))
    name = JobCondition.HEALTHY.value
    if not found:
        return DesiredCondition(name, "True", Reason.ALL_RUNNING)
    reason = found[0][0]
    if exhausted:
        reason = Reason.TOO_MANY_RESTARTS
    if deletions(situation):
        reason = Reason.PE_DELETED
    message = shown("; ".join(text for _, text in found), MESSAGE_CHARS_MAX)
    return DesiredCondition(name, "False", reason, message)


Trouble = tuple[Reason, str]


def _failing(
    situation: Situation, found: list[Reporting], exhausted: Set[int]
) -> Iterator[Trouble]:
    """PEs that an operator keeps at a tuple."""
    if found:
        marked = [
            each._replace(why=f"(restarts exhausted) {each.why}") if each.pe in exhausted else each
            for each in found
        ]
        yield Reason.OPERATOR_FAILED, _which(situation, found, "wait at a tuple", _named(marked))


def _idle(situation: Situation, at_tuples: Set[int], exhausted: Set[int]) -> Iterator[Trouble]:
    """PEs that do not run for another reason, and why the first one does not."""
    idle = [pe for pe in situation.not_running if pe not in at_tuples]
    if idle:
        named = ", ".join(
            f"{pe} (restarts exhausted)" if pe in exhausted else f"{pe}"
            for pe in idle[:PES_NAMED_MAX]
        )
        named += ", …" if len(idle) > PES_NAMED_MAX else ""
        text = _which(situation, idle, "do not run", named)
        failed = [f"PE {each.pe}: {each.why}" for each in ended(situation) if each.pe in idle][:1]
        if why := "".join(failed) or situation.start_trouble:
            text += f"; {why}"
        yield Reason.SOME_NOT_RUNNING, text
    again = [each for each in failing_again(situation) if each.pe not in at_tuples]
    if again:
        text = _which(situation, again, "fail again and again", _named(again))
        yield Reason.SOME_NOT_RUNNING, text
    if deleted := deletions(situation):
        yield Reason.PE_DELETED, deleted


def _unconnected(situation: Situation) -> Iterator[Trouble]:
    """The same of PEs that all run, or have completed, and that no operator keeps at a tuple."""
    if found := hanging(situation):
        yield Reason.OPERATOR_HANGS, _which(situation, found, "wait at a tuple", _named(found))
    elif found := unconnected(situation):
        text = _which(situation, found, "lack connections", _named(found))
        yield Reason.SOME_NOT_CONNECTED, text
    elif found := unsaved(situation):
        text = _which(situation, found, "cannot keep checkpoints", _named(found))
        yield Reason.CHECKPOINT_FAILED, text


def _which(situation: Situation, found: Sequence[object], do: str, named: str) -> str:
    pes = counted(len(situation.plan.record.pes), "PE")
    return f"{len(found)} of {pes} {agreeing(len(found), do)}: {named}"


def _named(found: list[Reporting]) -> str:
    more = "; …" if len(found) > PES_NAMED_MAX else ""
    return "; ".join(f"PE {pe} {why}" for pe, why in found[:PES_NAMED_MAX]) + more


def with_losses(situation: Situation) -> DesiredCondition:
    """Healthy as the status has it, and what it says of lost tuples."""
    recorded = condition(situation.job.status, JobCondition.HEALTHY.value)
    losses = lost(situation)
    assert losses is not None, "observed: tuples were lost"
    reason, texts = Reason.TUPLES_LOST, [losses]
    if recorded.get("status") == "False":
        reason = reason_of(recorded.get("reason")) or reason
        texts.insert(0, str(recorded.get("message") or ""))
    message = shown("; ".join(texts), MESSAGE_CHARS_MAX)
    return DesiredCondition(JobCondition.HEALTHY.value, "False", reason, message)


def exhausted_pes(situation: Situation) -> list[int]:
    """The PEs that are not launched again, since their restarts are exhausted."""
    entries, job = situation.snapshot.of("ProcessingElement"), situation.job.name
    return [
        pe
        for pe in situation.not_running
        if (entry := entries.get(labels.pe_name(job, pe))) is not None
        and PeSeen(entry).reason == Reason.TOO_MANY_RESTARTS
    ]


def is_health_due(situation: Situation) -> bool:
    """Whether it is due to be reported how many PEs run.

    At once when all do, and once it is known which operator fails, which a PE that is gone does not
    say yet. Else a change waits until the last report is some seconds old; that pods of a new plan
    did not come up meanwhile is reported as well, although it changes nothing.
    """
    status, desired = situation.job.status, health(situation)
    healthy = condition(status, JobCondition.HEALTHY.value)
    recorded = healthy.get("status")
    if recorded is None or (desired.status == "True" and recorded != "True"):
        return True
    is_cause = desired.reason is Reason.OPERATOR_FAILED and healthy.get("reason") != desired.reason
    if is_cause and recorded == "False" and status.get("healthReportedAt"):
        return True
    if situation.now < health_due_at(situation):
        return False
    is_same = is_current(status, desired) and status.get("message") == running(situation)
    return not is_same or is_unreported(situation)


def is_unreported(situation: Situation) -> bool:
    """Whether Healthy is False of a new plan whose pods still had their time to come up."""
    status = situation.job.status
    healthy = condition(status, JobCondition.HEALTHY.value)
    return healthy.get("status") == "False" and not status.get("healthReportedAt")


def deletions(situation: Situation) -> str:
    """Which PEs somebody deleted that are not created again, and how to restore them; or nothing.

    While they are restored, nothing.
    """
    withheld = sorted(situation.withheld)
    if not withheld:
        return ""
    job = situation.job.name
    names = ", ".join(labels.pe_name(job, pe) for pe in withheld[:PES_NAMED_MAX])
    if len(withheld) > PES_NAMED_MAX:
        names += ", …"
    was, its = ("was", "its") if len(withheld) == 1 else ("were", "their")
    return (
        f"{names} {was} deleted and not created again, since {its} restartFailedPod is false;"
        f' to restore: kubectl annotate stj {job} {labels.RETRY}="$(date)" --overwrite'
    )


def progress(situation: Situation) -> DesiredCondition | None:
    """The condition Submitted during trouble, and when it is over.

    None where no report is due: a submission or a resize says itself that it goes on.
    """
    name = JobCondition.SUBMITTED.value
    if situation.trouble is not None:
        return _lasting_trouble(situation)
    now = condition(situation.job.status, name)
    if situation.phase is JobPhase.RESIZING and situation.snapshot.newest is not None:
        message = being_put_in_force(situation)
        is_plain = now.get("reason") == Reason.RESIZING
        return None if is_plain else DesiredCondition(name, "False", Reason.RESIZING, message)
    if situation.phase is JobPhase.SUBMITTING:
        is_plain = now.get("reason") == Reason.SUBMITTING
        return None if is_plain else DesiredCondition(name, "False", Reason.SUBMITTING)
    return None


def _lasting_trouble(situation: Situation) -> DesiredCondition | None:
    """What the condition Submitted says of trouble that does not pass soon."""
    trouble = situation.trouble
    if trouble is None or situation.now < trouble.since + TROUBLE_SETTLES_S:
        return None
    message = f"{trouble.text}; it is tried again"
    return DesiredCondition(JobCondition.SUBMITTED.value, "False", trouble.reason, message)


def being_put_in_force(situation: Situation) -> str:
    """What a resize does while it goes on."""
    record = situation.plan.record
    widths = widths_of(record)
    return f"widths {widths} are being put in force as plan generation {record.generation}"
