"""Checkpoints, hand-overs and stops of one PE do not disturb each other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from millrace.protocol import HandOver
from millrace.runtime.barriers import STOP, Barrier, Origin
from millrace.runtime.connections import Inlets
from millrace.runtime.endings import Ending
from millrace.runtime.nodes import Node
from millrace.runtime.quiescing import Parts, Quiescing, Reasons
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.state_names import StateName
from millrace.runtime.stores import Single
from planner.numbering.records import Fusion
from tests.unit.millrace import test_hand_over
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

pytestmark = pytest.mark.looptime


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    test_hand_over.GOT.clear()
    yield
    test_hand_over.GOT.clear()


class SlowCluster(Cluster):
    """Its hand-overs last for a second after all PEs have sealed."""

    async def _until_handed_over(self, deadline_s: float, generation: int) -> None:
        async with asyncio.timeout(deadline_s), self.changed:
            await self.changed.wait_for(lambda: self._is_over(generation))
        await asyncio.sleep(1.0)
        await super()._until_handed_over(deadline_s, generation)


@pytest.mark.parametrize("fusion", test_hand_over.FUSIONS)
async def test_a_pe_that_has_sealed_saves_no_checkpoint_and_takes_nothing_in(
    fusion: Fusion,
) -> None:
    app, store = test_hand_over.often, MemoryStore()
    async with SlowCluster(app, store=store, fusion=fusion) as cluster:
        await cluster.until(lambda: test_hand_over.is_done(2_000))
        news = await cluster.resize(Counting=5)
        assert news.gone == frozenset()
        await cluster.until(lambda: test_hand_over.is_done(10_000))
        test_hand_over.check(10_000)


async def test_a_stop_within_a_hand_over_does_not_wait_for_its_end() -> None:
    """The next launch hands over: it does so with peers that begin again as well."""
    store = MemoryStore()
    async with Cluster(test_hand_over.app, store=store) as cluster:
        await cluster.until(lambda: test_hand_over.is_done(1_000))
        strange = {pe: pod.launch + (pe == 0) for pe, pod in cluster.pods.items()}
        cluster.hand_over = HandOver(generation=2, pes=strange, deadline=0.0)
        cluster.tell()
        await asyncio.sleep(0.1)
        async with asyncio.timeout(1.0):
            assert await cluster.stop(1) is Ending.STOPPED, "PE 0 never brings its barrier"
        assert StateName(1, 1, "stopped") in store.kept


class _Counting:
    """An engine or receivers that count how often they are called to go on."""

    def __init__(self) -> None:
        self.times = 0

    def go_on(self, _after: Barrier, _until: Barrier | None = None) -> None:
        self.times += 1

    release = go_on


@pytest.mark.parametrize("kind", ["checkpoint", "hand-over"])
@pytest.mark.parametrize("is_newest_first", [True, False])
async def test_a_pe_that_quiesces_for_two_reasons_goes_on_when_the_last_one_is_over(
    kind: Literal["checkpoint", "hand-over"], *, is_newest_first: bool
) -> None:
    async with Cluster(test_hand_over.app) as cluster:
        await cluster.until(lambda: test_hand_over.is_done(1_000))
        every = [pod.running.begun.parts for pod in cluster.pods.values()]
        pairs = [(Reasons(), parts) for parts in every]
        for barrier in (Barrier(kind, 7), Barrier("checkpoint", 8)):
            for reasons, parts in pairs:
                await reasons.add(Quiescing(parts, barrier)).rest()
        done = [each.counts.given for parts in every for each in parts.engine.nodes]
        for reasons, _ in pairs:
            first, second = reasons
            reasons.over(second if is_newest_first else first)
        await asyncio.sleep(1.0)
        assert done == [each.counts.given for parts in every for each in parts.engine.nodes]
        for reasons, _ in pairs:
            reasons.over(*reasons)
        await cluster.until(lambda: test_hand_over.is_done(10_000))
        test_hand_over.check(10_000)


async def test_a_hand_over_that_waits_for_a_checkpoint_is_taken_back_without_ending_its_rest() -> (
    None
):
    parts: Any = _Counting()
    engine = Parts(parts, Inlets({}, ()), parts, ())
    Quiescing(engine, Barrier("hand-over", 2)).go_on()
    assert parts.times == 0


async def test_a_barrier_that_comes_after_its_hand_over_was_taken_back_makes_nothing_rest() -> None:
    node = Node("merged")
    node.inputs = 1
    node.go_on(Barrier("hand-over", 5))
    node.go_on(Barrier("checkpoint", 9))
    await node.take_barrier(Barrier("hand-over", 5))
    assert not node.saved
    await node.take_barrier(Barrier("hand-over", 6))
    assert list(node.saved) == [Barrier("hand-over", 6)]


async def test_of_barriers_that_nobody_expects_an_origin_has_the_newest_one_kept() -> None:
    origin, node = Origin(1, 0, 0), Node("merged")
    node.inputs = 1
    inlets = Inlets({0: node}, {origin})
    for generation in (*range(2, 1_000), 5):
        await inlets.take_barrier(origin, Barrier("hand-over", generation))
    assert inlets.early == {origin: Barrier("hand-over", 999)}
    await inlets.expect(Barrier("hand-over", 998))
    assert not node.saved
    await inlets.expect(Barrier("hand-over", 999))
    assert list(node.saved) == [Barrier("hand-over", 999)]
    assert not inlets.early


async def test_a_source_that_has_ended_keeps_its_state_where_a_stop_replaces_a_hand_over() -> None:
    """It passed no barrier of the hand-over on. Without state it would be read once more."""
    operator = next(e for e in test_hand_over.app.graph.operators if e.name == "Numbers")
    store = Single[Any](test_hand_over.Given, lambda: test_hand_over.Given(upto=7))
    source = SourceNode("Numbers", operator, lambda: iter(()), store)
    await source.run()
    source.hold(Barrier("hand-over", 2))
    source.go_on(Barrier("hand-over", 2), until=STOP)
    assert source.saved[STOP] == store.save()
