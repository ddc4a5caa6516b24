"""What a record says of the effects of a decision."""

from __future__ import annotations

from dataclasses import dataclass

from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.decision_log import decided_of, effects_recorded


@dataclass(frozen=True)
class Create:
    name: str


@dataclass(frozen=True)
class Delete:
    name: str


def test_an_effect_counts_once_and_one_of_another_type_beside_it() -> None:
    """Equal effects are carried out once; the fields alone do not say what an effect is."""
    assert decided_of([Create("a"), Create("a")]) == decided_of([Create("a")])
    assert [decided_of(each).count for each in ([Create("a"), Delete("a")], [])] == [2, 0]


def test_an_effect_is_recorded_with_its_outcome() -> None:
    effects = (Create("a"), Delete("b"))
    _, shown = effects_recorded(effects, CarriedOut([(effects[1], "deleted")]))
    assert [(each.name, each.subject, each.outcome) for each in shown] == [
        ("Delete", "b", "deleted")
    ]
