"""The benchmark of views: its facts, its threshold and its table."""

from __future__ import annotations

from loadtest.views import RATIO_MAX, Change, Turns, exceeded, render


def test_only_changes_of_pods_have_a_threshold() -> None:
    too_much = RATIO_MAX + 1
    changes = [
        Change("a pod is bound", 20.0, too_much, is_bounded=True),
        Change("a pod ends", 20.0, RATIO_MAX, is_bounded=True),
        Change("a Placement has a new message", 400.0, too_much, is_bounded=False),
    ]
    (problem,) = exceeded(changes)
    assert problem.startswith(f"a pod is bound: {too_much:.1f} units")


def test_the_table_shows_costs_and_turns_beside_their_aims() -> None:
    _, change, _, turn = render(
        [Change("a pod ends", 12.34, 2.1, is_bounded=True)], [Turns("the first fold", 1.6, 15.3)]
    ).splitlines()
    assert change.split() == ["a", "pod", "ends", "12.3", "2.1", "50"]
    assert turn.split() == ["the", "first", "fold", "1.60", "15.30", "20"]
