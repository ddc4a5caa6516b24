"""The rows of a life cycle: what follows from a recorded phase and an observation.

A service's `core/transitions.py` holds its phases, observations and actions, and one row for each
pair: a transition, ignored with a reason, or forbidden, because the pair cannot come about.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from contracts.reasons import Reason

P_co = TypeVar("P_co", bound=StrEnum, covariant=True)
A_co = TypeVar("A_co", bound=Enum, covariant=True)


@dataclass(frozen=True, slots=True)
class Transition(Generic[P_co, A_co]):
    """Go to `phase`, at once or in the end, by `action`, because of `reason`."""

    phase: P_co
    action: A_co
    reason: Reason


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing follows from it, because of `reason`; `why` says what the reason does not."""

    reason: Reason
    why: str = ""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """It cannot come about; if it does all the same, nothing is done but say so."""

    why: str


Row = Transition[P_co, A_co] | Ignored | Forbidden
