"""Decides what one key needs: the next searches for the cluster, statuses for a job.

For a job: the rule of its Placement (rules.py) writes an answer, or the refusal of an invalid spec.
Once it is recorded, or if the job needs none, the rule of each HostPool of the job (pool_rules.py)
writes its status.

A status that is current is not written.
"""

from __future__ import annotations

from collections.abc import Sequence

from contracts.reasons import Reason
from services.chassis.running.rules import rule_for
from services.chassis.running.stage import Because, Decision
from services.hostpool_manager.core.choosing import choose
from services.hostpool_manager.core.effects import (
    Effect,
    WriteHostPoolStatus,
    WritePlacementStatus,
)
from services.hostpool_manager.core.pool_rules import POOL_RULES, PoolRule, PoolSituation
from services.hostpool_manager.core.rules import Action, Situation, rule_of
from services.hostpool_manager.core.snapshot import (
    ClusterSnapshot,
    ObservedPool,
    Placement,
    Snapshot,
)
from services.hostpool_manager.core.statuses import differences, host_pool_status


def decide(snapshot: Snapshot, now: float) -> Decision[Effect]:
    """The decision for the key of a snapshot at `now` (unix seconds).

    Raises RuleDefect where the rules do not fit the recorded phase of the job's Placement.
    """
    if isinstance(snapshot, ClusterSnapshot):
        choice = choose(snapshot, now)
        why = Reason.PLACING if choice.searches else Reason.NOTHING_TO_CHANGE
        return Decision(choice.searches, why, choice.requeue_at, {"waiting": choice.waiting})
    observed = snapshot.placement
    if observed is None:
        return _decided(snapshot.pools, None, Reason.NOTHING_TO_CHANGE, {}, {})
    at = Situation(observed)
    rule = rule_of(at)
    detail, rules = {"phase": at.phase or ""}, {"Placement": rule.observation.name}
    # The Placement before its pools: no node may be marked for an answer whose write is refused.
    if rule.action is Action.WRITE_ANSWER:
        answer = _answer(at)
        detail["message"] = answer.status.message
        return Decision((answer,), answer.status.reason, detail=detail, rules=rules)
    return _decided(snapshot.pools, observed.placement, rule.reason_in(at), detail, rules)


def _decided(
    pools: Sequence[ObservedPool],
    placement: Placement | None,
    reason: Reason,
    detail: dict[str, str],
    rules: dict[str, str],
) -> Decision[Effect]:
    """The statuses of pools; `reason` is that of the Placement, for a decision without effects."""
    situations = [PoolSituation(each, placement) for each in pools]
    of_pools = [(pool, rule_for(POOL_RULES, pool)) for pool in situations]
    rules |= {
        f"HostPool {pool.observed.pool.name}": each.observation.name for pool, each in of_pools
    }
    written = [(each, _pool_status(pool, each)) for pool, each in of_pools]
    effects = tuple(each for _, each in written if each is not None)
    because = tuple(
        Because(each.observation.name, effect.status.reason)
        for each, effect in written
        if effect is not None
    )
    if not effects:
        return Decision((), reason, detail=detail, rules=rules)
    status = effects[0].status
    detail["message"] = status.message
    return Decision(effects, status.reason, detail=detail, rules=rules, because=because)


def _answer(at: Situation) -> WritePlacementStatus:
    assert at.desired is not None, "an answer is written unless the status records it"
    return WritePlacementStatus(at.placement.ref, at.placement.uid, at.desired)


def _pool_status(at: PoolSituation, rule: PoolRule) -> WriteHostPoolStatus | None:
    pool, before, message = at.observed.pool, at.observed.status, rule.action(at)
    if message is None:
        return None
    status = at.status(rule.reason_in(at), message)
    if not differences(before, host_pool_status(before, status, now="")):
        return None
    return WriteHostPoolStatus(pool.namespace, pool.name, pool.uid, status)
