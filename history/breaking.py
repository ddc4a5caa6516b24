"""Finds the decision at which a replay stops: one whose rule or reason has a name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from contracts.reasons import Reason
from history.replaying import Step
from services.chassis.running.rules import Rule
from services.chassis.running.service import loaded
from services.roster import SERVICES

NEAR_MAX: Final = 5


def names_of(step: Step) -> frozenset[str]:
    """The rules and the reason of today's decision; of one that is unknown the recorded ones."""
    decided = step.again or step.recorded.decision
    return frozenset({decided.reason, *decided.rules.values()}) - {""}


def known_names() -> frozenset[str]:
    """Every rule and every reason of this release."""
    ruled: list[Sequence[Rule[Any, Any]]] = [
        loaded(decides.rules) for row in SERVICES for decides in row.decides
    ]
    observed = {rule.observation.name for each in ruled for rule in each}
    return frozenset({*observed, *(str(reason) for reason in Reason)})


def why_not_met(name: str, met: Iterable[str]) -> str:
    """A sentence about a name that no decision of a replay has; `met` are those that they have."""
    there, known = sorted(set(met)), known_names()
    if name in known:
        return f"no decision has the rule or reason {name}; there are {', '.join(there) or 'none'}"
    near = difflib.get_close_matches(name.upper(), known, NEAR_MAX)
    near += difflib.get_close_matches(name, known - {*near}, NEAR_MAX)
    names = ", ".join(near[:NEAR_MAX] or there)
    return f"this release has no rule or reason {name}; did you mean one of these: {names}?"
