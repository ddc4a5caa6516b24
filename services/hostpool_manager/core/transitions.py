"""The life cycle of a Placement: the only table that decides on its phase and action.

A row is (recorded phase, observation). The phase is the one in its status; the observation is
computed from the whole snapshot (observing.py). Two keys use the row: that of the job writes the
answer (deciding.py), that of the cluster begins searches (choosing.py). Every pair is a
transition, ignored with a reason, or forbidden; a test checks that no pair is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum

from contracts.reasons import Reason
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition


class Phase(StrEnum):
    """The answer that the status of a Placement records."""

    NEW = ""
    PLACED = "Placed"
    REFUSED = "Refused"
    UNKNOWN = "Unknown"


class Observation(Enum):
    """The state of a Placement, most urgent first; always exactly one.

    UNREADABLE and FOUND_* hold only until the status records them.
    """

    LEAVING = "it is being deleted"
    UNREADABLE = "its spec has an invalid value"
    FOUND_PLACEMENT = "a search found a placement"
    FOUND_REFUSAL = "a search found that no placement exists"
    FOUND_NEITHER = "a search ended without a result"
    UNANSWERED = "its spec is not answered yet"
    IS_FINAL = "it was refused, and more room would not help"
    MAY_FIT_LATER = "it was refused or the search had no result, and it may fit later"
    BROKEN = "the placement in force does not hold any more"
    HOLDS = "the placement in force holds"


class Action(Enum):
    """What a transition does."""

    WRITE_ANSWER = "write the answer into the status"
    SEARCH = "search in the lane of new specs"
    SEARCH_PATIENTLY = "search when there may be room, in the lane of waiting Placements"


_O = Observation
_NEVER_ANSWERED = Forbidden("a spec that was never answered is observed as such")
_ONLY_OF_PLACED = Forbidden("only a placement that was found is checked against the nodes again")

_IN_EVERY_PHASE: dict[Observation, Row[Phase, Action]] = {
    _O.LEAVING: Ignored(Reason.OWNER_DELETED),
    _O.UNREADABLE: Transition(Phase.REFUSED, Action.WRITE_ANSWER, Reason.SPEC_INVALID),
    _O.FOUND_PLACEMENT: Transition(Phase.PLACED, Action.WRITE_ANSWER, Reason.PLACED),
    _O.FOUND_REFUSAL: Transition(Phase.REFUSED, Action.WRITE_ANSWER, Reason.NO_PLACEMENT),
    _O.FOUND_NEITHER: Transition(Phase.UNKNOWN, Action.WRITE_ANSWER, Reason.PLACEMENT_UNKNOWN),
}


def _searched(phase: Phase, action: Action = Action.SEARCH) -> Row[Phase, Action]:
    """A search changes no phase: what it finds is the next observation."""
    return Transition(phase, action, Reason.PLACING)


_ROWS: dict[Phase, dict[Observation, Row[Phase, Action]]] = {
    Phase.NEW: {
        **_IN_EVERY_PHASE,
        _O.UNANSWERED: _searched(Phase.NEW),
        _O.IS_FINAL: _NEVER_ANSWERED,
        _O.MAY_FIT_LATER: _NEVER_ANSWERED,
        _O.BROKEN: _NEVER_ANSWERED,
        _O.HOLDS: _NEVER_ANSWERED,
    },
    Phase.PLACED: {
        **_IN_EVERY_PHASE,
        _O.UNANSWERED: _searched(Phase.PLACED),
        _O.IS_FINAL: Forbidden("a job that was placed was not refused"),
        _O.MAY_FIT_LATER: _searched(Phase.PLACED),  # a damaged status
        _O.BROKEN: _searched(Phase.PLACED),
        _O.HOLDS: Ignored(Reason.PLACED),
    },
    Phase.REFUSED: {
        **_IN_EVERY_PHASE,
        _O.UNANSWERED: _searched(Phase.REFUSED),
        _O.IS_FINAL: Ignored(Reason.NOTHING_TO_CHANGE),
        _O.MAY_FIT_LATER: _searched(Phase.REFUSED, Action.SEARCH_PATIENTLY),
        _O.BROKEN: _ONLY_OF_PLACED,
        _O.HOLDS: _ONLY_OF_PLACED,
    },
    Phase.UNKNOWN: {
        **_IN_EVERY_PHASE,
        _O.UNANSWERED: _searched(Phase.UNKNOWN),
        _O.IS_FINAL: Forbidden("a search that ends by its limit decides nothing"),
        _O.MAY_FIT_LATER: _searched(Phase.UNKNOWN, Action.SEARCH_PATIENTLY),
        _O.BROKEN: _ONLY_OF_PLACED,
        _O.HOLDS: _ONLY_OF_PLACED,
    },
}

TRANSITIONS: Mapping[tuple[Phase, Observation], Row[Phase, Action]] = {
    (phase, observation): row for phase, rows in _ROWS.items() for observation, row in rows.items()
}
