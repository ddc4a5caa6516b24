"""The status of a HostPool: exactly one rule decides, and each is reached."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from contracts.reasons import Reason
from services.chassis.running.rules import rule_for
from services.hostpool_manager.core.pool_rules import POOL_RULES, PoolObservation, PoolSituation
from services.hostpool_manager.core.snapshot import (
    HostPool,
    InForce,
    Member,
    ObservedPool,
    Placement,
    Ref,
)

REF = Ref("default", "shop")
BOOLS = (False, True)
SITUATIONS = tuple(
    PoolSituation(
        ObservedPool(
            HostPool(
                "default",
                "shop-0",
                "u",
                1,
                REF,
                job_uid="j",
                is_exclusive=exclusive,
                is_deleting=deleting,
                is_default=default,
            ),
            {},
            (Member("n1", is_there=there, is_marked=marked, runs_others=others),),
            least=least,
        ),
        Placement(REF, "p", 1, 1, is_deleting=leaving, in_force=InForce(generation)),
    )
    for exclusive, deleting, there, marked, others, leaving, default in product(BOOLS, repeat=7)
    for least, generation in product((0, 1, 2), (None, 0))
)
UNPLACED = tuple(
    PoolSituation(replace(at.observed, members=()), None)
    for at in SITUATIONS
    if not at.observed.members[0].is_there
)


def test_each_observation_has_exactly_one_rule_and_is_reached() -> None:
    assert [rule.observation for rule in POOL_RULES] == list(PoolObservation)
    reached = {rule_for(POOL_RULES, each).observation for each in SITUATIONS}
    assert reached == set(PoolObservation)


def test_a_pool_is_ready_only_if_every_member_is_there_and_claimed() -> None:
    written = 0
    for at in SITUATIONS:
        if at.observed.pool.is_default:
            continue
        rule = rule_for(POOL_RULES, at)
        message = rule.action(at)
        if message is None:
            continue
        written += 1
        status = at.status(rule.reason_in(at), message)
        is_whole = not at.observed.missing and not at.unclaimed
        assert status.is_ready is is_whole is (status.reason is Reason.MEMBERS_READY)
        assert status.message
    assert written == len(SITUATIONS) / 16


def test_the_default_pool_is_ready_with_a_placement_and_without_one() -> None:
    """Its status is the same before and after a placement, so that it is written once."""
    defaults = [each for each in (*SITUATIONS, *UNPLACED) if each.observed.pool.is_default]
    statuses = set()
    for at in defaults:
        rule = rule_for(POOL_RULES, at)
        message = rule.action(at)
        if message is not None:
            assert rule.observation is PoolObservation.IS_DEFAULT
            statuses.add(
                replace(at, observed=replace(at.observed, members=())).status(
                    rule.reason_in(at), message
                )
            )
    (status,) = statuses
    assert (status.is_ready, status.members, status.plan_generation) == (True, (), None)


def test_without_a_placement_no_other_pool_has_a_status() -> None:
    others = [each for each in UNPLACED if not each.observed.pool.is_default]
    assert others
    assert all(rule_for(POOL_RULES, each).action(each) is None for each in others)
