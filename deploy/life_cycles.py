"""Draws the life cycles of `services/*/core` as the page `docs/life-cycles.md`.

For ordered rules: a table of them, and a diagram of those that change a phase. For a transition
table: a diagram, and a table of every pair of recorded phase and observation. `generating.py`
writes the page, and a test fails if it is outdated. The rules and tables alone decide.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Generic, TypeVar

from contracts.reasons import Reason
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition
from services.chassis.running.rules import Rule
from services.fusion_backend.core import transitions as job
from services.hostpool_manager.core import pool_rules as status_rules
from services.hostpool_manager.core import rules as placement_rules
from services.node_tainter.core import node_rules, pool_rules
from services.pod_state_machine.core import pod_rules, rules

HEADER = """\
<!-- Generated from services/*/core by `make generate`; edit the rules and tables instead. -->

# Life cycles

What decides on a job, a processing element (PE) and its pods, a placement, nodes and host pools.

Where the page lists **rules**, the first one that holds decides, and its action follows. A rule
that names phases may hold in these alone: if it holds in another recorded phase, nothing is done,
and the condition `Stalled` of the object says so.

Where the page lists a **table**, a row is a pair of the phase that the object records and an
observation, which is computed from the observed state: the action (and the new phase, if it
changes), what is ignored, and what is forbidden because it cannot happen. The diagrams show what
changes the phase.
"""
NO_PHASE = "none"

Phase = TypeVar("Phase", bound=StrEnum)
Seen = TypeVar("Seen", bound=Enum)


@dataclass(frozen=True, slots=True)
class LifeCycle(Generic[Phase, Seen]):
    """A transition table, its title and introduction, its phases and observations in order."""

    title: str
    about: str
    phases: type[Phase]
    observations: type[Seen]
    rows: Mapping[tuple[Phase, Seen], Row[StrEnum, Enum]]


JOBS = LifeCycle(
    "A job",
    "fusion-backend, `services/fusion_backend/core/transitions.py`. Of several observations"
    " that hold,\nthe first one in the lists below counts.",
    job.Phase,
    job.Observation,
    job.TRANSITIONS,
)


@dataclass(frozen=True, slots=True)
class Ruled:
    """Ordered rules, their title and introduction."""

    title: str
    about: str
    rules: Sequence[Rule[Any, Any]]


PES = Ruled(
    "A processing element",
    "pod-state-machine, `services/pod_state_machine/core/rules.py`. The pod is that of the newest"
    "\nlaunch.",
    rules.RULES,
)
PODS = Ruled(
    "A pod of a processing element",
    "pod-state-machine, `services/pod_state_machine/core/pod_rules.py`: each pod of a PE, beside"
    "\nthe rules of the PE.",
    pod_rules.POD_RULES,
)
PLACEMENTS = Ruled(
    "A placement",
    "hostpool-manager, `services/hostpool_manager/core/rules.py`. The phase is the last answer; a"
    "\nsearch finds the next one.",
    placement_rules.RULES,
)
STATUSES = Ruled(
    "The status of a host pool",
    "hostpool-manager, `services/hostpool_manager/core/pool_rules.py`.",
    status_rules.POOL_RULES,
)
NODES = Ruled(
    "A node", "node-tainter, `services/node_tainter/core/node_rules.py`.", node_rules.NODE_RULES
)
POOLS = Ruled(
    "The finalizer of a host pool",
    "node-tainter, `services/node_tainter/core/pool_rules.py`.",
    pool_rules.POOL_RULES,
)


def page() -> str:
    """The whole page."""
    ruled = (_ruled(each) for each in (PES, PODS, PLACEMENTS, STATUSES, NODES, POOLS))
    return "\n".join((HEADER, _section(JOBS), *ruled))


def _ruled(cycle: Ruled) -> str:
    """The rules in order, and the reasons that they give."""
    has_phases = any(rule.phases for rule in cycle.rules)
    rows = [f"| | observation |{' phases |' * has_phases} action | reason |"]
    rows.append(f"|---|---|{'---|' * has_phases}---|---|")
    named: set[Reason] = set()
    for number, rule in enumerate(cycle.rules, 1):
        if isinstance(rule.reason, Reason):
            named.add(rule.reason)
        reason = rule.reason.value if isinstance(rule.reason, Reason) else "of the pod"
        phases = "any" if rule.phases is None else ", ".join(sorted(rule.phases))
        seen = f"{_words(rule.observation)} |{f' {phases} |' * has_phases}"
        rows.append(f"| {number} | {seen} {_action_of(rule)} | {reason} |")
    reasons = (f"* {each.value}: {each.sentence}" for each in Reason if each in named)
    heading = f"## {cycle.title}\n\n{cycle.about}\n"
    return "\n".join((heading, *_drawn(cycle), *rows, "\nThe reasons:\n", *reasons, ""))


def _drawn(cycle: Ruled) -> tuple[str, ...]:
    """One arrow for each phase that rules lead to, from where they may hold."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for rule in cycle.rules:
        after: StrEnum | None = getattr(rule.action, "phase", None)
        if after is None:
            continue
        anywhere: frozenset[StrEnum] = frozenset(after.__class__)
        phases = anywhere if rule.phases is None else rule.phases
        for before in sorted(phases - {after}):
            arrows.setdefault((before, after), []).append(_words(rule.observation))
    return _mermaid(arrows)


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


def _section(cycle: LifeCycle[Phase, Seen]) -> str:
    phases = (_listed(cycle, phase) for phase in cycle.phases)
    return "\n".join((f"## {cycle.title}\n\n{cycle.about}\n", *_diagram(cycle), *phases))


def _diagram(cycle: LifeCycle[Phase, Seen]) -> tuple[str, ...]:
    """One arrow from a phase to another, labelled with the observations that lead there."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for phase in cycle.phases:
        for observation in cycle.observations:
            after = _phase_after(phase, cycle.rows[phase, observation])
            if after:
                arrow = (phase.value or "[*]", after)
                arrows.setdefault(arrow, []).append(_words(observation))
    return _mermaid(arrows)


def _listed(cycle: LifeCycle[Phase, Seen], phase: Phase) -> str:
    """The table of the possible observations in one phase, then the forbidden ones by reason."""
    possible = ["| observation | outcome |", "|---|---|"]
    impossible: dict[str, list[str]] = {}
    for observation in cycle.observations:
        match row := cycle.rows[phase, observation]:
            case Forbidden(why=why):
                impossible.setdefault(why, []).append(_words(observation))
            case Transition() | Ignored():
                possible.append(f"| {_words(observation)} | {_outcome(phase, row)} |")
    forbidden = [f"* {'; '.join(seen)}: {why}." for why, seen in impossible.items()]
    return "\n".join(
        (
            f"### {cycle.title}, recorded phase {phase.value or NO_PHASE}\n",
            *possible,
            *(["", "Forbidden:", "", *forbidden] if forbidden else []),
            "",
        )
    )


def _outcome(phase: StrEnum, row: Transition[StrEnum, Enum] | Ignored) -> str:
    if isinstance(row, Ignored):
        return f"*ignored*: {row.why or row.reason.value}"
    after = _phase_after(phase, row)
    return f"**{after}**: {_action(row)}" if after else _action(row)


def _phase_after(before: StrEnum, row: Row[StrEnum, Enum]) -> str:
    """The phase after a row; empty if it does not change."""
    if not isinstance(row, Transition) or row.phase is before:
        return ""
    return row.phase.value or NO_PHASE


def _action(row: Transition[StrEnum, Enum]) -> str:
    """The sentence of an action; if it only has a name, the name and the reason."""
    if isinstance(row.action.value, str):
        return row.action.value
    return f"{_words(row.action)} ({row.reason.value})"


def _words(member: Enum) -> str:
    return member.value if isinstance(member.value, str) else member.name.lower().replace("_", " ")
