"""The life cycle of a Placement: one table, and the only place where what follows is decided.

A row is (recorded phase, observation). The phase is what its status says; the observation is
computed from the whole snapshot (observing.py). Two keys look at the row: that of the job writes
what was found (deciding.py), that of the cluster begins searches (choosing.py). Every pair is a
transition, ignored with a reason, or forbidden: a test counts that no pair is missing.
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
    """What a Placement is like, most urgent first; always exactly one.

    UNREADABLE and what was FOUND are what its status does not say yet.
    """

    LEAVING = "it is being deleted"
    UNREADABLE = "its spec has a value that cannot be used"
    FOUND_PLACEMENT = "a placement was found"
    FOUND_REFUSAL = "it was found that there is none"
    FOUND_NEITHER = "the search ended with neither"
    ASKED = "its spec was not answered yet"
    IS_FINAL = "it was refused, and room alone would not help"
    MAY_FIT_LATER = "it was refused, or nobody knew, and may yet be placed"
    BROKEN = "what is in force does not hold any more"
    HOLDS = "what is in force holds"


class Action(Enum):
    """What is done."""

    WRITE_ANSWER = "write it into the status"
    SEARCH = "search, before all that wait"
    SEARCH_PATIENTLY = "search when there may be room, in the lane of those that wait"


_O = Observation
_UNASKED = Forbidden("what was never answered is asked")
_ONLY_OF_PLACED = Forbidden("only what was placed is held against the nodes again")

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
        _O.ASKED: _searched(Phase.NEW),
        _O.IS_FINAL: _UNASKED,
        _O.MAY_FIT_LATER: _UNASKED,
        _O.BROKEN: _UNASKED,
        _O.HOLDS: _UNASKED,
    },
    Phase.PLACED: {
        **_IN_EVERY_PHASE,
        _O.ASKED: _searched(Phase.PLACED),
        _O.IS_FINAL: Forbidden("what was placed was not refused"),
        _O.MAY_FIT_LATER: _searched(Phase.PLACED),  # a status that somebody damaged
        _O.BROKEN: _searched(Phase.PLACED),
        _O.HOLDS: Ignored(Reason.PLACED),
    },
    Phase.REFUSED: {
        **_IN_EVERY_PHASE,
        _O.ASKED: _searched(Phase.REFUSED),
        _O.IS_FINAL: Ignored(Reason.NOTHING_TO_CHANGE),
        _O.MAY_FIT_LATER: _searched(Phase.REFUSED, Action.SEARCH_PATIENTLY),
        _O.BROKEN: _ONLY_OF_PLACED,
        _O.HOLDS: _ONLY_OF_PLACED,
    },
    Phase.UNKNOWN: {
        **_IN_EVERY_PHASE,
        _O.ASKED: _searched(Phase.UNKNOWN),
        _O.IS_FINAL: Forbidden("a search that ends by its limit settles nothing"),
        _O.MAY_FIT_LATER: _searched(Phase.UNKNOWN, Action.SEARCH_PATIENTLY),
        _O.BROKEN: _ONLY_OF_PLACED,
        _O.HOLDS: _ONLY_OF_PLACED,
    },
}

TRANSITIONS: Mapping[tuple[Phase, Observation], Row[Phase, Action]] = {
    (phase, observation): row for phase, rows in _ROWS.items() for observation, row in rows.items()
}
