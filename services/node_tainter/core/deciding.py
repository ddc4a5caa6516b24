"""Decides what one key needs: `decide(snapshot)` → effects, by the rules of a node or a pool."""

from __future__ import annotations

from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Decision
from services.node_tainter.core.effects import Effect
from services.node_tainter.core.node_rules import NODE_RULES, NodeSituation
from services.node_tainter.core.pool_rules import POOL_RULES
from services.node_tainter.core.snapshot import NodeSnapshot, PoolSnapshot, Snapshot


def decide(snapshot: Snapshot) -> Decision[Effect]:
    """What the key of a snapshot needs; nothing here depends on the time."""
    if isinstance(snapshot, NodeSnapshot):
        return _decide_node(NodeSituation(snapshot))
    return _decide_pool(snapshot)


def _decide_node(at: NodeSituation) -> Decision[Effect]:
    rule = rule_for(NODE_RULES, at)
    effect = rule.action(at)
    effects = () if effect is None else (effect,)
    return Decision(effects, rule.reason_in(at), rules={"node": rule.observation.name})


def _decide_pool(at: PoolSnapshot) -> Decision[Effect]:
    rule = rule_for(POOL_RULES, at)
    effect = None if at.pool is None else rule.action(at.pool)
    effects = () if effect is None else (effect,)
    return Decision(effects, rule.reason_in(at), rules={"pool": rule.observation.name})
