"""What a launch begins with, read from its store."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.protocol import HandOver, Seen
from millrace.runtime.endings import StateRefused
from millrace.runtime.gathering import Need
from millrace.runtime.loading import Loaded, Loading
from millrace.runtime.state_names import StateName
from millrace.runtime.state_stores import FileStore, NoStore, StateMissing
from millrace.runtime.states import SavedPe, encoded


def seen(*, complete: bool = True) -> Seen:
    """A hand-over to generation 5, of PE 4 in launch 1."""
    hand_over = HandOver(
        generation=5, pes={4: 1}, deadline=0.0, sealed={4: 1} if complete else {}, complete=complete
    )
    return Seen(version="v", job_id=7, job_uid="uid", launch=2, hand_over=hand_over)


OVERTAKEN = Seen(
    version="v",
    job_id=7,
    job_uid="uid",
    launch=2,
    hand_over=HandOver(generation=5, pes={4: 2, 3: 1}, deadline=0.0),
    in_force=4,
)
"""A newer hand-over, of PEs 3 and 4."""


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


async def test_a_pe_that_did_not_seal_goes_on_from_its_own_last_state(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    mine, other = SavedPe(job=7, pe=4, launch=1), SavedPe(job=7, pe=3, launch=1, instances={})
    await store.write(StateName(4, 1, "checkpoint", 7), encoded(mine))
    await store.write(StateName(3, 1, "handover", 5), encoded(other))
    gone = HandOver(generation=5, pes={3: 1, 4: 1}, deadline=0.0, sealed={3: 1}, complete=True)
    news = Seen(version="v", job_id=7, job_uid="uid", launch=2, hand_over=gone)
    loaded = await Loading(store, 4, 2, 5).loaded(news)
    assert isinstance(loaded, Loaded)
    assert (loaded.own, loaded.is_exact) == (mine, False)


async def test_a_damaged_state_of_another_pe_does_not_stop_one_that_does_not_need_it(
    tmp_path: Path,
) -> None:
    store = FileStore(tmp_path)
    mine = SavedPe(job=7, pe=4, launch=1, instances={"Counted": (((0, 2),),)})
    await store.write(StateName(4, 1, "handover", 5), encoded(mine))
    await store.write(StateName(3, 1, "handover", 5), b"damaged")
    await store.write(StateName(2, 1, "checkpoint", 5), b"damaged")
    sealed = {3: 1, 4: 1}
    news = HandOver(generation=5, pes={2: 1, **sealed}, deadline=0.0, sealed=sealed, complete=True)
    sees = Seen(version="v", job_id=7, job_uid="uid", launch=2, hand_over=news)
    needs = (Need("Counted", ((0, 2),), "groups"),)
    loaded = await Loading(store, 4, 2, 5, needs).loaded(sees)
    assert isinstance(loaded, Loaded)
    assert loaded.states == (mine,)
    wider = (Need("Counted", ((0, 1),), "groups"),)
    with pytest.raises(StateRefused, match="pe-3"):
        await Loading(store, 4, 2, 5, wider).loaded(sees)


@pytest.mark.parametrize(("plan", "begins"), [(4, True), (3, False), (None, True)])
async def test_a_launch_whose_plan_was_overtaken_before_it_began_takes_no_part_in_a_hand_over(
    tmp_path: Path, plan: int | None, begins: bool
) -> None:
    """What was for it is in seals that nobody names to it any more; others take them over."""
    store = FileStore(tmp_path)
    state = SavedPe(job=7, pe=4, launch=1, plan=plan)
    await store.write(StateName(4, 1, "stopped", 0), encoded(state))
    assert (await Loading(store, 4, 2, 4).loaded(OVERTAKEN) is not None) == begins


@pytest.mark.parametrize(("plan", "begins"), [(0, True), (4, False)])
async def test_what_a_width_added_that_was_overtaken_does_not_begin_with_nothing(
    tmp_path: Path, plan: int, begins: bool
) -> None:
    """Those of the first plan do: nothing was handed to them."""
    loading = Loading(FileStore(tmp_path), 4, 2, plan)
    assert (await loading.loaded(OVERTAKEN) is not None) == begins
