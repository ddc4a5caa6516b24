"""The status of a HostPool: exactly one rule decides, and each is reached."""

from __future__ import annotations

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
                "default", "shop-0", "u", 1, REF, is_exclusive=exclusive, is_deleting=deleting
            ),
            {},
            (Member("n1", is_there=there, is_marked=marked, runs_others=others),),
            least=least,
        ),
        Placement(REF, "p", 1, 1, is_deleting=leaving, in_force=InForce(generation)),
    )
    for exclusive, deleting, there, marked, others, leaving in product(BOOLS, repeat=6)
    for least, generation in product((0, 1, 2), (None, 0))
)


def test_each_observation_has_exactly_one_rule_and_is_reached() -> None:
    assert [rule.observation for rule in POOL_RULES] == list(PoolObservation)
    reached = {rule_for(POOL_RULES, each).observation for each in SITUATIONS}
    assert reached == set(PoolObservation)


def test_a_pool_is_ready_only_if_every_member_is_there_and_claimed() -> None:
    written = 0
    for at in SITUATIONS:
        rule = rule_for(POOL_RULES, at)
        message = rule.action(at)
        if message is None:
            continue
        written += 1
        status = at.status(rule.reason_in(at), message)
        is_whole = not at.observed.missing and not at.unclaimed
        assert status.is_ready is is_whole is (status.reason is Reason.MEMBERS_READY)
        assert status.message
    assert written == len(SITUATIONS) / 8
