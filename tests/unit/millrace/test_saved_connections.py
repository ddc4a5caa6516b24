"""A PE saves where all of its connections stand, and who takes what they bring."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from millrace.runtime.barriers import Barrier, Origin, Place, Route
from millrace.runtime.lives import Taken
from millrace.runtime.resuming import Peer, SavedSender
from millrace.runtime.saving import Identity, saved_at

INSIDE, OUTSIDE = 1, 2
BARRIERS = [Barrier("hand-over", 1), Barrier("checkpoint", 1)]
BEFORE = Taken(7, Peer(0, "before"))


def parts() -> Any:
    """What moves tuples in PE 3, which has a peer inside of the hand-over and one outside."""
    origins = [Origin(pe, 0, 0) for pe in (INSIDE, OUTSIDE)]
    receivers = SimpleNamespace(
        positions=lambda: tuple(SimpleNamespace(origin=each) for each in origins),
        tuples=lambda origin: 10 * origin.pe,
        life="life",
        former=lambda: {origins[1]: BEFORE},
    )
    senders = [
        SimpleNamespace(
            route=Route(0, 3, 0, pe, 0),
            save=lambda *, final: SavedSender("epoch", 0, written=int(final)),
        )
        for pe in (INSIDE, OUTSIDE)
    ]
    inlets = SimpleNamespace(origins=origins, ended=set(origins))
    return SimpleNamespace(receivers=receivers, senders=senders, inlets=inlets)


@pytest.mark.parametrize("barrier", BARRIERS, ids=lambda barrier: barrier.kind)
def test_all_connections_are_saved_in_both_directions(barrier: Barrier) -> None:
    """Those to a PE of the hand-over go on, as its next launch may need the barrier again."""
    place = Place("Counted", "2")
    routes = {pe: Route(0, 3, 0, pe, 0) for pe in (INSIDE, OUTSIDE)}
    who = Identity(0, 3, 1, 1)
    saved = saved_at(who, (), barrier, parts(), {routes[INSIDE]: place}, frozenset({INSIDE}))
    origins = [Origin(pe, 0, 0) for pe in (INSIDE, OUTSIDE)]
    assert [each.origin for each in saved.positions] == origins
    assert saved.taken == ((origins[0], 10), (origins[1], 20))
    assert [saved.took(each) for each in origins] == [Taken(10, Peer(1, "life")), BEFORE]
    assert saved.ended == tuple(origins)
    found = {route: (each.written, each.to) for route, each in saved.outboxes}
    is_last = barrier.kind != "checkpoint"
    assert found == {routes[INSIDE]: (0, place), routes[OUTSIDE]: (int(is_last), None)}
