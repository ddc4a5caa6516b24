"""The life cycle of a question: (what was answered, observation) → what is done about it.

An observation is computed from the whole snapshot (observing.py). A row either begins something,
or is ignored with a reason, or cannot come about.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum

from contracts.reasons import Reason
from services.chassis.life_cycles import Forbidden, Ignored, Row, Transition


class Phase(StrEnum):
    """The answer that the status of a Placement records."""

    NEW = ""
    PLACED = "Placed"
    REFUSED = "Refused"
    UNKNOWN = "Unknown"


class Observation(Enum):
    """What a Placement is like, in the order of looking."""

    LEAVING = "it is being deleted"
    UNREADABLE = "its spec has a value that cannot be used"
    ASKED = "it asks for what was not answered yet"
    MAY_FIT_LATER = "it was refused, or nobody knew, and may yet be placed"
    IS_FINAL = "it was refused, and room alone would not help"
    BROKEN = "what is in force does not hold any more"
    HOLDS = "what is in force holds"


class Action(Enum):
    """What is done."""

    REFUSE = "refuse it"
    SEARCH = "search, before all that wait"
    SEARCH_PATIENTLY = "search when there may be room, in the lane of those that wait"


_GOES = Ignored(Reason.OWNER_DELETED)
_REFUSE = Transition(None, Action.REFUSE, Reason.SPEC_INVALID)
_SEARCH = Transition(None, Action.SEARCH, Reason.PLACING)
_WAITS = Transition(None, Action.SEARCH_PATIENTLY, Reason.PLACING)
_UNASKED = Forbidden("what was never answered is asked")
_AS_ASKED = Forbidden("what was placed is in force")
_UNKNOWN = Forbidden("a search that ends by its limit settles nothing")

TRANSITIONS: Mapping[tuple[Phase, Observation], Row[None, Action]] = {
    (Phase.NEW, Observation.LEAVING): _GOES,
    (Phase.NEW, Observation.UNREADABLE): _REFUSE,
    (Phase.NEW, Observation.ASKED): _SEARCH,
    (Phase.NEW, Observation.MAY_FIT_LATER): _UNASKED,
    (Phase.NEW, Observation.IS_FINAL): _UNASKED,
    (Phase.NEW, Observation.BROKEN): _UNASKED,
    (Phase.NEW, Observation.HOLDS): _UNASKED,
    (Phase.PLACED, Observation.LEAVING): _GOES,
    (Phase.PLACED, Observation.UNREADABLE): _REFUSE,
    (Phase.PLACED, Observation.ASKED): _SEARCH,
    (Phase.PLACED, Observation.MAY_FIT_LATER): _SEARCH,  # a status that somebody damaged
    (Phase.PLACED, Observation.IS_FINAL): _AS_ASKED,
    (Phase.PLACED, Observation.BROKEN): _SEARCH,
    (Phase.PLACED, Observation.HOLDS): Ignored(Reason.PLACED),
    (Phase.REFUSED, Observation.LEAVING): _GOES,
    (Phase.REFUSED, Observation.UNREADABLE): _REFUSE,
    (Phase.REFUSED, Observation.ASKED): _SEARCH,
    (Phase.REFUSED, Observation.MAY_FIT_LATER): _WAITS,
    (Phase.REFUSED, Observation.IS_FINAL): Ignored(Reason.NOTHING_TO_CHANGE),
    (Phase.REFUSED, Observation.BROKEN): _WAITS,
    (Phase.REFUSED, Observation.HOLDS): _WAITS,
    (Phase.UNKNOWN, Observation.LEAVING): _GOES,
    (Phase.UNKNOWN, Observation.UNREADABLE): _REFUSE,
    (Phase.UNKNOWN, Observation.ASKED): _SEARCH,
    (Phase.UNKNOWN, Observation.MAY_FIT_LATER): _WAITS,
    (Phase.UNKNOWN, Observation.IS_FINAL): _UNKNOWN,
    (Phase.UNKNOWN, Observation.BROKEN): _WAITS,
    (Phase.UNKNOWN, Observation.HOLDS): _WAITS,
}
