"""What a service keeps is frozen a little at a time, so that no collection takes long."""

from __future__ import annotations

import gc

from services.chassis.process.collecting import FROZEN_AT_ONCE, Freezing, freeze


def test_nothing_is_frozen_before_enough_is_kept() -> None:
    frozen: list[str] = []
    freezing = Freezing(lambda: frozen.append("all"))
    freezing.note_kept(FROZEN_AT_ONCE - 1)
    assert frozen == []
    freezing.note_kept(1)
    assert frozen == ["all"]


def test_what_is_kept_later_is_counted_from_nothing() -> None:
    frozen: list[str] = []
    freezing = Freezing(lambda: frozen.append("all"))
    for _ in range(5):
        freezing.note_kept(FROZEN_AT_ONCE // 2)
    assert len(frozen) == 2


def test_a_freeze_leaves_nothing_for_the_collector_and_no_garbage_in_what_is_frozen() -> None:
    class Cyclic:
        collected = 0

        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            Cyclic.collected += 1

    before = gc.get_freeze_count()
    Cyclic()
    freeze()
    try:
        assert Cyclic.collected == 1
        assert gc.get_freeze_count() >= before
        assert not any(isinstance(each, Freezing) for each in gc.get_objects())
    finally:
        gc.unfreeze()
