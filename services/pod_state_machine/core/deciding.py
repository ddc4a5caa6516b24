"""Decides on one key: `decide(snapshot, now, timing)` → effects.

For a PE that exists, the rule of its life cycle (rules.py) and the rule of each of its pods
(pod_rules.py) are carried out together. Without a PE, clearing.py decides.

Properties: launch counts never fall; a status that is current is not written; statuses that only
inform wait while the job is being submitted or resized, so that they do not slow it down.
"""

from __future__ import annotations

from dataclasses import replace

from contracts import labels
from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Decision
from services.pod_state_machine.core import rules
from services.pod_state_machine.core.awaiting import place_of
from services.pod_state_machine.core.clearing import clear_job, clear_lost_pods
from services.pod_state_machine.core.effects import CreatePod, Effect, PatchPeStatus
from services.pod_state_machine.core.pod_rules import POD_RULES, PodSituation, retention_ends
from services.pod_state_machine.core.recording import Record, intent, restart_intent
from services.pod_state_machine.core.situation import FIRST_LAUNCH, Situation, predecessors
from services.pod_state_machine.core.snapshot import JobSnapshot, Snapshot, Timing


def decide(snapshot: Snapshot, now: float, timing: Timing) -> Decision[Effect]:
    """The decision for the key of a snapshot at `now` (unix seconds).

    Raises RuleDefect where the rules do not fit the recorded phase.
    """
    if isinstance(snapshot, JobSnapshot):
        return clear_job(snapshot)
    if snapshot.pe is None:
        return clear_lost_pods(snapshot)
    return _decide_pe(Situation(snapshot, snapshot.pe, now, timing))


def _decide_pe(at: Situation) -> Decision[Effect]:
    rule = rule_for(rules.RULES, at, at.phase)
    decided = _carried_out(at, rule.action, rule.reason_in(at))
    pods = [PodSituation(at, pod) for pod in at.snapshot.pods]
    of_pods = [(pod, rule_for(POD_RULES, pod)) for pod in pods]
    removals = [each.action(pod, each.reason_in(pod)) for pod, each in of_pods]
    wakings = [*at.deadlines(), *retention_ends(at)]
    if decided.requeue_at is not None:
        wakings.append(decided.requeue_at)
    return replace(
        decided,
        effects=(*decided.effects, *(each for each in removals if each is not None)),
        requeue_at=min(wakings, default=None),
        detail={"phase": at.phase.value},
        rules={
            "PE": rule.observation.name,
            **{f"pod {pod.pod.name}": each.observation.name for pod, each in of_pods},
        },
    )


def _carried_out(at: Situation, action: rules.Action, reason: Reason) -> Decision[Effect]:
    match action:
        case rules.Ignore():
            return Decision((), reason)
        case rules.CreatePod():
            return Decision((_create_pod(at),), reason)
        case rules.IntendLaunch():
            status = intent(at, reason)
            unbound = at.pod.name if at.pod and action.is_unbound else ""
            return Decision((PatchPeStatus(at.pe.uid, status, _skipped_pod(at), unbound),), reason)
        case rules.IntendRestart():
            status = restart_intent(at, reason)
            return Decision((PatchPeStatus(at.pe.uid, status, _skipped_pod(at)),), reason)
        case Record():
            return _record(at, action, reason)


def _record(at: Situation, record: Record, reason: Reason) -> Decision[Effect]:
    status = record.status(at, reason)
    if status == at.pe.status:
        return Decision((), reason, record.requeue_at(at))
    due_at = record.due_at(at, status)
    if at.now < due_at:
        return Decision((), reason, due_at)
    return Decision((PatchPeStatus(at.pe.uid, status),), reason, record.requeue_at(at))


def _skipped_pod(at: Situation) -> str:
    """The pod of a waiting launch that is skipped before the pod was observed; empty if none.

    Before the first status that is launch 1: its pod may exist although its fact is missing.
    """
    pe, pods = at.pe, at.snapshot.pods
    name = labels.pod_name(pe.job, pe.id, pe.uid, max(at.launch, FIRST_LAUNCH))
    is_known = at.snapshot.last is not None or any(pod.name == name for pod in pods)
    return "" if is_known or at.phase is not PePhase.WAITING else name


def _create_pod(at: Situation) -> CreatePod:
    """The pod of the intended launch."""
    snapshot, pe = at.snapshot, at.pe
    launch = max(at.launch, FIRST_LAUNCH)
    believed_gone = predecessors(pe) - {pod.name for pod in snapshot.pods} - snapshot.ended
    return CreatePod(
        name=labels.pod_name(pe.job, pe.id, pe.uid, launch),
        launch=launch,
        content_id=pe.content_id,
        pe_uid=pe.uid,
        pe_generation=pe.metadata_generation,
        believed_gone=tuple(sorted(believed_gone)),
        node=place.node.name if (place := place_of(snapshot)) else "",
    )
