"""Draws the ordered rules of `services/*/core` as the page `docs/life-cycles.md`.

A table of each tuple of rules, and a diagram of those that change a phase. `generating.py` writes
the page, and a test fails if it is outdated. The rules alone decide.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from contracts.reasons import Reason
from services.chassis.running.rules import Rule
from services.chassis.running.service import Decides, loaded
from services.roster import SERVICES

HEADER = """\
<!-- Generated from services/*/core by `make generate`; edit the rules instead. -->

# Life cycles

What decides on a job, a processing element (PE) and its pods, a placement, nodes and host pools.

The page lists rules in their order. The first one that holds decides, and its action follows. A
rule that names phases may hold in these alone: if it holds in another recorded phase, nothing is
done, and the condition `Stalled` of the object says so. The diagrams show what changes the phase.

A scenario is one of `make sim ARGS=--list`: the first in which the rule holds although nothing goes
wrong; else a module of `tests/simulation`. What neither reaches (–) holds in generated snapshots.
"""
REACHED: Mapping[str, str] = orjson.loads(Path(__file__).with_name("reached.json").read_bytes())
"""The first scenario, or else test, that reaches a rule; `make reach` writes it."""
START = "[*]"
"""The state in a diagram of an object that has no status yet."""


@dataclass(frozen=True)
class Ruled:
    """Ordered rules of a service, with their row."""

    service: str
    row: Decides

    @cached_property
    def rules(self) -> Sequence[Rule[Any, Any]]:
        """The rules in their order."""
        found: Sequence[Rule[Any, Any]] = loaded(self.row.rules)
        return found

    @property
    def decides(self) -> str:
        """What they decide, as in records: service and subject."""
        return f"{self.service} {self.row.subject}"

    @property
    def introduction(self) -> str:
        """Who decides by them, and where they are."""
        module = self.row.rules.partition(":")[0].replace(".", "/")
        return f"{self.service}, `{module}.py`. {self.row.about}".rstrip()


CYCLES = tuple(Ruled(row.name, decides) for row in SERVICES for decides in row.decides)


def page() -> str:
    """The whole page."""
    return "\n".join((HEADER, *map(_ruled, CYCLES)))


def _ruled(cycle: Ruled) -> str:
    """The rules in order, and the reasons that they give."""
    has_phases = any(rule.phases for rule in cycle.rules)
    rows = [f"| | observation |{' phases |' * has_phases} action | reason | scenario |"]
    rows.append(f"|---|---|{'---|' * has_phases}---|---|---|")
    named: set[Reason] = set()
    for number, rule in enumerate(cycle.rules, 1):
        if isinstance(rule.reason, Reason):
            named.add(rule.reason)
        reason = rule.reason.value if isinstance(rule.reason, Reason) else "it depends"
        reached = REACHED.get(f"{cycle.decides} {rule.observation.name}", "–").partition("::")[0]
        phases = "any" if rule.phases is None else ", ".join(sorted(map(_named, rule.phases)))
        seen = f"`{rule.observation.name}`: {rule.observation.value} |{f' {phases} |' * has_phases}"
        rows.append(f"| {number} | {seen} {_action_of(rule)} | {reason} | {reached} |")
    reasons = (f"* {each.value}: {each.sentence}" for each in Reason if each in named)
    heading = f"## {cycle.row.title}\n\n{cycle.introduction}\n"
    return "\n".join((heading, *_drawn(cycle), *rows, "\nThe reasons:\n", *reasons, ""))


def _drawn(cycle: Ruled) -> tuple[str, ...]:
    """One arrow for each phase that rules lead to, from where they may hold."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for rule in cycle.rules:
        after: StrEnum | None = getattr(rule.action, "phase", None)
        if after is None:
            continue
        anywhere: frozenset[StrEnum | None] = frozenset(after.__class__)
        phases = anywhere if rule.phases is None else rule.phases
        for before in phases - {after}:
            arrow = (before or START, after)
            arrows.setdefault(arrow, []).append(_words(rule.observation))
    return _mermaid(arrows)


def _named(phase: StrEnum | None) -> str:
    return phase or "none"


def _action_of(rule: Rule[Any, Any]) -> str:
    """The words of an action, and the phase to which it leads."""
    action, after = rule.action, getattr(rule.action, "phase", None)
    if isinstance(action, Enum):
        return str(action.value)
    name = action.__name__ if inspect.isfunction(action) else type(action).__name__
    words = "".join(f" {each.lower()}" if each.isupper() else each for each in name)
    words = words.replace("_", " ").strip()
    return f"**{after}**: {words}" if after else words


def _mermaid(arrows: Mapping[tuple[str, str], Sequence[str]]) -> tuple[str, ...]:
    lines = (
        f"  {before} --> {after}: {' / '.join(seen)}"
        for (before, after), seen in sorted(arrows.items())
    )
    return ("\n".join(("```mermaid", "stateDiagram-v2", *lines, "```", "")),) if arrows else ()


def _words(member: Enum) -> str:
    return member.name.lower().replace("_", " ")
