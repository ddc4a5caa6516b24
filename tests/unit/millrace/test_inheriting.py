"""Who does what was left or was on its way when channels end and others begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import pytest

from millrace import App
from millrace.graph import Graph
from millrace.runtime.assembling import Placed
from millrace.runtime.barriers import FINAL, WINDOW, Origin, Place, Route, Spot
from millrace.runtime.failing import Take, tuples_of
from millrace.runtime.frames import Kind, barrier_payload
from millrace.runtime.inheriting import Estate, inherited
from millrace.runtime.nodes import Node
from millrace.runtime.reading import Instance
from millrace.runtime.resuming import Kept, Peer, Position, SavedSender
from millrace.runtime.states import SavedOperator, SavedPe

SENDER, RECEIVER = 1, 2
ROUTE = Route(7, SENDER, 0, RECEIVER, 0)


@dataclass
class Number:
    key: str
    number: int


def numbers() -> Iterator[Number]:
    yield Number("a", 1)


def same(number: Number) -> Number:
    return number


def gone(number: Number) -> None:
    """Take it."""


def graph_of(**region: Any) -> Graph:
    app = App("tests::Inheriting")
    inside = app.source(numbers).parallel(3, **region, name="Region").map(same, name="Same")
    inside.end_parallel().sink(gone, name="Sink")
    return app.graph


BY_KEY, BY_TURNS = graph_of(key="key"), graph_of()
TO_ALL = graph_of(broadcast=True)


def placed(graph: Graph, channel: int, width: int) -> Placed:
    """The instance of the operator in the region."""
    [operator] = [each for each in graph.running if each.name == "Same"]
    path = graph.path(operator)
    instance = Instance(0, "Same", path, channels={0: (channel, width)})
    return Placed(instance, operator, Node("Same"), lambda _: True)


def frames(*batches: list[Number]) -> tuple[Kept, ...]:
    found, number = [], 0
    for batch in batches:
        found.append(Kept("e", number, len(batch), Kind.TUPLES, msgspec.msgpack.encode(batch)))
        number += len(batch)
    return tuple(found)


def sent(graph: Graph, channel: int, *batches: list[Number], **more: Any) -> SavedPe:
    """What the sender saved: batches on their way to a channel."""
    end = Place(placed(graph, 0, 1).instance.path, str(channel))
    sender = SavedSender("e", 99, frames(*batches), to=end, **more)
    return SavedPe(job=7, pe=SENDER, launch=1, outboxes=((ROUTE, sender),))


def taken_by(state: SavedPe, number: int) -> SavedPe:
    """The same PE, which has taken in what is in front of a number."""
    spot = Position(Origin(SENDER, 0, 0), (Spot("e", number),), is_exact=True)
    return msgspec.structs.replace(state, positions=(spot,))


def done(graph: Graph, width: int, *states: SavedPe, exact: tuple[int, ...]) -> list[list[int]]:
    """The numbers that each channel does now."""
    estate = Estate(states, frozenset(exact), frozenset({SENDER, RECEIVER}))
    found = [inherited(placed(graph, channel, width), estate).left for channel in range(width)]
    return [
        [number.number for each in left if isinstance(each, Take) for number in each.batch]
        for left in found
    ]


def lost(graph: Graph, width: int, *states: SavedPe, exact: tuple[int, ...], **more: Any) -> int:
    estate = Estate(states, frozenset(exact), frozenset({SENDER, RECEIVER}), **more)
    shares = [inherited(placed(graph, each, width), estate) for each in range(width)]
    return sum(each.lost + each.went_back for each in shares)


MANY = [Number(f"key{number}", number) for number in range(60)]
IS_GONE = SavedPe(job=7, pe=RECEIVER, launch=1)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("graph", [BY_KEY, BY_TURNS], ids=["by key", "by turns"])
def test_each_tuple_is_done_by_one_channel_in_order(graph: Graph, width: int) -> None:
    found = done(graph, width, sent(graph, 1, MANY[:30], MANY[30:]), exact=(SENDER,))
    assert sorted(chain.from_iterable(found)) == list(range(60))
    assert all(each == sorted(each) for each in found)
    assert sum(map(bool, found)) == (width if graph is BY_KEY else 1)


@pytest.mark.parametrize(("width", "expected"), [(3, [[], [0], []]), (2, [[], [0]]), (1, [[]])])
def test_a_tuple_that_all_channels_have_is_done_by_its_own_or_by_none(
    width: int, expected: list[list[int]]
) -> None:
    assert done(TO_ALL, width, sent(TO_ALL, 1, MANY[:1]), exact=(SENDER,)) == expected


def test_what_the_receiver_took_in_is_not_done_again_nor_a_part_of_a_frame() -> None:
    state = sent(BY_KEY, 0, MANY[:10], MANY[10:20], written=2, peer=Peer(1, "life"))
    exact = SENDER, RECEIVER
    assert done(BY_KEY, 1, state, taken_by(IS_GONE, 15), exact=exact) == [list(range(15, 20))]
    assert lost(BY_KEY, 1, state, taken_by(IS_GONE, 15), exact=exact) == 0


@pytest.mark.parametrize("width", [1, 2, 4])
def test_what_a_killed_receiver_may_have_taken_in_counts_as_lost_once(width: int) -> None:
    state = sent(BY_KEY, 2, MANY[:10], MANY[10:20], written=1, peer=Peer(1, "life"))
    found = done(BY_KEY, width, state, IS_GONE, exact=(SENDER,))
    assert sorted(chain.from_iterable(found)) == list(range(10, 20))
    assert lost(BY_KEY, width, state, IS_GONE, exact=(SENDER,)) == 10


def test_what_an_earlier_launch_was_sent_is_known_by_the_state_of_a_later_one() -> None:
    later = taken_by(msgspec.structs.replace(IS_GONE, launch=2), 10)
    state = sent(BY_KEY, 0, MANY[:10], MANY[10:20], written=2, peer=Peer(1, "life"))
    assert done(BY_KEY, 1, state, later, exact=(SENDER,)) == [list(range(10, 20))]
    assert lost(BY_KEY, 1, state, later, exact=(SENDER,)) == 0


def knows(graph: Graph, sender: int, in_hand: int, *, life: str = "life") -> SavedPe:
    """What a sender knows of the receiver, behind a connection of its own."""
    channel = str(sender % 3)
    end = Place(placed(graph, 0, 1).instance.path, channel)
    saved = SavedSender("e", 99, to=end, peer=Peer(1, life), in_hand=in_hand)
    route = Route(7, sender, 0, RECEIVER, sender)
    return SavedPe(job=7, pe=sender, launch=1, outboxes=((route, saved),))


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@pytest.mark.parametrize("graph", [BY_KEY, BY_TURNS, TO_ALL], ids=["by key", "by turns", "to all"])
def test_what_a_killed_receiver_had_in_hand_is_lost_once_as_its_peers_knew_it(
    graph: Graph, width: int
) -> None:
    """The highest number of those that know the same life; another life had as much beside it."""
    states = knows(graph, 1, 10), knows(graph, 4, 30), knows(graph, 5, 7, life="before")
    senders = tuple(each.pe for each in states)
    assert lost(graph, width, *states, exact=senders) == 37
    assert lost(graph, width, *states, exact=(*senders, RECEIVER)) == 0
    assert lost(graph, width, *states, exact=senders, counted=frozenset({RECEIVER})) == 0


def counts(state: SavedPe) -> SavedPe:
    """The same PE, with an operator that has state, behind the first one."""
    counted = {"Region.Counted": {"2": SavedOperator(groups={})}}
    return msgspec.structs.replace(state, operators=counted)


def saw(saved: SavedPe, tuples: int, *, launch: int = 1) -> SavedPe:
    """The same PE, which had taken in so many tuples when it saved its state."""
    taken = ((Origin(SENDER, 0, 0), tuples),)
    return msgspec.structs.replace(saved, taken=taken, launch=launch)


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_what_a_killed_receiver_took_in_since_it_saved_its_state_is_lost_once(width: int) -> None:
    """What the receiver had in hand is a part of it; what it took before its life is not."""
    known = {"peer": Peer(2, "life"), "in_hand": 8, "acknowledged": 40}
    state, gone = sent(BY_KEY, 2, MANY[:10], written=1, **known), counts(IS_GONE)
    assert lost(BY_KEY, width, state, saw(gone, 25, launch=2), exact=(SENDER,)) == 15 + 10
    assert lost(BY_KEY, width, state, saw(gone, 38, launch=2), exact=(SENDER,)) == 8 + 10
    assert lost(BY_KEY, width, state, saw(gone, 25, launch=1), exact=(SENDER,)) == 40 + 10


@pytest.mark.parametrize("is_stateful", [False, True])
def test_what_a_killed_receiver_without_state_processed_is_not_lost(is_stateful: bool) -> None:
    """Where nobody knows its state, that of those counts that have its channel now."""
    known = {"peer": Peer(1, "life"), "in_hand": 7, "acknowledged": 99}
    state, saved = sent(BY_KEY, 0, **known), saw(IS_GONE, 25)
    assert lost(BY_KEY, 1, state, saved, exact=(SENDER,)) == 7
    assert lost(BY_KEY, 1, state, counts(saved), exact=(SENDER,)) == 99 - 25
    estate = Estate((state,), frozenset({SENDER}), frozenset({SENDER, RECEIVER}))
    share = inherited(placed(BY_KEY, 0, 1), estate, has_state=is_stateful)
    assert share.lost + share.went_back == (99 if is_stateful else 7)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_what_an_operator_left_in_a_channel_that_is_no_more_is_done(width: int) -> None:
    path = placed(BY_KEY, 0, 1).instance.path
    left = SavedOperator(left=(("take", msgspec.msgpack.encode(MANY)),))
    state = SavedPe(job=7, pe=RECEIVER, launch=1, operators={path: {"2": left}})
    found = done(BY_KEY, width, state, exact=(RECEIVER,))
    assert sorted(chain.from_iterable(found)) == list(range(60))
    assert lost(BY_KEY, width, state, exact=()) == 60
    late = frozenset({RECEIVER})
    assert lost(BY_KEY, width, state, exact=(), counted=late) == 0, "it has counted them itself"


def test_a_window_is_ended_once_and_other_barriers_come_again_by_themselves() -> None:
    barriers = tuple(
        Kept("e", i, 1, Kind.BARRIER, barrier_payload(m)) for i, m in enumerate((WINDOW, FINAL))
    )
    state = sent(BY_KEY, 2)
    [(route, sender)] = state.outboxes
    state = msgspec.structs.replace(
        state, outboxes=((route, SavedSender("e", 2, barriers, to=sender.to)),)
    )
    estate = Estate((state,), frozenset({SENDER}), frozenset({SENDER, RECEIVER}))
    found = [inherited(placed(BY_KEY, channel, 2), estate).left for channel in range(2)]
    assert found == [[WINDOW], []]
    assert tuples_of(found[0]) == 0
