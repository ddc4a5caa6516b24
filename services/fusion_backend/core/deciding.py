"""What follows for one job: snapshot → one rule of each decision → effects.

The decisions are made on the same snapshot, each by its own rules, and carried out together.
Effects run concurrently; what must come after another effect is decided on again, when its outcome
has been observed.

Property: no two decisions ask for the same effect, or write the same field of a status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.reasons import Reason
from contracts.resources import JobPhase
from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Because, Decision
from services.fusion_backend.core.attempts import has_failed
from services.fusion_backend.core.bundle_rules import BUNDLE_RULES, next_bundle_look_at
from services.fusion_backend.core.child_rules import CHILD_RULES
from services.fusion_backend.core.clean_up_rules import CLEAN_UP_RULES, PREDECESSOR_RULES
from services.fusion_backend.core.connecting import passed_at
from services.fusion_backend.core.effects import Effect
from services.fusion_backend.core.generation_rules import GENERATION_RULES
from services.fusion_backend.core.health_due import health_due_at
from services.fusion_backend.core.losing import losses_expire_at
from services.fusion_backend.core.provision_rules import PROVISION_RULES
from services.fusion_backend.core.provisions_due import next_look_at
from services.fusion_backend.core.reference_rules import REFERENCE_RULES
from services.fusion_backend.core.references import settles_at
from services.fusion_backend.core.region_rules import REGION_RULES
from services.fusion_backend.core.retrying import next_attempt_at
from services.fusion_backend.core.rules import JobRule
from services.fusion_backend.core.situation import TROUBLE_SETTLES_S, Situation
from services.fusion_backend.core.snapshot import Snapshot
from services.fusion_backend.core.status_rules import STATUS_RULES

DECISIONS: Final[Mapping[str, tuple[JobRule, ...]]] = {
    "predecessors": PREDECESSOR_RULES,
    "status": STATUS_RULES,
    "generation": GENERATION_RULES,
    "children": CHILD_RULES,
    "clean-up": CLEAN_UP_RULES,
    "regions": REGION_RULES,
    "provisions": PROVISION_RULES,
    "references": REFERENCE_RULES,
    "bundle": BUNDLE_RULES,
}
"""In the order of their effects. The first one with effects gives the reason of the whole."""


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """What to do for one job now, and when to look again if nothing happens.

    Raises RuleDefect where the rules do not fit the recorded phase.
    """
    at = Situation(snapshot, now)
    rules = {name: rule_for(tuple_, at, at.phase) for name, tuple_ in DECISIONS.items()}
    effects = {name: rule.action(at) for name, rule in rules.items()}
    return Decision(
        tuple(effect for each in effects.values() for effect in each),
        _reason(at, [*(rule for name, rule in rules.items() if effects[name]), *rules.values()]),
        requeue_at=_requeue_at(at),
        detail={
            "phase": at.phase or "",
            "generation": snapshot.newest_generation,
        },
        rules={name: rule.observation.name for name, rule in rules.items()},
        because=tuple(
            Because(rules[name].observation.name, rules[name].reason_in(at))
            for name, each in effects.items()
            for _ in each
        ),
    )


def _reason(at: Situation, rules: list[JobRule]) -> Reason:
    """The reason of the first rule that gives one."""
    reasons = (rule.reason_in(at) for rule in rules)
    waiting = (each for each in reasons if each is not Reason.NOTHING_TO_CHANGE)
    return next(waiting, Reason.NOTHING_TO_CHANGE)


def _requeue_at(at: Situation) -> float | None:
    """What no fact wakes.

    The next attempt of a job that failed, a look for its bundle, the submission's deadline, widths
    that gather or are tried again, a hand-over that goes on, PEs that do not run for longer than
    they may need to, PEs that are past what they failed at, losses that are forgotten, trouble that
    does not pass, the next time that the planner may be called, and a wrong reference.
    """
    settles = settles_at(at.snapshot)
    if at.is_leaving or has_failed(at):
        next_at = None if at.is_leaving else next_attempt_at(at.job.status)
        return min(
            (
                time
                for time in (settles, next_at, next_bundle_look_at(at))
                if time is not None and time > at.now
            ),
            default=None,
        )
    times = [
        settles,
        at.deadline,
        at.placing.until,
        at.placing.unanswered_from,
        at.next_plan.look_again_at,
        next_look_at(at.snapshot, at.now),
    ]
    if at.snapshot.newest is not None:
        times += [at.admission.look_at, at.hand_over.looked_at_again]
        if at.phase is JobPhase.SUBMITTED:
            times += [health_due_at(at), passed_at(at)]
        times.append(losses_expire_at(at))
    if (trouble := at.trouble) is not None:
        times.append(trouble.since + TROUBLE_SETTLES_S)
    if (trouble := at.planning_trouble) is not None:
        times.append(trouble.until)
    return min((time for time in times if time is not None and time > at.now), default=None)
