"""What a launch begins with, read from its store."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.runtime.endings import StateRefused
from millrace.runtime.saving import Loaded, Loading
from millrace.runtime.seen import HandOver, Seen
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import FileStore, NoStore, StateMissing
from millrace.runtime.states import SavedPe, encoded


def seen(*, complete: bool = True) -> Seen:
    """A hand-over to generation 5, of PE 4 in launch 1."""
    hand_over = HandOver(
        generation=5, pes={4: 1}, deadline=0.0, sealed={4: 1} if complete else {}, complete=complete
    )
    return Seen(version="v", job_id=7, job_uid="uid", launch=2, hand_over=hand_over)


async def test_without_a_store_a_launch_begins_without_state_after_a_hand_over() -> None:
    assert await Loading(NoStore(), 4, 2, 5).loaded(seen()) == Loaded()
    assert await Loading(NoStore(), 4, 2, 5).loaded(seen(complete=False)) is None


async def test_a_launch_begins_with_the_seals_of_a_hand_over(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    state = SavedPe(job=7, pe=4, launch=1, generation=5)
    await store.write(StateName(4, 1, "handover", 5), encoded(state))
    loaded = await Loading(store, 4, 2, 5).loaded(seen())
    assert isinstance(loaded, Loaded)
    assert (loaded.own, loaded.is_exact, loaded.is_handed) == (state, True, True)


async def test_no_older_state_is_loaded_in_the_place_of_one_that_is_damaged(
    tmp_path: Path,
) -> None:
    """It would give results again, and lose tuples that nobody can count."""
    store = FileStore(tmp_path)
    older, newest = StateName(4, 1, "checkpoint", 7), StateName(4, 1, "stopped")
    state = encoded(SavedPe(job=7, pe=4, launch=1))
    await store.write(older, state)
    await store.write(newest, state[:-1])
    news = Seen(version="v", job_id=7, job_uid="uid", launch=2, in_force=5)
    with pytest.raises(StateRefused, match=r"launch-1/stopped\.state is damaged"):
        await Loading(store, 4, 2, 5).loaded(news)
    (tmp_path / newest.path).rename(tmp_path / "aside")
    loaded = await Loading(store, 4, 2, 5).loaded(news)
    assert isinstance(loaded, Loaded)
    assert (loaded.own is not None, loaded.is_exact) == (True, False)


async def test_a_seal_that_is_not_in_the_store_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(StateMissing, match="handover-5"):
        await Loading(FileStore(tmp_path), 4, 2, 5).loaded(seen())
