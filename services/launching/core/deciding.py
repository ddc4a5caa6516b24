"""Decides on the launches of one owner: `decide_launches(at)` → effects.

The rule of its life cycle (rules.py) and the rule of each of its pods (pod_rules.py) are carried
out together.

Properties: launch counts never fall; a status that is current is not written; statuses that only
inform wait while the job is being submitted or resized, so that they do not slow it down.
"""

from __future__ import annotations

from dataclasses import replace

from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Because, Decision
from services.launching.core.effects import Effect
from services.launching.core.pod_rules import POD_RULES, PodSituation, retention_ends
from services.launching.core.rules import RULES
from services.launching.core.situation import Situation


def decide_launches(at: Situation) -> Decision[Effect]:
    """The decision on an owner and its pods.

    Raises RuleDefect where the rules do not fit the recorded phase.
    """
    rule = rule_for(RULES, at, at.phase)
    decided = rule.action(at, rule.reason_in(at))
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
        because=(
            *(Because(rule.observation.name, decided.reason) for _ in decided.effects),
            *(
                Because(each.observation.name, each.reason_in(pod))
                for (pod, each), removal in zip(of_pods, removals, strict=True)
                if removal is not None
            ),
        ),
    )
