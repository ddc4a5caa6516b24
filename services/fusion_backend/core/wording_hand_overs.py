"""What the status and the Events of a Job say of a hand-over."""

from __future__ import annotations

from typing import Final

from contracts.reasons import Reason
from contracts.resources import JobCondition, JobPhase
from contracts.showing import shown
from planner.refusals import counted
from services.fusion_backend.core.effects import (
    Announcement,
    DesiredCondition,
    FieldValue,
    JobStatusChange,
)
from services.fusion_backend.core.hand_over_changes import HandOverChange
from services.fusion_backend.core.naming_pes import first_and_more
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.situation import Situation
from services.fusion_backend.core.wording_conditions import being_put_in_force

FIELD = "handOver"
SOURCES_NAMED_MAX = 5
PES_NAMED_MAX = 20
"""How many PEs the Event of a time-out names; more are counted."""
_UNSAVED: Final = "if they took in tuples after their last saved state, those are lost, and counted"
"""None are where a PE never began, or ended in good order at a tuple that fails."""


def resizing_message(situation: Situation) -> str:
    """What a resize does, and whom it waits for first."""
    message, hand_over = being_put_in_force(situation), situation.hand_over
    begun = hand_over.begun() if hand_over.is_due else None
    if begun is None or begun.is_complete:
        return message
    pes = first_and_more(list(hand_over.affected))
    return f"{message}; it waits for {pes} to hand over, for {hand_over.lasts_s} s at most"


def hand_over_field(situation: Situation) -> tuple[tuple[str, FieldValue], ...]:
    """The hand-over that begins with a resize; nothing where no PE hands over."""
    hand_over = situation.hand_over
    return ((FIELD, hand_over.begun()),) if hand_over.is_due else ()


def hand_over_begun(situation: Situation) -> JobStatusChange:
    """A hand-over of a newer plan, or the end of one that a newer plan replaces."""
    return _status_with(situation, resizing_message(situation), situation.hand_over.begun())


def hand_over_changed(situation: Situation) -> JobStatusChange:
    """PEs ended that the others wait for; a Warning names those that are given up."""
    hand_over = situation.hand_over
    change = hand_over.changed()
    announcements: tuple[Announcement, ...] = ()
    if hand_over.given_up:
        text = (
            f"{_named(sorted(hand_over.given_up))} held up the hand-over of all others, which goes"
            f" on without: {_UNSAVED}"
        )
        held_up = Announcement(Reason.HAND_OVER_HELD_UP, text, change.generation, warning=True)
        announcements = (held_up,)
    return JobStatusChange(fields=((FIELD, change),), announcements=announcements)


def hand_over_ended(situation: Situation) -> JobStatusChange:
    """Changed PEs may be launched again; a Warning names those that had not sealed in time."""
    hand_over, late = situation.hand_over, situation.hand_over.waiting
    announcements: tuple[Announcement, ...] = ()
    change = hand_over.completed()
    if late:
        text = (
            f"{_named(late)} did not hand over within {hand_over.lasts_s} s: {_UNSAVED}"
            f"{_given_again(situation, late)}"
        )
        late_event = Announcement(Reason.HAND_OVER_TIMED_OUT, text, change.generation, warning=True)
        announcements = (late_event,)
    has_plan = situation.snapshot.newest is not None
    message = being_put_in_force(situation) if has_plan else ""
    return _status_with(situation, message, change, announcements)


def _given_again(situation: Situation, late: list[int]) -> str:
    """What of late PEs may come twice, as part of a sentence; empty without a source of theirs."""
    entries = situation.snapshot.of("ProcessingElement").values()
    seen = (PeSeen(each) for each in entries if not each.unreadable)
    sources = {each.id: found for each in seen if each.id in late and (found := _sources(each))}
    if not sources:
        return ""
    names = [shown(name, 60) for pe in sorted(sources) for name in sources[pe]]
    more = [counted(len(names) - SOURCES_NAMED_MAX, "more")] if names[SOURCES_NAMED_MAX:] else []
    word = "source" if len(names) == 1 else "sources"
    return (
        f"; what {word} {', '.join((*names[:SOURCES_NAMED_MAX], *more))} of"
        f" {_named(sorted(sources))} gave since their checkpoint may come twice"
    )


def _sources(pe: PeSeen) -> tuple[str, ...]:
    """Its sources, as its runtime reports; those that had ended at its start are left out."""
    runtime = pe.status.get("runtime") or {}
    return tuple(map(str, runtime.get("sources") or ()))


def _status_with(
    situation: Situation,
    message: str,
    change: HandOverChange,
    announcements: tuple[Announcement, ...] = (),
) -> JobStatusChange:
    """A status with a hand-over; in a resize it says in words how far that is."""
    fields = ((FIELD, change),)
    if situation.phase is not JobPhase.RESIZING or not message or situation.trouble is not None:
        return JobStatusChange(fields=fields, announcements=announcements)
    submitted = JobCondition.SUBMITTED.value
    return JobStatusChange(
        phase=JobPhase.RESIZING.value,
        reason=Reason.RESIZING,
        message=message,
        conditions=(DesiredCondition(submitted, "False", Reason.RESIZING, message),),
        fields=fields,
        announcements=announcements,
    )


def _named(pes: list[int]) -> str:
    named, more = ", ".join(map(str, pes[:PES_NAMED_MAX])), len(pes) - PES_NAMED_MAX
    text = f"PE {named}" if len(pes) == 1 else f"PEs {named}"
    return f"{text} and {counted(more, 'more PE')}" if more > 0 else text
