"""The rules of nodes and pools: each is reached, and what they never do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest

from services.chassis.running.rules import rule_for
from services.node_tainter.core.claiming import wanted_marks
from services.node_tainter.core.deciding import decide
from services.node_tainter.core.effects import RemoveFinalizer, SetMarks
from services.node_tainter.core.node_rules import NODE_RULES, NodeObservation, NodeSituation
from services.node_tainter.core.pool_rules import POOL_RULES, PoolObservation
from services.node_tainter.core.snapshot import (
    Listing,
    Marks,
    Node,
    NodeSnapshot,
    Pool,
    PoolKey,
    PoolSnapshot,
    exclusive_taint,
)
from tests.unit.node_tainter.situations import EARLY, KEY, LATE

COUNT, REACHED_MIN = 5_000, 100
UIDS = ("a", "b", "c")
BOOLS = (False, True)


def pools() -> Iterator[PoolSnapshot]:
    for bits in product(BOOLS, repeat=5):
        pool = Pool("default", "p", "a", EARLY, *bits[:4])
        yield PoolSnapshot(PoolKey("default", "p"), pool, is_carried=bits[4])
    yield PoolSnapshot(PoolKey("default", "p"), None)


def nodes() -> Iterator[NodeSnapshot]:
    draw = random.Random(16)
    for _ in range(COUNT):
        yield _node(draw)


def _node(draw: random.Random) -> NodeSnapshot:
    carried = Marks(
        tuple(exclusive_taint(uid) for uid in UIDS if draw.random() < 0.2),
        tuple((uid, "0") for uid in UIDS if draw.random() < 0.2),
    )
    listings = tuple(
        Listing(_pool(draw, uid), draw.choice((None, 0, 0, 1)))
        for uid in UIDS
        if draw.random() < 0.4
    )
    node = None if draw.random() < 0.05 else Node("n", "u", carried)
    snapshot = NodeSnapshot(KEY, node, listings)
    if node is not None and draw.random() < 0.3:  # it carries what it should
        marked = Node("n", "u", wanted_marks(snapshot).marks)
        snapshot = NodeSnapshot(KEY, marked, listings)
    return snapshot


def _pool(draw: random.Random, uid: str) -> Pool:
    return Pool(
        "default",
        uid,
        uid,
        draw.choice((EARLY, LATE)),
        is_exclusive=draw.random() < 0.5,
        labels_members=draw.random() < 0.5,
        is_deleting=draw.random() < 0.2,
        has_finalizer=draw.random() < 0.7,
    )


@pytest.mark.parametrize(
    ("rules", "names"), [(NODE_RULES, NodeObservation), (POOL_RULES, PoolObservation)]
)
def test_each_observation_has_exactly_one_rule(rules: object, names: object) -> None:
    assert [rule.observation for rule in rules] == list(names)  # type: ignore[attr-defined,call-overload]


def test_generated_nodes_reach_every_rule() -> None:
    reached = Counter(rule_for(NODE_RULES, NodeSituation(each)).observation for each in nodes())
    assert {each for each in NodeObservation if reached[each] < REACHED_MIN} == set()


def test_every_pool_reaches_a_rule_and_every_rule_is_reached() -> None:
    """There are 33 of them, so each is looked at."""
    reached = Counter(rule_for(POOL_RULES, each).observation for each in pools())
    assert set(reached) == set(PoolObservation)


def test_a_decided_node_carries_what_it_should_and_is_not_written_again() -> None:
    seen = 0
    for snapshot in nodes():
        for effect in decide(snapshot).effects:
            assert isinstance(effect, SetMarks)
            assert snapshot.node is not None
            assert effect.marks != snapshot.node.carried
            after = Node("n", "u", effect.marks)
            assert decide(NodeSnapshot(KEY, after, snapshot.listings)).effects == ()
            seen += 1
    assert seen > REACHED_MIN


def test_a_finalizer_goes_only_when_nothing_carries_the_uid() -> None:
    """Else the marks would outlive the only object that knows of them."""
    removed = [each for each in pools() if any(_removes(each))]
    assert removed
    for each in removed:
        assert each.pool is not None
        assert each.pool.is_deleting
        assert each.pool.has_finalizer
        assert not each.is_carried


def _removes(snapshot: PoolSnapshot) -> Iterator[bool]:
    return (isinstance(effect, RemoveFinalizer) for effect in decide(snapshot).effects)
