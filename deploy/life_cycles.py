"""Draws the life cycles of `services/*/core/transitions.py` as the page `docs/life-cycles.md`.

For each life cycle: a state diagram of the transitions that change the phase, and a table of every
pair of recorded phase and observation. `generating.py` writes the page, and a test fails if it is
outdated. The transition tables alone decide what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.life_cycles import Forbidden, Ignored, Row, Transition
from services.fusion_backend.core import transitions as job
from services.hostpool_manager.core import transitions as placement
from services.node_tainter.core import transitions as marks
from services.pod_state_machine.core import transitions as pe

HEADER = """\
<!-- Generated from services/*/core/transitions.py by `make generate`; edit the tables instead. -->

# Life cycles

The transitions of a job, a processing element (PE), a placement, and of marked nodes and host
pools. A row of a transition table is a pair of the phase that the object records and an
observation, which is computed from the observed state. The diagrams show the transitions that
change the phase. The tables below list every pair: the action (and the new phase, if it changes),
what is ignored, and what is forbidden because it cannot happen.
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
_NAMED = {row.reason for row in pe.TRANSITIONS.values() if not isinstance(row, Forbidden)}
PES = LifeCycle(
    "A processing element",
    "\n".join(
        (
            "pod-state-machine, `services/pod_state_machine/core/transitions.py`. The pod is that"
            " of the\nnewest launch. The reasons in parentheses:\n",
            *(f"* {each.value}: {each.sentence}" for each in Reason if each in _NAMED),
        )
    ),
    PePhase,
    pe.Observation,
    pe.TRANSITIONS,
)
PLACEMENTS = LifeCycle(
    "A placement",
    "hostpool-manager, `services/hostpool_manager/core/transitions.py`. The phase is the last"
    " answer;\na search finds the next one.",
    placement.Phase,
    placement.Observation,
    placement.TRANSITIONS,
)
NODES = LifeCycle(
    "A node",
    "node-tainter, `services/node_tainter/core/transitions.py`. The phase is whether the node"
    "\ncarries our labels or taints.",
    marks.NodePhase,
    marks.NodeObservation,
    marks.NODES,
)
POOLS = LifeCycle(
    "A host pool",
    "node-tainter, `services/node_tainter/core/transitions.py`. Whether our finalizer is on it.",
    marks.PoolPhase,
    marks.PoolObservation,
    marks.POOLS,
)


def page() -> str:
    """The whole page."""
    nodes, pools = _section(NODES), _section(POOLS)
    return "\n".join((HEADER, _section(JOBS), _section(PES), _section(PLACEMENTS), nodes, pools))


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
    lines = (
        f"  {before} --> {after}: {' / '.join(seen)}"
        for (before, after), seen in sorted(arrows.items())
    )
    return ("\n".join(("```mermaid", "stateDiagram-v2", *lines, "```", "")),) if arrows else ()


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
