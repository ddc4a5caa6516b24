"""Which marks a node gets, keeps and loses: a table of situations."""

from __future__ import annotations

from itertools import permutations

import pytest

from contracts.reasons import Reason
from services.node_tainter.core.deciding import decide
from services.node_tainter.core.effects import AddFinalizer, RemoveFinalizer, SetMarks
from services.node_tainter.core.snapshot import Marks, NodeSnapshot, Pool, PoolKey, exclusive_taint
from tests.unit.node_tainter.situations import (
    LATE,
    NOTHING,
    around,
    carrying,
    effects_of,
    exclusive,
    labelled,
    marked,
    of_pool,
    plain,
)

A, B, L = exclusive("a"), exclusive("b"), labelled("l")
A_HOLDS = carrying("a", a="0")
GOING = exclusive("a", is_deleting=True)
UNSECURED = exclusive("a", has_finalizer=False)
OTHER_EFFECT = exclusive_taint("a", effect="NoExecute")

SITUATIONS: dict[str, tuple[NodeSnapshot, Marks | None]] = {
    "a member of an exclusive pool gets taint and label": (
        around(NOTHING, (A, 3)),
        carrying("a", a="3"),
    ),
    "a member of a labelled shared pool gets its label only": (
        around(NOTHING, (L, 1)),
        carrying(l="1"),
    ),
    "a member of a shared pool gets nothing": (around(NOTHING, (plain("p"), 0)), None),
    "a node that carries what it should is left alone": (around(A_HOLDS, (A, 0)), None),
    "a node that nobody lists and that carries nothing is left alone": (around(NOTHING), None),
    "a node that is gone is left alone": (around(NOTHING, (A, 0), is_there=False), None),
    "labels of shared pools stand beside an exclusive one": (
        around(NOTHING, (A, 0), (L, 7)),
        carrying("a", a="0", l="7"),
    ),
    "a taint removed by hand is put back": (around(carrying(a="0"), (A, 0)), A_HOLDS),
    "a label removed by hand is put back": (around(carrying("a"), (A, 0)), A_HOLDS),
    "a label altered by hand is put right": (around(carrying("a", a="9"), (A, 0)), A_HOLDS),
    "a place that moved is set again": (around(A_HOLDS, (A, 5)), carrying("a", a="5")),
    "a taint whose effect was altered is put right": (
        around(carrying(OTHER_EFFECT, a="0"), (A, 0)),
        A_HOLDS,
    ),
    "a taint with another effect beside the right one goes": (
        around(carrying("a", OTHER_EFFECT, a="0"), (A, 0)),
        A_HOLDS,
    ),
    "a taint without a value goes": (around(carrying("")), NOTHING),
    "a taint with a value that is nobody's goes": (around(carrying("nobody")), NOTHING),
    "a taint of a pool that is not exclusive goes": (
        around(carrying("l", l="1"), (L, 1)),
        carrying(l="1"),
    ),
    "the other owner's taint wins although our pool is older": (
        around(carrying("b", b="0"), (A, 0), (exclusive("b", created=LATE), 0)),
        None,
    ),
    "the winner's label is put back and the loser gets none": (
        around(carrying("b", a="0"), (A, 0), (B, 2)),
        carrying("b", b="2"),
    ),
    "the taint of an owner that lists the node no more is replaced in one patch": (
        around(A_HOLDS, (A, None), (B, 0)),
        carrying("b", b="0"),
    ),
    "the taint of an owner that is being deleted is replaced in one patch": (
        around(A_HOLDS, (GOING, 0), (B, 0)),
        carrying("b", b="0"),
    ),
    "the taint of an owner that nobody told of is replaced in one patch": (
        around(A_HOLDS, (B, 0)),
        carrying("b", b="0"),
    ),
    "of two that want an untainted node the earlier gets it": (
        around(NOTHING, (exclusive("a", created=LATE), 0), (B, 0)),
        carrying("b", b="0"),
    ),
    "of two that were created at once the smaller uid gets it": (
        around(NOTHING, (B, 0), (A, 0)),
        A_HOLDS,
    ),
    "a taint with another effect still says whose the node was": (
        around(
            carrying(exclusive_taint("b", effect="NoExecute")),
            (A, 0),
            (exclusive("b", created=LATE), 1),
        ),
        carrying("b", b="1"),
    ),
    "of two taints the one that keeps pods out says whose the node is": (
        around(carrying(exclusive_taint("a", effect="NoExecute"), "b"), (A, 0), (B, 1)),
        carrying("b", b="1"),
    ),
    "the marks of a pool that is being deleted go": (around(A_HOLDS, (GOING, 0)), NOTHING),
    "the marks of a pool that lists the node no more go": (around(A_HOLDS, (A, None)), NOTHING),
    "the marks of a pool that nobody told of go": (around(A_HOLDS), NOTHING),
    "the label of a labelled pool that lists the node no more goes": (
        around(carrying(l="1"), (L, None)),
        NOTHING,
    ),
    "the marks of a pool that marks no longer go": (around(A_HOLDS, (plain("a"), 0)), NOTHING),
    "nothing is marked before the finalizer is there": (around(NOTHING, (UNSECURED, 0)), None),
    "what is marked stays while the finalizer is put back": (around(A_HOLDS, (UNSECURED, 0)), None),
    "what is missing waits for the finalizer": (around(carrying(a="0"), (UNSECURED, 0)), None),
    "a label goes to a pool that has its finalizer, beside one that has not": (
        around(NOTHING, (UNSECURED, 0), (L, 4)),
        carrying(l="4"),
    ),
    "an old owner's marks go before the new one has its finalizer": (
        around(carrying("b", b="0"), (UNSECURED, 0)),
        NOTHING,
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_marks_of_a_node_follow_from_what_is_known(situation: str) -> None:
    """Each situation says what the node carries afterwards, or that it is left alone."""
    snapshot, wanted = SITUATIONS[situation]
    assert marked(snapshot) == wanted


@pytest.mark.parametrize("situation", SITUATIONS)
def test_what_was_decided_stands_once_it_is_done(situation: str) -> None:
    """A second decision on the result writes nothing: no two patches undo each other."""
    snapshot, wanted = SITUATIONS[situation]
    if wanted is not None:
        after = around(wanted, *((each.pool, each.place) for each in snapshot.listings))
        assert marked(after) is None


@pytest.mark.parametrize("carried", [NOTHING, A_HOLDS, carrying("b", b="0"), carrying("a", "b")])
def test_a_node_never_has_two_taints_of_ours(carried: Marks) -> None:
    """Whatever it carries, and whoever lists it."""
    pools = (A, B, exclusive("c", created=LATE))
    for listed in permutations((0, 1, None)):
        snapshot = around(carried, *zip(pools, listed, strict=True))
        after = marked(snapshot)
        assert len((after if after is not None else carried).taints) == 1


def test_an_unknown_owner_is_looked_for_before_its_marks_go() -> None:
    """It may live, and its fact be late."""
    (effect,) = effects_of(around(carrying("a", x="1")))
    assert isinstance(effect, SetMarks)
    assert (effect.believed_gone, effect.believed_left) == (("a", "x"), ())


def test_an_unknown_owner_is_looked_for_before_another_takes_the_node() -> None:
    (effect,) = effects_of(around(A_HOLDS, (B, 0)))
    assert isinstance(effect, SetMarks)
    assert effect.believed_gone == ("a",)


def test_a_pool_that_seems_to_have_left_is_looked_at_before_its_marks_go() -> None:
    """Its members may be newer than what was reported of them."""
    (effect,) = effects_of(around(A_HOLDS, (A, None)))
    assert isinstance(effect, SetMarks)
    assert (effect.believed_gone, effect.believed_left) == ((), (PoolKey("default", "pool-a"),))


def test_a_pool_that_is_being_deleted_needs_no_look() -> None:
    """A deletion cannot be taken back."""
    (effect,) = effects_of(around(A_HOLDS, (GOING, None)))
    assert isinstance(effect, SetMarks)
    assert (effect.believed_gone, effect.believed_left) == ((), ())


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        (around(NOTHING, (A, 0)), Reason.NODE_CLAIMED),
        (around(A_HOLDS), Reason.NODE_RELEASED),
        (around(A_HOLDS, (A, 0)), Reason.NOTHING_TO_CHANGE),
        (around(NOTHING, (UNSECURED, 0)), Reason.WAITING),
    ],
)
def test_a_decision_says_why(snapshot: NodeSnapshot, reason: Reason) -> None:
    assert decide(snapshot).reason == reason


# --------------------------------------------------------------------------- the finalizer


@pytest.mark.parametrize("pool", [UNSECURED, labelled("l", has_finalizer=False)])
def test_a_pool_that_marks_gets_its_finalizer(pool: Pool) -> None:
    assert effects_of(of_pool(pool)) == (AddFinalizer(pool.name, pool.uid),)


@pytest.mark.parametrize("is_carried", [False, True])
def test_a_pool_that_marks_nothing_gets_no_finalizer(is_carried: bool) -> None:
    """And keeps one that it has, until it is deleted."""
    assert effects_of(of_pool(plain("p"), is_carried=is_carried)) == ()
    assert effects_of(of_pool(plain("p", has_finalizer=True), is_carried=is_carried)) == ()


def test_a_deleted_pool_is_held_until_no_node_carries_its_uid() -> None:
    assert effects_of(of_pool(GOING, is_carried=True)) == ()
    assert effects_of(of_pool(GOING)) == (RemoveFinalizer("pool-a", "a"),)
    assert effects_of(of_pool(plain("p", is_deleting=True, has_finalizer=True))) == (
        RemoveFinalizer("pool-p", "p"),
    )


def test_a_deleted_pool_gets_no_finalizer_any_more() -> None:
    """The API would refuse it."""
    gone = exclusive("a", is_deleting=True, has_finalizer=False)
    assert effects_of(of_pool(gone)) == effects_of(of_pool(gone, is_carried=True)) == ()
    assert effects_of(of_pool(None)) == ()
