"""Decides on one key: `decide(snapshot, now, timing)` → effects.

The pods of a PE that exists are launched by the rules of `services/launching/`. Without a PE,
clearing.py decides. What a PE names wrongly is reported first (references.py). Whether the pod that
runs takes other resources is decided in resizing.py.
"""

from __future__ import annotations

from services.chassis.running.stage import Decision
from services.launching.core.deciding import decide_launches
from services.launching.core.situation import Situation
from services.launching.core.snapshot import Timing
from services.pod_state_machine.core.awaiting import context_of
from services.pod_state_machine.core.clearing import clear_job, clear_lost_pods
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.references import decide_reference
from services.pod_state_machine.core.resizing import with_resize
from services.pod_state_machine.core.snapshot import JobSnapshot, Pe, PeSnapshot, Snapshot


def decide(snapshot: Snapshot, now: float, timing: Timing) -> Decision[Effect]:
    """The decision for the key of a snapshot at `now` (unix seconds).

    Raises RuleDefect where the rules do not fit the recorded phase.
    """
    if isinstance(snapshot, JobSnapshot):
        return clear_job(snapshot)
    if snapshot.owner is None:
        return clear_lost_pods(snapshot)
    reference = decide_reference(snapshot, snapshot.owner, now)
    if reference is not None:
        return reference
    at = situation_of(snapshot, snapshot.owner, now, timing)
    return with_resize(decide_launches(at), at, snapshot.owner)


def situation_of(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Situation:
    """The input of the rules for a PE."""
    return Situation(snapshot, pe, context_of(snapshot, pe), now, timing)
