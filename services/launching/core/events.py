"""Which statuses of an owner are reported by an Event, too: failures, stops, and restarts.

A launch has one Event of a reason. Restarts in a row back off, so that their Events get rarer; a
disruption does not count as one, and has an Event only if its pod lived for a while, or its launch
is a power of two. A launch that is part of a resize has none.
"""

from __future__ import annotations

from typing import Final

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.launching.core.effects import Announcement
from services.launching.core.ending import End
from services.launching.core.owners import LaunchStatus, Owner
from services.launching.core.situation import Situation

LIVED_S: Final = 60.0
"""How long a pod lived whose disruption has an Event in any case."""
_BY_HAND: Final = frozenset({Reason.LAUNCH_REQUESTED, Reason.RESTART_REQUESTED})


def event_of_intent(status: LaunchStatus, reason: Reason) -> Announcement | None:
    """The Event of a launch that people request."""
    if reason not in _BY_HAND:
        return None
    text = f"Launch {status.launch_count} follows. {status.message}"
    return Announcement(reason, text, status.launch_count, warning=False)


def event_of_restart(at: Situation, status: LaunchStatus) -> Announcement | None:
    """The Event of a restart by policy; a warning where the end has none of its own."""
    if status.restarts == at.owner.status.restarts and not _is_rare(at, status.launch_count):
        return None
    text = f"Launch {status.launch_count} follows; restarts in a row: {status.restarts}."
    is_recorded = at.owner.status.phase is PePhase.FAILED
    is_failure = at.end in (End.FAILED, End.DISRUPTED) and not is_recorded
    message = f"{text} {status.message}".rstrip()
    return Announcement(Reason.RESTARTED, message, status.launch_count, warning=is_failure)


def event_of_record(at: Situation, status: LaunchStatus, reason: Reason) -> Announcement | None:
    """The Event of a state that is recorded; none where only the words of the status change."""
    before = at.owner.status
    if (before.reason, before.launch_count) == (status.reason, status.launch_count):
        return None
    cause = at.restart if reason is Reason.BACKING_OFF and at.restart else reason
    is_stop = status.phase is PePhase.STOPPED
    return Announcement(cause, status.message, status.launch_count, warning=not is_stop)


def event_of_refusal(owner: Owner, status: LaunchStatus) -> Announcement:
    """The Event of a pod that the API server refused."""
    launch = max(owner.status.launch_count, 1)
    return Announcement(Reason.POD_REFUSED, status.message, launch)


def _is_rare(at: Situation, launch: int) -> bool:
    """Whether a disruption has an Event although it does not count as a restart in a row."""
    last = at.last
    return last is None or at.now - last.created_at >= LIVED_S or launch & (launch - 1) == 0
