"""Which state a launch begins with: a table of cases by the rules of `choosing.py`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from millrace.protocol import HandOver
from millrace.runtime.choosing import (
    Await,
    Choice,
    Fresh,
    Generations,
    Handed,
    Own,
    SealAgain,
    choose,
    removable,
)
from millrace.runtime.state_names import StateName, parsed

ME = 4


def state(text: str) -> StateName:
    """`4/2 handover 5`, `4/2 stopped`: PE and launch, kind, number."""
    place, kind, *number = text.split()
    pe, launch = map(int, place.split("/"))
    return StateName(pe, launch, kind, int(number[0]) if number else 0)  # type: ignore[arg-type]


def states(*texts: str) -> tuple[StateName, ...]:
    return tuple(map(state, texts))


def hand_over(**named: object) -> HandOver:
    """To generation 5, of PEs 2 (launch 1) and 4 (launch 2), sealed and complete."""
    fields: dict[str, object] = {
        "generation": 5,
        "pes": {2: 1, 4: 2},
        "deadline": 0.0,
        "sealed": {2: 1, 4: 2},
        "complete": True,
    }
    return HandOver(**fields | named)  # type: ignore[arg-type]


SEALS = states("2/1 handover 5", "4/2 handover 5")
HANDED = Handed(5, SEALS)
OTHERS = {"pes": {2: 1, 3: 6}, "sealed": {2: 1, 3: 6}}
NEW = Generations(planned=5, in_force=5)
"""Those of a launch of the plan that a hand-over is for."""
OLD = Generations(planned=4, in_force=4)
"""Those of a launch of the plan before the hand-over."""
OF_OTHERS = Handed(5, states("2/1 handover 5", "3/6 handover 5"))

CASES: Sequence[tuple[str, HandOver | None, int, tuple[StateName, ...], Choice]] = [
    ("the first launch of a job has nothing", None, 1, (), Fresh()),
    (
        "a stopped launch is gone on with exactly",
        None,
        3,
        states("4/2 stopped", "4/2 checkpoint 9"),
        Own(state("4/2 stopped"), is_exact=True),
    ),
    (
        "a launch that was killed is gone on with from its newest checkpoint",
        None,
        3,
        states("4/1 stopped", "4/2 checkpoint 2", "4/2 checkpoint 10"),
        Own(state("4/2 checkpoint 10"), is_exact=False),
    ),
    (
        "the stop of a launch before the last is exact: the last one did not begin",
        None,
        4,
        states("4/2 stopped", "4/2 checkpoint 3"),
        Own(state("4/2 stopped"), is_exact=True),
    ),
    (
        "a newer checkpoint wins over the stop of an older launch",
        None,
        4,
        states("4/2 stopped", "4/3 checkpoint 0"),
        Own(state("4/3 checkpoint 0"), is_exact=False),
    ),
    (
        "states of other PEs and of newer launches do not count",
        None,
        2,
        states("3/1 stopped", "4/3 stopped"),
        Fresh(),
    ),
    (
        "the launch after a hand-over takes what all have sealed",
        hand_over(),
        3,
        states("4/2 handover 5", "4/2 checkpoint 7"),
        HANDED,
    ),
    ("a launch that skipped a number takes it, too", hand_over(), 4, SEALS, HANDED),
    (
        "a launch waits for a hand-over under way",
        hand_over(complete=False, sealed={2: 1}),
        3,
        states("4/2 checkpoint 7"),
        Await(5),
    ),
    (
        "once the PE has saved something since the hand-over, that counts",
        hand_over(),
        4,
        (*SEALS, *states("4/3 checkpoint 0")),
        Own(state("4/3 checkpoint 0"), is_exact=False),
    ),
    (
        "a stop since the hand-over is exact, as ever",
        hand_over(),
        4,
        (*SEALS, *states("4/3 checkpoint 0", "4/3 stopped")),
        Own(state("4/3 stopped"), is_exact=True),
    ),
    ("a new PE takes from a hand-over of others", hand_over(**OTHERS), 1, (), OF_OTHERS),
    (
        "a new PE waits for a hand-over of others",
        hand_over(**OTHERS, complete=False),
        1,
        (),
        Await(5),
    ),
    (
        "a PE that a hand-over does not affect goes on with its own",
        hand_over(**OTHERS, complete=False),
        3,
        states("4/2 stopped"),
        Own(state("4/2 stopped"), is_exact=True),
    ),
    (
        "the seal for a hand-over that was superseded is not exact",
        hand_over(**OTHERS),
        3,
        states("4/2 handover 4"),
        Own(state("4/2 handover 4"), is_exact=False),
    ),
    (
        "a launch went on after its seal, so its checkpoint is newer",
        hand_over(**OTHERS),
        3,
        states("4/2 handover 4", "4/2 checkpoint 1"),
        Own(state("4/2 checkpoint 1"), is_exact=False),
    ),
    (
        "a PE that is gone is replaced by its newest state",
        hand_over(sealed={4: 2}, gone=frozenset({2})),
        3,
        states("2/1 checkpoint 1", "2/1 checkpoint 3", "2/2 checkpoint 0", "4/2 handover 5"),
        Handed(5, states("4/2 handover 5"), states("2/1 checkpoint 3")),
    ),
    (
        "a PE that was gone when the deadline passed, and stopped then, is replaced by that",
        hand_over(sealed={2: 1}, gone=frozenset({4})),
        3,
        states("4/2 checkpoint 3", "4/2 stopped"),
        Handed(5, states("2/1 handover 5"), states("4/2 stopped")),
    ),
    (
        "a PE that is gone without any state is named",
        hand_over(sealed={4: 2}, gone=frozenset({2})),
        3,
        (),
        Handed(5, states("4/2 handover 5"), lost=(2,)),
    ),
    (
        "a seal of another generation or launch is no seal of this hand-over",
        hand_over(),
        3,
        states("2/1 handover 4", "2/2 handover 5", "4/2 handover 4"),
        HANDED,
    ),
]


@pytest.mark.parametrize(
    ("newest", "launch", "names", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_launch_loads(
    newest: HandOver | None, launch: int, names: tuple[StateName, ...], expected: Choice
) -> None:
    assert choose(newest, ME, launch, names, NEW) == expected
    assert choose(newest, ME, launch, names[::-1], NEW) == expected


@pytest.mark.parametrize(
    ("newest", "names", "expected"),
    [
        pytest.param(
            hand_over(complete=False, sealed={2: 1}),
            states("4/1 checkpoint 9", "4/2 stopped"),
            Own(state("4/2 stopped"), is_exact=True),
            id="goes on from its own state, and hands over itself",
        ),
        pytest.param(
            hand_over(complete=False, sealed={}), (), Fresh(), id="may have nothing to load"
        ),
        pytest.param(
            hand_over(complete=False),
            states("4/2 handover 5"),
            Await(5),
            id="ends if its PE sealed",
        ),
        pytest.param(
            hand_over(complete=False, sealed={}, gone=frozenset({4})),
            states("4/2 stopped"),
            Await(5),
            id="ends if its PE had its time",
        ),
        pytest.param(
            hand_over(sealed={}, gone=frozenset({2, 4})),
            states("4/2 stopped"),
            Await(5),
            id="ends if the hand-over is complete",
        ),
        pytest.param(
            hand_over(complete=False, sealed={}),
            states("4/2 handover 5", "4/2 checkpoint 8"),
            SealAgain(state("4/2 handover 5")),
            id="seals again where the report of the seal was lost",
        ),
        pytest.param(
            hand_over(complete=False, sealed={}),
            states("4/2 handover 4"),
            Own(state("4/2 handover 4"), is_exact=False),
            id="does not seal again for another generation",
        ),
        pytest.param(
            hand_over(**OTHERS, complete=False),
            states("4/2 stopped"),
            Own(state("4/2 stopped"), is_exact=True),
            id="goes on if the hand-over does not name it",
        ),
    ],
)
def test_a_launch_of_the_plan_before_a_hand_over(
    newest: HandOver, names: tuple[StateName, ...], expected: Choice
) -> None:
    assert choose(newest, ME, 2, names, OLD) == expected
    assert choose(newest, ME, 2, names[::-1], OLD) == expected


def test_a_launch_waits_until_the_hand_over_names_it_instead_of_the_last_one() -> None:
    """Else it would give tuples behind the barrier that its peers have from the last one."""
    news = hand_over(complete=False, sealed={})
    names = states("4/2 stopped")
    assert choose(news, ME, 3, names, OLD) == Await(5)
    named = hand_over(complete=False, sealed={}, pes={2: 1, 4: 3})
    assert choose(named, ME, 3, names, OLD) == Own(names[0], is_exact=True)


def test_a_seal_that_was_made_again_is_no_state_to_go_on_from() -> None:
    """Its first launch stopped after it, and saved its connections as well."""
    newer = hand_over(generation=6, pes={4: 3}, complete=False, sealed={})
    names = states("4/2 handover 5", "4/2 stopped", "4/3 handover 5")
    expected = Own(state("4/2 stopped"), is_exact=True)
    assert choose(newer, ME, 3, names, OLD) == expected
    assert choose(newer, ME, 3, names[::-1], OLD) == expected


def test_a_hand_over_is_exact_when_all_have_sealed() -> None:
    assert HANDED.is_exact
    assert not Handed(5, SEALS, fallbacks=states("2/1 checkpoint 1")).is_exact
    assert not Handed(5, SEALS, lost=(2,)).is_exact


# ---------------------------------------------------------------- what is removed


def test_the_newest_states_stay() -> None:
    names = states("4/1 checkpoint 8", "4/1 stopped", "4/2 checkpoint 0", "4/2 checkpoint 1")
    assert removable(None, ME, names) == states("4/1 checkpoint 8", "4/1 stopped")
    assert removable(None, ME, names[:2]) == ()


def test_seals_that_others_load_stay_and_older_ones_go() -> None:
    names = states(
        "4/1 handover 3", "4/2 handover 5", "4/3 checkpoint 0", "4/3 checkpoint 1", "4/3 handover 6"
    )
    assert removable(hand_over(), ME, names) == states("4/1 handover 3")


def test_without_a_known_hand_over_all_seals_stay() -> None:
    names = states("4/1 handover 3", "4/3 checkpoint 0", "4/3 checkpoint 1")
    assert removable(None, ME, names) == ()


def test_what_stands_for_a_seal_that_was_not_made_stays() -> None:
    gone = hand_over(sealed={2: 1}, gone=frozenset({4}))
    names = states("4/2 checkpoint 1", "4/2 checkpoint 2", "4/3 checkpoint 0", "4/3 checkpoint 1")
    assert removable(gone, ME, names) == states("4/2 checkpoint 1")


def test_states_of_other_pes_are_never_removed() -> None:
    assert removable(None, ME, states(*(f"3/1 checkpoint {n}" for n in range(9)))) == ()


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_a_launch_loads_is_never_removed(
    case: tuple[str, HandOver | None, int, tuple[StateName, ...], Choice],
) -> None:
    _, newest, launch, names, expected = case
    gone = {name for pe in (2, 3, 4) for name in removable(newest, pe, names)}
    kept = [name for name in names if name not in gone]
    assert choose(newest, ME, launch, kept, NEW) == expected


# ---------------------------------------------------------------- names


def test_a_name_is_a_path_and_back() -> None:
    for text in ("4/2 handover 5", "4/2 stopped", "0/0 checkpoint 12"):
        assert parsed(state(text).path) == state(text)
    assert state("4/2 handover 5").path == "pe-4/launch-2/handover-5.state"
    assert state("4/2 stopped").path == "pe-4/launch-2/stopped.state"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "pe-4/launch-2/stopped.state.tmp",
        "pe-4/launch-2/.stopped.state",
        "pe-04/launch-2/stopped.state",
        "pe-4/launch-2/checkpoint.state",
        "pe-4/launch-2/checkpoint--1.state",
        "../pe-4/launch-2/stopped.state",
        "pe-4/launch-2/stopped.state\n",
        "pe-4/launch-²/stopped.state",
        "pe-9999999999/launch-2/stopped.state",
    ],
)
def test_other_paths_are_no_states(path: str) -> None:
    assert parsed(path) is None


def test_a_launch_of_a_plan_that_is_not_in_force_waits_for_its_hand_over() -> None:
    own = states("4/2 handover 5")
    assert choose(None, ME, 3, own, Generations(5, 4)) == Await(5)
    older = hand_over(generation=4, pes={4: 1}, sealed={4: 1})
    assert choose(older, ME, 3, own, Generations(5, 4)) == Await(5)


def test_a_new_pe_of_a_resize_without_hand_over_takes_nothing_of_an_older_one() -> None:
    assert choose(hand_over(**OTHERS), ME, 1, (), Generations(6, 6)) == Fresh()


def test_a_seal_that_came_after_the_deadline_stands_for_nothing() -> None:
    """A PE that was frozen saves it when others may have loaded its last checkpoint already.

    It says only that its PE counts itself what it had in hand.
    """
    news = hand_over(sealed={4: 2}, gone=frozenset({2}))
    names = states("2/1 checkpoint 0", "2/1 handover 5")
    late = states("2/1 handover 5")
    is_late = frozenset({2})
    seals, fallbacks = states("4/2 handover 5"), states("2/1 checkpoint 0")
    assert choose(news, ME, 3, names, NEW) == Handed(5, seals, fallbacks, late=is_late)
    assert choose(news, ME, 3, late, NEW) == Handed(5, seals, lost=(2,), late=is_late)
    assert states("2/1 checkpoint 0")[0] not in removable(news, 2, names)


def test_a_seal_of_a_replaced_hand_over_stands_for_one_that_was_not_made() -> None:
    news = hand_over(sealed={4: 2}, gone=frozenset({2}))
    older = states("2/1 handover 4")
    assert choose(news, ME, 3, older, NEW) == Handed(5, states("4/2 handover 5"), fallbacks=older)


def test_a_seal_that_was_made_again_does_not_hide_the_hand_over_that_it_is_for() -> None:
    """The first seal counted as well: the report of it was late, and not lost."""
    news = hand_over(pes={4: 2, 2: 1}, sealed={4: 2, 2: 1}, complete=True)
    own = states("4/2 handover 5", "4/2 stopped", "4/3 handover 5")
    assert choose(news, ME, 4, own, NEW) == Handed(5, states("2/1 handover 5", "4/2 handover 5"))
    began = (*own, *states("4/4 checkpoint 0"))
    assert choose(news, ME, 5, began, NEW) == Own(state("4/4 checkpoint 0"), is_exact=False)
