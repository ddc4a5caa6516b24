"""Decides what reports of a PE, or of a job, need: `decide(snapshot, now, settle_s)` → effects."""

from __future__ import annotations

from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Decision
from services.pe_gateway.core.effects import Effect
from services.pe_gateway.core.loss_rules import LOSS_RULES, LossObservation, LossSituation
from services.pe_gateway.core.report_rules import (
    REPORT_RULES,
    ReportObservation,
    ReportSituation,
)
from services.pe_gateway.core.snapshot import LossesSnapshot, PeSnapshot


def decide(snapshot: PeSnapshot | LossesSnapshot, now: float, settle_s: float) -> Decision[Effect]:
    """What the report of a PE, or what PEs of a job lost, needs."""
    if isinstance(snapshot, LossesSnapshot):
        return _of_losses(LossSituation(snapshot, now))
    at = ReportSituation(snapshot, now, settle_s)
    rule = rule_for(REPORT_RULES, at)
    effect = rule.action(at)
    waits = rule.observation in (ReportObservation.UNSETTLED, ReportObservation.NOT_RUNNING)
    return Decision(
        () if effect is None else (effect,),
        rule.reason_in(at),
        requeue_at=at.settles_at if waits else None,
        rules={"report": rule.observation.name},
    )


def _of_losses(at: LossSituation) -> Decision[Effect]:
    rule = rule_for(LOSS_RULES, at)
    effect = rule.action(at)
    return Decision(
        () if effect is None else (effect,),
        rule.reason_in(at),
        requeue_at=at.settles_at if rule.observation is LossObservation.UNSETTLED else None,
        rules={"losses": rule.observation.name},
    )
