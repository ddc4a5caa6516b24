"""Draws the ordered rules of `services/*/core` as the page `docs/life-cycles.md`.

A table of each tuple of rules, and a diagram of those that change a phase. `generating.py` writes
the page, and a test fails if it is outdated. The rules alone decide.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any

import orjson

from contracts.reasons import Reason
from services.chassis.running.rules import Rule
from services.fusion_backend.core.deciding import DECISIONS
from services.hostpool_manager.core import pool_rules as status_rules
from services.hostpool_manager.core import rules as placement_rules
from services.launching.core import pod_rules, rules
from services.node_tainter.core import node_rules, pool_rules
from services.pe_gateway.core import report_rules
from services.pod_state_machine.core import resizing

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


@dataclass(frozen=True, slots=True)
class Ruled:
    """Ordered rules, their title and introduction; `decides` as in records: service and subject."""

    title: str
    about: str
    rules: Sequence[Rule[Any, Any]]
    decides: str


def _of_job(decision: str, file: str, about: str) -> Ruled:
    where = f"fusion-backend, `services/fusion_backend/core/{file}`."
    about = f"{where} {about}"
    return Ruled(f"A job: {decision}", about, DECISIONS[decision], f"fusion-backend {decision}")


JOBS = (
    _of_job("status", "status_rules.py", "What the status of the Job says next."),
    _of_job(
        "generation",
        "generation_rules.py",
        "How the plan that comes next is made,\nplaced and recorded, the first one and later ones.",
    ),
    _of_job("children", "child_rules.py", "Which children are written."),
    _of_job("clean-up", "clean_up_rules.py", "What of the job is deleted."),
    _of_job("predecessors", "clean_up_rules.py", "What former Jobs of the\nsame name left over."),
    _of_job("regions", "region_rules.py", "The statuses of ParallelRegions."),
    _of_job(
        "provisions", "provision_rules.py", "The certificate and the\nredis servers of its PEs."
    ),
    _of_job(
        "references",
        "reference_rules.py",
        "ParallelRegions and\nHostPools that name the job and that no Job controls.",
    ),
    _of_job("bundle", "bundle_rules.py", "Whether its missing bundle is\nlooked for."),
)
PES = Ruled(
    "A processing element",
    "pod-state-machine, `services/launching/core/rules.py`. The pod is that of the newest\nlaunch.",
    rules.RULES,
    "pod-state-machine PE",
)
PODS = Ruled(
    "A pod of a processing element",
    "pod-state-machine, `services/launching/core/pod_rules.py`: each pod of a PE, beside"
    "\nthe rules of the PE.",
    pod_rules.POD_RULES,
    "pod-state-machine pod",
)
RESIZES = Ruled(
    "The resources of a pod that runs",
    "pod-state-machine, `services/pod_state_machine/core/resizing.py`: a PE whose"
    "\n`spec.resizesInPlace` is true, beside the rules of the PE.",
    resizing.RESIZE_RULES,
    "pod-state-machine resize",
)
PLACEMENTS = Ruled(
    "A placement",
    "hostpool-manager, `services/hostpool_manager/core/rules.py`. The phase is the last answer; a"
    "\nsearch finds the next one.",
    placement_rules.RULES,
    "hostpool-manager Placement",
)
STATUSES = Ruled(
    "The status of a host pool",
    "hostpool-manager, `services/hostpool_manager/core/pool_rules.py`.",
    status_rules.POOL_RULES,
    "hostpool-manager HostPool",
)
NODES = Ruled(
    "A node",
    "node-tainter, `services/node_tainter/core/node_rules.py`.",
    node_rules.NODE_RULES,
    "node-tainter node",
)
POOLS = Ruled(
    "The finalizer of a host pool",
    "node-tainter, `services/node_tainter/core/pool_rules.py`.",
    pool_rules.POOL_RULES,
    "node-tainter pool",
)
REPORTS = Ruled(
    "What a PE reports of its connections",
    "pe-gateway, `services/pe_gateway/core/report_rules.py`.",
    report_rules.REPORT_RULES,
    "pe-gateway report",
)


def page() -> str:
    """The whole page."""
    cycles = (*JOBS, PES, PODS, RESIZES, PLACEMENTS, STATUSES, NODES, POOLS, REPORTS)
    return "\n".join((HEADER, *map(_ruled, cycles)))


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
    heading = f"## {cycle.title}\n\n{cycle.about}\n"
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
