"""Views are folded from what changed, a little at a time, and equal a fresh fold."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest

from contracts.unreadable import Unreadable
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.chassis.table.tombstones import Ref
from services.chassis.table.viewing import FOLDED_AT_ONCE, View, Views

SMALL, LARGE, OTHER = "Small", "Large", "Other"
UNKNOWN = "unknown"


class Values(View):
    """The value of each object; it is in the part `value`."""

    kinds = frozenset((SMALL, LARGE))
    large = frozenset((LARGE,))

    def __init__(self) -> None:
        self.of: dict[Ref, str] = {}
        self.folded: list[Ref] = []
        self.unreadable = 0

    def fold(self, ref: Ref, entry: Entry | None) -> None:
        self.folded.append(ref)
        if entry is None:
            self.of.pop(ref, None)
        else:
            self.of[ref] = f"{entry.uid}: {entry.data['value']}"

    def fold_unreadable(self, ref: Ref) -> None:
        self.of[ref] = UNKNOWN

    def note_unreadable(self, count: int) -> None:
        self.unreadable = count


class Folded:
    """A table, and the values folded from it."""

    def __init__(self) -> None:
        self.table, self.values, self.crashed = Table(), Values(), list[Ref]()
        self.views = Views(self.table, (self.values,), self.crashed.append)
        self.version = 0

    def put(self, ref: Ref, data: Mapping[str, Any], uid: str = "u") -> None:
        """A newer version of an object."""
        self.version += 1
        self.table.observe(*ref, uid=uid, resource_version=self.version, data=data)

    def value(self, ref: Ref) -> str | None:
        """The value of an object, after all is folded."""
        self.views.fold_all()
        return self.values.of.get(ref)


A: Ref = (SMALL, "", "a")
BAD = Unreadable("it nests too deep")


def test_an_object_counts_in_its_newest_version_until_it_is_gone() -> None:
    world = Folded()
    world.put(A, {"value": "one"})
    assert world.value(A) == "u: one"
    world.put(A, {"value": "two"})
    world.put(A, {"value": "three"})
    assert world.value(A) == "u: three"
    world.put(A, {"value": "four"}, uid="v")
    assert world.value(A) == "v: four"
    world.table.observe_gone(A, "v")
    assert world.value(A) is None
    assert world.values.folded == [A] * 4, "what coalesced was folded once"


def test_objects_of_other_kinds_are_not_folded() -> None:
    world = Folded()
    world.put((OTHER, "", "a"), {})
    world.views.fold_all()
    assert world.values.folded == []


def test_an_unreadable_object_counts_as_it_was_last_read_whole() -> None:
    world = Folded()
    world.put(A, {"value": "one"})
    for _ in range(2):
        world.put(A, BAD)
        assert (world.value(A), world.values.unreadable) == ("u: one", 1)
    world.put(A, Unreadable("in part", {"value": "two"}))
    assert (world.value(A), world.values.unreadable) == ("u: two", 0)
    world.put(A, BAD)
    assert world.value(A) == "u: one", "as it was last read whole"
    world.put(A, BAD, uid="v")
    assert world.value(A) == UNKNOWN, "another object of its name"
    world.table.observe_gone(A, "v")
    assert (world.value(A), world.values.unreadable) == (None, 0)
    assert world.crashed == []


def test_code_that_crashes_leaves_an_object_as_it_counted() -> None:
    world = Folded()
    world.put(A, {"value": "one"})
    assert world.value(A) == "u: one"
    world.put(A, {})
    assert (world.value(A), world.values.unreadable) == ("u: one", 1)
    world.put(A, BAD)
    assert world.value(A) == "u: one", "nor does what cannot be read after it"
    world.put(A, {}, uid="v")
    assert world.value(A) == UNKNOWN
    assert world.crashed == [A, A, A]


def test_the_digest_is_that_of_the_entries_whatever_their_order() -> None:
    one, other = Folded(), Folded()
    refs = [(SMALL, "", str(number)) for number in range(9)]
    for world, order in ((one, refs), (other, random.Random(1).sample(refs, len(refs)))):
        for ref in order:
            world.table.observe(*ref, uid="u", resource_version=7, data={"value": ""})
        world.views.fold_all()
    assert one.views.digest == other.views.digest
    before = one.views.digest
    one.table.observe(*refs[0], uid="u", resource_version=8, data={"value": ""})
    one.views.fold_all()
    assert one.views.digest != before
    for ref in refs:
        one.table.observe_gone(ref, "u")
    one.views.fold_all()
    assert one.views.digest == Folded().views.digest


def test_a_stage_without_views_has_no_digest() -> None:
    assert Views(Table(), (), lambda _ref: None).digest == ""


@pytest.mark.parametrize(
    ("kind", "objects", "turns"), [(SMALL, 3 * FOLDED_AT_ONCE, 3), (LARGE, 5, 5)]
)
async def test_the_event_loop_turns_in_between(kind: str, objects: int, turns: int) -> None:
    """And who asks at the same time waits for the same folding."""
    world = Folded()
    for number in range(objects):
        world.put((kind, "", str(number)), {"value": ""})
    seen: list[int] = []

    async def look() -> None:
        while True:
            seen.append(len(world.values.folded))
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    await asyncio.gather(*(world.views.catch_up() for _ in range(3)))
    looking.cancel()
    assert len(world.values.folded) == objects
    assert len(set(seen)) in (turns, turns + 1)


async def test_an_object_that_changes_meanwhile_is_folded_as_well() -> None:
    world = Folded()
    for number in range(2 * FOLDED_AT_ONCE):
        world.put((SMALL, "", str(number)), {"value": "old"})

    async def change() -> None:
        world.put((SMALL, "", "0"), {"value": "new"})

    await asyncio.gather(world.views.catch_up(), change())
    assert world.values.of[(SMALL, "", "0")] == "u: new"


async def test_where_there_is_always_more_to_settle_a_decision_is_made_all_the_same() -> None:
    world = Folded()
    world.values.settle_some = lambda: True  # type: ignore[method-assign]
    await world.views.catch_up()
