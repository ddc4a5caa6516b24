"""Ordered rules: the first one that holds for a situation decides.

A service's core has tuples of rules, most urgent first. Decisions are made from them, and the page
docs/life-cycles.md is drawn from them. The last rule of a tuple usually holds always: that nothing
is to be done is an outcome with a reason, too.

A rule names the phases in which it may hold. If it holds in another one, the code or the recorded
phase is wrong: nothing is done, not even what the next rule would do, and the object says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from contracts.reasons import Reason

S = TypeVar("S")
A_co = TypeVar("A_co", covariant=True)


class RuleDefect(Exception):
    """The rules of a service do not fit a situation, which is a defect; the message says how."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[S, A_co]):
    """If a situation shows `observation`, and that of no earlier rule, `action` follows.

    `holds` may rely on it that no earlier rule holds. `reason` goes into the decision record;
    it may depend on the situation. `phases` None: any phase, or an object without phases. An object
    without a status has phase None.
    """

    observation: Enum
    holds: Callable[[S], bool]
    action: A_co
    reason: Reason | Callable[[S], Reason]
    phases: frozenset[StrEnum | None] | None = None

    def reason_in(self, situation: S) -> Reason:
        """The reason for the action."""
        return self.reason if isinstance(self.reason, Reason) else self.reason(situation)


def rule_for(
    rules: Sequence[Rule[S, A_co]], situation: S, phase: StrEnum | None = None
) -> Rule[S, A_co]:
    """The rule that decides a situation in the recorded phase. Raises RuleDefect without one."""
    for rule in rules:
        if not rule.holds(situation):
            continue
        if rule.phases is not None and phase not in rule.phases:
            allowed = ", ".join(sorted(each or "no phase" for each in rule.phases)) or "none"
            raise RuleDefect(
                f"{rule.observation.name} is observed in phase {phase}, and may be in {allowed}"
            )
        return rule
    raise RuleDefect(f"no rule holds in phase {phase}")


def always(_situation: object) -> bool:
    """The condition of a last rule."""
    return True
