"""What waits is bounded by bytes as well as by tuples, wherever it waits; one tuple always passes.

Tuples that are alive are counted with their bytes. Payloads are zeros, which take no memory.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from millrace import App
from millrace.runtime.assembling import encoder_of
from millrace.runtime.barriers import FINAL, Barrier, Route
from millrace.runtime.clock import ManualClock
from millrace.runtime.connections import Outlet
from millrace.runtime.executing import execution_of
from millrace.runtime.failing import Stuck
from millrace.runtime.nodes import Node
from millrace.runtime.observing import _Tap
from millrace.runtime.queues import Queue
from millrace.runtime.sending import Sender
from millrace.runtime.weighing import BATCH_BYTES, STRETCH, WAITING_BYTES, Scale
from millrace.tuple_types import tuple_type

MB = 1_000_000
BLOB = 2 * MB
SMALL = 10_000
"""So many small tuples come before large ones."""
PLACE = WAITING_BYTES + BATCH_BYTES + 2 * BLOB
"""What one place may have, and what is handed on from it."""
UNWEIGHED = 2 * STRETCH * BLOB


@dataclass
class Blob:
    number: int
    data: bytes


@dataclass
class Number:
    number: int


@dataclass
class Flight:
    """Blobs that are alive: their bytes now, and at most."""

    bytes: int = 0
    most: int = 0
    made: int = 0
    lock: Any = field(default_factory=threading.RLock)

    def blob(self, number: int, size: int) -> Blob:
        """A blob that is counted until nobody has it."""
        found = Blob(number, bytes(size))
        weakref.finalize(found, self._gone, size)
        with self.lock:
            self.made += 1
            self.bytes += size
            self.most = max(self.most, self.bytes)
        return found

    def _gone(self, size: int) -> None:
        with self.lock:
            self.bytes -= size

    async def until_full(self, _: Any = None) -> None:
        """A slow sink: it returns once nothing more is made before it takes this tuple."""
        made = -1
        while made != self.made:
            made = self.made
            await asyncio.sleep(0.02)


class Slow:
    """A sink that is slow at some tuples, and keeps their numbers."""

    def __init__(self, flight: Flight, slow: Sequence[int]) -> None:
        self.flight = flight
        self.slow = frozenset(slow)
        self.numbers: list[int] = []

    async def __call__(self, blob: Blob) -> None:
        if blob.number in self.slow:
            await self.flight.until_full()
        self.numbers.append(blob.number)


Size = Callable[[int], int]


def same(_: int) -> int:
    return BLOB


def abrupt(number: int) -> int:
    return 10 if number < SMALL else BLOB


def mixed(number: int) -> int:
    return BLOB if number % 3 == 0 else 10


@pytest.mark.parametrize(("size", "slow"), [(same, 0), (abrupt, SMALL), (mixed, 0)])
def test_a_source_of_large_tuples_is_held_back(size: Size, slow: int) -> None:
    flight = Flight()

    def source() -> Iterator[Blob]:
        for number in range(slow + 600):
            yield flight.blob(number, size(number))

    app, sink = App("bytes::Source"), Slow(flight, (slow,))
    app.source(source).sink(sink)
    app.run()
    assert flight.most < 3 * PLACE + UNWEIGHED
    assert sink.numbers == list(range(slow + 600))


@pytest.mark.parametrize("size", [same, abrupt])
def test_an_async_source_of_large_tuples_is_held_back(size: Size) -> None:
    flight, first = Flight(), SMALL if size is abrupt else 0

    async def source() -> AsyncIterator[Blob]:
        for number in range(first + 300):
            yield flight.blob(number, size(number))

    app, sink = App("bytes::Async"), Slow(flight, (first,))
    app.source(source).sink(sink)
    app.run()
    assert flight.most < 3 * PLACE + UNWEIGHED
    assert sink.numbers == list(range(first + 300))


def test_several_sources_and_channels_have_a_place_each() -> None:
    flight, width = Flight(), 3

    def source() -> Iterator[Blob]:
        for number in range(300):
            yield flight.blob(number, BLOB)

    def unchanged(blob: Blob) -> Blob:
        return blob

    app, sink = App("bytes::Several"), Slow(flight, (0,))
    first, second = app.source(source, name="A"), app.source(source, name="B")
    first.union(second).parallel(width).map(unchanged).end_parallel().sink(sink)
    app.run()
    assert flight.most < (2 * 2 + width + 2) * PLACE
    assert sorted(sink.numbers) == sorted([*range(300)] * 2)


@pytest.mark.parametrize("kind", ["plain", "async"])
@pytest.mark.parametrize("size", [same, abrupt])
def test_a_function_makes_few_large_tuples_at_once(kind: str, size: Size) -> None:
    flight, first = Flight(), SMALL if size is abrupt else 0

    def source() -> Iterator[Number]:
        return map(Number, range(first + 600))

    def plain(number: Number) -> Blob:
        return flight.blob(number.number, size(number.number))

    async def later(number: Number) -> Blob:
        return plain(number)

    app, sink = App("bytes::Map"), Slow(flight, (first,))
    function: Any = plain if kind == "plain" else later
    app.source(source).map(function).sink(sink)
    app.run()
    assert flight.most < 2 * PLACE + UNWEIGHED
    assert sink.numbers == list(range(first + 600))


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_flat_map_makes_the_results_of_few_calls_at_once(kind: str) -> None:
    flight, each = Flight(), 20

    def source() -> Iterator[Number]:
        return map(Number, range(600))

    def plain(number: Number) -> Iterator[Blob]:
        size = 10 if number.number < 400 else BLOB // 2
        for place in range(each):
            yield flight.blob(number.number * each + place, size)

    async def later(number: Number) -> AsyncIterator[Blob]:
        for blob in plain(number):
            yield blob

    app, sink = App("bytes::FlatMap"), Slow(flight, (400 * each,))
    function: Any = plain if kind == "plain" else later
    app.source(source).flat_map(function).sink(sink)
    app.run()
    assert flight.most < 2 * PLACE + 2 * each * BLOB
    assert sink.numbers == list(range(600 * each))


def test_a_flat_map_makes_some_thousand_small_tuples_at_once() -> None:
    alive = most = 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    def many(number: Number) -> Iterator[Number]:
        nonlocal alive, most
        for place in range(500):
            found = Number(place)
            weakref.finalize(found, gone)
            alive += 1
            most = max(most, alive)
            yield found

    app = App("bytes::Many")
    app.source(lambda: map(Number, range(100)), returns=Number).flat_map(many).sink(lambda _: None)
    assert app.run()["many"].given == 50_000
    assert most <= 2 * 2_048 + 2 * 500


def test_a_tuple_larger_than_all_bounds_passes_alone() -> None:
    flight, size = Flight(), 4 * WAITING_BYTES

    def source() -> Iterator[Blob]:
        for number in range(30):
            yield flight.blob(number, size)

    def unchanged(blob: Blob) -> Blob:
        return blob

    app, sink = App("bytes::Huge"), Slow(flight, (0, 15))
    app.source(source).parallel(2).map(unchanged).end_parallel().sink(sink)
    app.run()
    assert flight.most <= 12 * size  # one at each place
    assert sorted(sink.numbers) == list(range(30))


@pytest.mark.parametrize("seed", range(5))
def test_tuples_of_any_size_come_in_order_and_once(seed: int) -> None:
    choice = random.Random(seed)
    sizes = [choice.choice((0, 10, 3_000, 200_000, BLOB)) for _ in range(400)]

    def source() -> Iterator[Blob]:
        for number, size in enumerate(sizes):
            yield Blob(number, bytes(size))

    def twice(blob: Blob) -> list[Blob]:
        return [blob, Blob(blob.number, bytes(sizes[-blob.number]))]

    async def later(blob: Blob) -> Blob:
        return Blob(blob.number, bytes(len(blob.data)))

    app, found = App("bytes::Any"), list[tuple[int, int]]()
    app.source(source).flat_map(twice).map(later).sink(
        lambda blob: found.append((blob.number, len(blob.data)))
    )
    app.run()
    pairs = [((n, size), (n, sizes[-n])) for n, size in enumerate(sizes)]
    assert found == list(itertools.chain.from_iterable(pairs))


@pytest.mark.parametrize("on_error", ["skip", "fail"])
async def test_a_heavy_function_that_cancels_its_task_leaves_nothing_out(on_error: Any) -> None:
    """It is a failure of its operator; what it has not processed is left."""

    def cancels(number: Number) -> Blob:
        if number.number == 1:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return Blob(number.number, bytes(BLOB))

    app = App("bytes::Cancels")
    stream = app.source(lambda: iter([Number(1)]), returns=Number).map(cancels, on_error=on_error)
    stream.sink(lambda _: None)
    [operator] = [each for each in app.graph.operators if each.name == "cancels"]
    execution = execution_of(operator, {}, ManualClock())
    batch = [Number(number) for number in range(1, 9)]
    try:
        given = await execution.given_by(execution.process, batch)
        left: Sequence[Any] = execution.unprocessed
    except Stuck as stuck:
        given = [*stuck.done]
        left = [item for each in stuck.left for item in each.batch]
    assert [each.number for each in (*given, *left)] == list(range(1, 9))
    assert left


# ---------------------------------------------------------------------- one place alone


def queue_of(type_: type, congestion: str = "wait") -> Queue:
    return Queue(congestion=congestion, scale=Scale(tuple_type(type_, "a test")))


async def test_a_queue_is_full_of_bytes() -> None:
    queue = queue_of(Blob)
    for number in range(3):
        await queue.put([Blob(number, bytes(BLOB))])
    putting = asyncio.create_task(queue.put([Blob(3, bytes(BLOB))]))
    await asyncio.sleep(0)
    assert not putting.done()
    assert queue.waits == 1
    assert WAITING_BYTES < queue.bytes < WAITING_BYTES + BLOB
    await queue.get()
    await putting
    await queue.put(FINAL)
    while await queue.get() != FINAL:
        pass
    assert queue.bytes == 0


@pytest.mark.parametrize(("congestion", "left"), [("dropFirst", [6, 7]), ("dropLast", [0, 1])])
async def test_a_queue_that_is_full_of_bytes_drops(congestion: str, left: list[int]) -> None:
    queue = queue_of(Blob, congestion)
    for number in range(8):
        await queue.put([Blob(number, bytes(BLOB))])
    assert queue.dropped == 6
    assert queue.bytes <= WAITING_BYTES
    await queue.put(FINAL)
    found: list[int] = []
    while not isinstance(item := await queue.get(), Barrier):
        found += [each.number for each in item]
    assert found == left


async def test_batches_whose_tuples_were_all_dropped_do_not_wait() -> None:
    """Before, each stayed as an empty one, as long as nobody took any: memory without a bound."""
    queue = Queue(10, "dropFirst")
    await queue.put(FINAL)
    for number in range(100):
        await queue.put([number] * 3)
    assert len(queue._items) == len(queue._sizes) == 5
    assert await queue.get() == FINAL
    batches = [await queue.get() for _ in range(4)]
    assert batches == [[96], [97] * 3, [98] * 3, [99] * 3]
    assert (queue.tuples, queue.bytes, queue.dropped) == (0, 0, 290)


@pytest.mark.parametrize("congestion", ["dropFirst", "dropLast"])
async def test_a_queue_that_drops_takes_one_tuple_larger_than_it(congestion: str) -> None:
    queue = queue_of(Blob, congestion)
    await queue.put([Blob(0, bytes(2 * WAITING_BYTES))])
    assert queue.tuples == 1
    assert queue.dropped == 0


async def test_what_waits_for_a_peer_is_encoded_in_small_parts() -> None:
    sender = Sender(Route(1, 2, 0, 3, 0), encoder_of(), 1)
    node = Node("port")
    node.scale = Scale(tuple_type(Blob, "a test"))
    node.targets = [Outlet([sender])]
    sending = asyncio.create_task(
        node.take([Blob(number, bytes(BLOB // 8)) for number in range(256)])
    )
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert WAITING_BYTES <= sender.unacknowledged_bytes <= WAITING_BYTES + BATCH_BYTES
    sending.cancel()


async def test_who_taps_keeps_few_large_tuples_and_at_least_one() -> None:
    tap = _Tap()
    await tap.take([Blob(0, bytes(4 * WAITING_BYTES)), Blob(1, b"")])
    items, left_out = await tap.read()
    assert ([each.number for each in items], left_out) == ([0], 1)
    await tap.take([Blob(number, bytes(BLOB)) for number in range(10)])
    items, left_out = await tap.read()
    assert ([each.number for each in items], left_out) == ([0, 1], 8)
