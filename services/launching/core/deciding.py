"""Decides on the launches of one owner: `decide_launches(at)` → effects.

The rule of its life cycle (rules.py) and the rule of each of its pods (pod_rules.py) are carried
out together.

Properties: launch counts never fall; a status that is current is not written; statuses that only
inform wait while the job is being submitted or resized, so that they do not slow it down.
"""

from __future__ import annotations

from dataclasses import replace

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Decision
from services.launching.core import rules
from services.launching.core.effects import CreatePod, Effect, PatchStatus
from services.launching.core.pod_rules import POD_RULES, PodSituation, retention_ends
from services.launching.core.recording import Record, intent, restart_intent
from services.launching.core.situation import FIRST_LAUNCH, Situation, predecessors


def decide_launches(at: Situation) -> Decision[Effect]:
    """The decision on an owner and its pods.

    Raises RuleDefect where the rules do not fit the recorded phase.
    """
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
            at.owner.noun: rule.observation.name,
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
            return Decision((PatchStatus(at.owner.uid, status, _skipped_pod(at), unbound),), reason)
        case rules.IntendRestart():
            status = restart_intent(at, reason)
            return Decision((PatchStatus(at.owner.uid, status, _skipped_pod(at)),), reason)
        case Record():
            return _record(at, action, reason)


def _record(at: Situation, record: Record, reason: Reason) -> Decision[Effect]:
    status = record.status(at, reason)
    if status == at.owner.status:
        return Decision((), reason, record.requeue_at(at))
    due_at = record.due_at(at, status)
    if at.now < due_at:
        return Decision((), reason, due_at)
    return Decision((PatchStatus(at.owner.uid, status),), reason, record.requeue_at(at))


def _skipped_pod(at: Situation) -> str:
    """The pod of a waiting launch that is skipped before the pod was observed; empty if none.

    Before the first status that is launch 1: its pod may exist although its fact is missing.
    """
    pods = at.snapshot.pods
    name = at.owner.pod_name(max(at.launch, FIRST_LAUNCH))
    is_known = at.snapshot.last is not None or any(pod.name == name for pod in pods)
    return "" if is_known or at.phase is not PePhase.WAITING else name


def _create_pod(at: Situation) -> CreatePod:
    """The pod of the intended launch."""
    snapshot, owner = at.snapshot, at.owner
    launch = max(at.launch, FIRST_LAUNCH)
    believed_gone = predecessors(owner) - {pod.name for pod in snapshot.pods} - snapshot.ended
    return CreatePod(
        name=owner.pod_name(launch),
        launch=launch,
        content_id=owner.content_id,
        owner_uid=owner.uid,
        owner_generation=owner.metadata_generation,
        believed_gone=tuple(sorted(believed_gone)),
        node=at.context.node or "",
    )
