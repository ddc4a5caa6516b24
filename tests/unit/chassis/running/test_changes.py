"""What a change shows to a stage, and whom it wakes where its entries cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable

from contracts.topics import TopicLayout
from contracts.unreadable import Unreadable
from services.chassis.running.own_part import OwnPart
from services.chassis.table.entries import Change, Entry, TableReading
from services.chassis.table.table import Table
from tests.unit.chassis.running.staging import SmallStage

COVERS = ("services/chassis/table/entries.py", "services/chassis/running/own_part.py")


def entry(color: str = "red", *, uid: str = "u", version: int = 1) -> Entry:
    return Entry("Service", "ns", "a", uid, version, {"color": color})


def color(seen: Entry) -> str:
    return str(seen.data["color"])


def test_a_change_shows_what_a_projection_shows_and_another_object_always() -> None:
    assert not Change(entry(), entry(version=2)).shows(color)
    assert Change(entry(), entry("blue")).shows(color)
    assert Change(entry(), entry(uid="other")).shows(color)
    assert Change(None, entry()).shows(color)
    assert Change(entry(), None).shows(color)


class Comparing(SmallStage):
    """A stage whose keys are the colors before and after, where they differ."""

    def keys(self, change: Change, table: TableReading) -> Iterable[str]:
        return map(color, change.entries) if change.shows(color) else ()


def test_where_entries_cannot_be_compared_one_object_goes_and_another_comes() -> None:
    """Else nobody would be woken when an object can be read again."""
    stage = Comparing(None, None, None)  # type: ignore[arg-type]
    crashed: list[Entry] = []
    own = OwnPart(stage, Table(), TopicLayout(), (), crashed.append)
    assert own.keys_of(Change(entry(), entry("blue"))) == ["red", "blue"]
    assert own.keys_of(Change(entry(), entry(version=2))) == []
    hidden = Entry("Service", "ns", "a", "u", 2, Unreadable("it nests too deep", {}))
    assert own.keys_of(Change(hidden, entry())) == ["red"]
    assert own.keys_of(Change(entry(), hidden)) == ["red"]
    assert not crashed
    bad = Entry("Service", "ns", "a", "u", 2, {})
    assert own.keys_of(Change(bad, entry())) == ["red"]
    assert crashed == [entry(), bad], "a comparison that crashes is a defect of its own"
