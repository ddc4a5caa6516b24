"""Draws the life cycles of `services/*/core/transitions.py` as the page `docs/life-cycles.md`.

For each life cycle: a state diagram of the transitions that change the phase, and a table of every
pair of recorded phase and observation. `generating.py` writes the page, a test holds it fresh; what
follows what is decided in the transition tables alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.fusion_backend.core import transitions as job
from services.hostpool_manager.core import transitions as placement
from services.node_tainter.core import transitions as marks
from services.pod_state_machine.core import transitions as pe

HEADER = """\
<!-- Generated from services/*/core/transitions.py by `make generate`; edit the tables instead. -->

# Life cycles

What follows what, for a job, for a processing element (PE), for a placement, and for the nodes and
host pools that are marked. A row of a transition table is a pair of the phase that the object
records and an observation, which is computed from everything that is known. The diagrams show the
transitions that change the phase. Below them every pair is listed: what is done (and the new phase,
if it is another), what is ignored, and what is forbidden because it cannot come about.
"""
NO_PHASE = "none"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a row says; `leads_to` is a phase that differs, `forbidden` why the pair cannot be."""

    done: str = ""
    leads_to: str = ""
    forbidden: str = ""


@dataclass(frozen=True, slots=True)
class LifeCycle:
    """One table, in words: phases and observations in order, and the outcome of each pair."""

    title: str
    about: str
    phases: tuple[str, ...]
    observations: tuple[str, ...]
    outcomes: Mapping[tuple[str, str], Outcome]


def page() -> str:
    """The whole page."""
    cycles = (_of_jobs(), _of_pes(), _of_placements(), _of_nodes(), _of_pools())
    return "\n".join((HEADER, *map(_section, cycles)))


def _of_jobs() -> LifeCycle:
    outcomes = {}
    for (phase, observation), row in job.TRANSITIONS.items():
        match row:
            case job.Transition():
                outcome = _transition(phase, row.phase, row.action.value)
            case job.Ignored(why=why):
                outcome = Outcome(f"*ignored*: {why}")
            case job.Forbidden(why=why):
                outcome = Outcome(forbidden=why)
        outcomes[_phase(phase), observation.value] = outcome
    return LifeCycle(
        title="A job",
        about=(
            "fusion-backend, `services/fusion_backend/core/transitions.py`. Of several observations"
            " that hold,\nthe first in the order of the lists counts."
        ),
        phases=tuple(map(_phase, job.Phase)),
        observations=tuple(each.value for each in job.Observation),
        outcomes=outcomes,
    )


def _of_pes() -> LifeCycle:
    outcomes = {}
    for (phase, observation), row in pe.TRANSITIONS.items():
        match row:
            case pe.Transition():
                did = f"{_words(row.action)} ({row.reason.value})"
                outcome = _transition(phase, row.phase, did)
            case pe.Ignored(reason=reason):
                outcome = Outcome(f"*ignored*: {reason.value}")
            case pe.Forbidden(why=why):
                outcome = Outcome(forbidden=why)
        outcomes[_phase(phase), _words(observation)] = outcome
    named = {row.reason for row in pe.TRANSITIONS.values() if not isinstance(row, pe.Forbidden)}
    reasons = "\n".join(f"* {each.value}: {each.sentence}" for each in Reason if each in named)
    return LifeCycle(
        title="A processing element",
        about=(
            "pod-state-machine, `services/pod_state_machine/core/transitions.py`. The pod is that"
            f" of the\nnewest launch. The reasons in parentheses:\n\n{reasons}"
        ),
        phases=tuple(map(_phase, PePhase)),
        observations=tuple(map(_words, pe.Observation)),
        outcomes=outcomes,
    )


def _of_placements() -> LifeCycle:
    outcomes = {}
    for (phase, observation), row in placement.TRANSITIONS.items():
        match row:
            case placement.Transition(action=action):
                outcome = Outcome(action.value)
            case placement.Ignored(reason=reason):
                outcome = Outcome(f"*ignored*: {reason.value}")
            case placement.Forbidden(why=why):
                outcome = Outcome(forbidden=why)
        outcomes[_phase(phase), observation.value] = outcome
    return LifeCycle(
        title="A placement",
        about=(
            "hostpool-manager, `services/hostpool_manager/core/transitions.py`. The phase is the"
            " answer that was given last;\na search gives the next one."
        ),
        phases=tuple(map(_phase, placement.Phase)),
        observations=tuple(each.value for each in placement.Observation),
        outcomes=outcomes,
    )


def _of_nodes() -> LifeCycle:
    return _of_marks(
        "A node",
        "Whether it carries labels or\ntaints of ours.",
        tuple(marks.NodePhase),
        tuple(marks.NodeObservation),
        {(phase, seen): row for (phase, seen), row in marks.NODES.items()},
    )


def _of_pools() -> LifeCycle:
    return _of_marks(
        "A host pool",
        "Whether it has our finalizer.",
        tuple(marks.PoolPhase),
        tuple(marks.PoolObservation),
        {(phase, seen): row for (phase, seen), row in marks.POOLS.items()},
    )


def _of_marks(
    title: str,
    about: str,
    phases: tuple[StrEnum, ...],
    observations: tuple[Enum, ...],
    rows: Mapping[tuple[StrEnum, Enum], marks.Row],
) -> LifeCycle:
    outcomes = {}
    for (phase, observation), row in rows.items():
        match row:
            case marks.Transition():
                did = f"{_words(row.action)} ({row.reason.value})"
                outcome = _transition(phase, row.phase, did)
            case marks.Ignored(reason=reason):
                outcome = Outcome(f"*ignored*: {reason.value}")
            case marks.Forbidden(why=why):
                outcome = Outcome(forbidden=why)
        outcomes[_phase(phase), _words(observation)] = outcome
    return LifeCycle(
        title=title,
        about=f"node-tainter, `services/node_tainter/core/transitions.py`. {about}",
        phases=tuple(map(_phase, phases)),
        observations=tuple(map(_words, observations)),
        outcomes=outcomes,
    )


def _phase(phase: StrEnum) -> str:
    return phase.value or NO_PHASE


def _words(member: Enum) -> str:
    return member.name.lower().replace("_", " ")


def _transition(before: StrEnum, after: StrEnum, action: str) -> Outcome:
    if after is before:
        return Outcome(action)
    return Outcome(f"**{_phase(after)}**: {action}", _phase(after))


def _section(cycle: LifeCycle) -> str:
    phases = (_listed(cycle, phase) for phase in cycle.phases)
    has_arrows = any(outcome.leads_to for outcome in cycle.outcomes.values())
    diagram = (_diagram(cycle),) if has_arrows else ()
    return "\n".join((f"## {cycle.title}\n\n{cycle.about}\n", *diagram, *phases))


def _diagram(cycle: LifeCycle) -> str:
    """One arrow from a phase to another, labelled with the observations that lead there."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for (phase, observation), outcome in cycle.outcomes.items():
        if outcome.leads_to:
            before = "[*]" if phase == NO_PHASE else phase
            arrows.setdefault((before, outcome.leads_to), []).append(observation)
    lines = (
        f"  {before} --> {after}: {' / '.join(sorted(seen, key=cycle.observations.index))}"
        for (before, after), seen in sorted(arrows.items())
    )
    return "\n".join(("```mermaid", "stateDiagram-v2", *lines, "```", ""))


def _listed(cycle: LifeCycle, phase: str) -> str:
    """The table of what can be in one phase, then what cannot, by why."""
    possible = ["| observation | outcome |", "|---|---|"]
    impossible: dict[str, list[str]] = {}
    for observation in cycle.observations:
        outcome = cycle.outcomes[phase, observation]
        if outcome.forbidden:
            impossible.setdefault(outcome.forbidden, []).append(observation)
        else:
            possible.append(f"| {observation} | {outcome.done} |")
    forbidden = [f"* {'; '.join(seen)}: {why}." for why, seen in impossible.items()]
    return "\n".join(
        (
            f"### {cycle.title}, recorded phase {phase}\n",
            *possible,
            *(["", "Forbidden:", "", *forbidden] if forbidden else []),
            "",
        )
    )
