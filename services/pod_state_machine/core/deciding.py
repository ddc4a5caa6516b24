"""Decides on one key: `decide(snapshot, now, timing)` → effects.

The pods of a PE that exists are launched by the rules of `services/launching/`. Without a PE,
clearing.py decides.
"""

from __future__ import annotations

from contracts.resources.job import JobPhase
from services.chassis.running.stage import Decision
from services.launching.core.deciding import decide_launches
from services.launching.core.situation import Situation
from services.launching.core.snapshot import Context, Timing
from services.pod_state_machine.core.awaiting import awaited_place, awaits_job, place_of
from services.pod_state_machine.core.clearing import clear_job, clear_lost_pods
from services.pod_state_machine.core.effects import Effect
from services.pod_state_machine.core.snapshot import JobSnapshot, Pe, PeSnapshot, Snapshot

_BUSY = (JobPhase.SUBMITTING, JobPhase.RESIZING)


def decide(snapshot: Snapshot, now: float, timing: Timing) -> Decision[Effect]:
    """The decision for the key of a snapshot at `now` (unix seconds).

    Raises RuleDefect where the rules do not fit the recorded phase.
    """
    if isinstance(snapshot, JobSnapshot):
        return clear_job(snapshot)
    if snapshot.owner is None:
        return clear_lost_pods(snapshot)
    return decide_launches(situation_of(snapshot, snapshot.owner, now, timing))


def situation_of(snapshot: PeSnapshot, pe: Pe, now: float, timing: Timing) -> Situation:
    """The input of the rules for a PE."""
    return Situation(snapshot, pe, _context(snapshot, pe), now, timing)


def _context(snapshot: PeSnapshot, pe: Pe) -> Context:
    job, place, awaited = snapshot.job, place_of(snapshot), awaited_place(snapshot)
    has_config_maps = snapshot.has_pe_config_map and snapshot.has_job_config_map
    return Context(
        has_lost_job=job is None or job.is_deleting or job.uid != pe.job_uid,
        is_job_busy=job is not None and job.phase in _BUSY,
        owners=snapshot.pes_of_job,
        has_mounts=has_config_maps and not awaits_job(snapshot),
        awaited=f"The processing element {awaited}." if awaited else "",
        node=place.node.name if place else None,
    )
