"""Decides what the report of one PE needs: `decide(snapshot, now, settle_s)` → effects."""

from __future__ import annotations

from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Decision
from services.pe_gateway.core.effects import Effect
from services.pe_gateway.core.report_rules import (
    REPORT_RULES,
    ReportObservation,
    ReportSituation,
)
from services.pe_gateway.core.snapshot import PeSnapshot


def decide(snapshot: PeSnapshot, now: float, settle_s: float) -> Decision[Effect]:
    """What the report of a PE needs."""
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
