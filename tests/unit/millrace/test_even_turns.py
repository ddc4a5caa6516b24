"""A parallel region without a key is even, also for many producers that give few tuples each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from contracts.bundle_format import BundleLimits, open_bundle, pack
from millrace import App, channel
from millrace.runtime.assembling import assembled
from millrace.runtime.barriers import Barrier
from millrace.runtime.clock import SystemClock
from millrace.runtime.reading import Outside, Splitting, description_of
from millrace.runtime.splitting import Splitter
from planner.application.adl import read_application
from planner.numbering.records import Fusion
from tests.unit.planner.adl_writing import plan_of


@dataclass
class Number:
    value: int


class Found:
    """How many tuples each channel took."""

    def __init__(self) -> None:
        self.taken: Counter[tuple[int, int]] = Counter()

    def take(self, _: Number) -> None:
        mine = channel()
        self.taken[mine.index, mine.count] += 1


def few(count: int) -> Iterator[Number]:
    yield from map(Number, range(count))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [2, 5, 7, 50])
def test_many_channels_that_give_few_tuples_fill_all_channels_behind_them(
    count: int, width: int
) -> None:
    found, app = Found(), App("demo::Even")
    numbers = app.source(few, parallel=50, fn_kwargs={"count": count}).end_parallel()
    numbers.parallel(width).sink(found.take)
    app.run()
    assert found.taken.total() == 50 * count
    assert spread(found, width) <= count


def test_many_sources_that_give_one_tuple_fill_all_channels() -> None:
    found, app = Found(), App("demo::Even")
    first, *others = (app.source(few, fn_kwargs={"count": 1}) for _ in range(20))
    first.union(*others).parallel(10).sink(found.take)
    app.run()
    assert spread(found, 10) == 0


def test_regions_right_inside_of_each_other_fill_all_inner_channels() -> None:
    found, app = Found(), App("demo::Even")
    numbers = app.source(few, parallel=48, fn_kwargs={"count": 1}).end_parallel()
    numbers.parallel(4, name="Outer").parallel(4, name="Inner").sink(found.take)
    app.run()
    assert spread(found, 16) == 0


apart = App("demo::Apart")
_numbers = apart.source(few, name="Few", parallel=6, fn_kwargs={"count": 1}).end_parallel()
_numbers.parallel(3).sink(print, name="Sink")


@pytest.mark.parametrize("launch", [1, 2])
async def test_pes_fill_all_channels_and_begin_at_the_next_one_when_they_are_launched_again(
    launch: int,
) -> None:
    application = read_application(open_bundle(pack(apart.adl()), BundleLimits()))
    plan = plan_of(application, Fusion("legacy"))
    texts = [plan.aadls[each.id].encode() for each in plan.record.pes]
    first = [found for text in texts for found in [await first_channel(text, launch)] if found]
    assert sorted(first) == [(each, (each + launch) % 3) for each in range(6)]


async def first_channel(text: bytes, launch: int) -> tuple[int, int] | None:
    """Which source it is that runs in a PE, and the channel that gets its first tuple."""
    description = description_of(text)
    instance = description.operators[0]
    if instance.path != "Few":
        return None
    ports = {each.id: Kept() for each in description.outputs}
    made = assembled(
        description, apart.graph, SystemClock(), lambda port, _: ports[port.id], launch
    )
    await made.placed[0].node.send([Number(1)])
    (goal,) = instance.goals
    assert isinstance(goal, Splitting)
    outs = [out for (out,) in goal.channels if isinstance(out, Outside)]
    (taken,) = [number for number, out in enumerate(outs) if ports[out.port].batches]
    return instance.global_channel[0], taken


class Kept:
    """What an output port was given."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Number]] = []

    async def take(self, batch: Sequence[Number]) -> None:
        self.batches.append(batch)

    async def take_barrier(self, barrier: Barrier) -> None:
        raise NotImplementedError


def test_channels_take_turns_from_the_first_one_on() -> None:
    splitter = Splitter("RoundRobin", 3, 128, turn=7)
    assert splitter.split(["a", "b"]) == [[], ["a"], ["b"]]
    assert splitter.split(["c", "d"]) == [["c"], ["d"], []]


def spread(found: Found, width: int) -> int:
    """The difference of the channel that took most and the one that took least."""
    counts = [found.taken[each, width] for each in range(width)]
    return max(counts) - min(counts)
