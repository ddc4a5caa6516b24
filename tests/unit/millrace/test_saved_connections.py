"""A PE saves where the connections of peers go on that do not hand over with it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from millrace.runtime.marks import Mark, Origin, Route
from millrace.runtime.saving import Identity, saved_at

INSIDE, OUTSIDE = 1, 2
MARKS = [Mark("hand-over", 1), Mark("checkpoint", 1)]


def parts() -> Any:
    """What moves tuples in PE 3, which has a peer inside of the hand-over and one outside."""
    origins = [Origin(pe, 0, 0) for pe in (INSIDE, OUTSIDE)]
    receivers = SimpleNamespace(
        positions=lambda: [SimpleNamespace(origin=each) for each in origins],
        tuples=lambda origin: 10 * origin.pe,
    )
    senders = [
        SimpleNamespace(route=Route(0, 3, 0, pe, 0), save=lambda *, final: ("saved", final))
        for pe in (INSIDE, OUTSIDE)
    ]
    inlets = SimpleNamespace(origins=origins, ended=set(origins))
    return SimpleNamespace(receivers=receivers, senders=senders, inlets=inlets)


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.kind)
def test_of_connections_those_that_stay_are_saved_in_both_directions(mark: Mark) -> None:
    """Those inside begin again: new owners know nothing of them."""
    saved = saved_at(Identity(0, 3, 1, 1), (), mark, parts(), frozenset({OUTSIDE}))
    origin = Origin(OUTSIDE, 0, 0)
    assert [each.origin for each in saved.positions] == [origin]
    assert saved.taken == ((origin, 20),)
    assert saved.ended == (origin,)
    is_final: Any = ("saved", mark.kind != "checkpoint")
    assert saved.outboxes == ((Route(0, 3, 0, OUTSIDE, 0), is_final),)
