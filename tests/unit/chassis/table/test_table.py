"""The table keeps what is newest, whoever says it and in whatever order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from services.chassis.log.bus import Partition
from services.chassis.table.entries import Change, Entry
from services.chassis.table.indexing import KindIndex
from services.chassis.table.table import Table
from tests.unit.chassis.running.saying import (
    RESOURCES_0,
    RESOURCES_1,
    epoch,
    gone,
    present,
    synced,
)


@pytest.fixture
def table() -> Table:
    table = Table({"color": lambda entry: [entry.data["color"]] if "color" in entry.data else []})
    table.expect({"Service": (RESOURCES_0, RESOURCES_1), "Pod": (RESOURCES_0, RESOURCES_1)})
    return table


def write(table: Table, name: str = "a", *, version: int, uid: str = "", **data: object) -> None:
    """An own write whose response was observed."""
    table.observe(
        "Service", "ns", name, uid=uid or f"uid-{name}", resource_version=version, data=data
    )


def names(entries: Iterable[Entry]) -> list[str]:
    return [entry.name for entry in entries]


def in_table(table: Table) -> list[str]:
    return names(table.of_kind("Service"))


def resync(table: Table, number: int, *said: str, partitions: tuple[Partition, ...] = ()) -> None:
    """A full resync that says some objects, all in partition 0."""
    for name in said:
        table.apply(present(name, at=epoch(number)), RESOURCES_0)
    for partition in partitions or (RESOURCES_0, RESOURCES_1):
        table.apply(synced(at=epoch(number)), partition)


class TestFacts:
    """Facts change entries when they are newer."""

    def test_an_addition_is_a_change_from_nothing(self, table: Table) -> None:
        [change] = table.apply(present(size=1), RESOURCES_0)
        assert change.old is None
        assert change.new is not None
        assert change.new.data == {"size": 1}
        assert table.get("Service", "ns", "a") == change.new

    def test_a_newer_version_replaces_and_an_older_one_does_not(self, table: Table) -> None:
        table.apply(present(version=5, size=1), RESOURCES_0)
        [change] = table.apply(present(version=6, size=2), RESOURCES_0)
        assert change.old is not None
        assert change.old.data == {"size": 1}
        assert table.apply(present(version=5, size=1), RESOURCES_0) == ()
        entry = table.get("Service", "ns", "a")
        assert entry is not None
        assert entry.data == {"size": 2}

    def test_a_newer_version_with_the_same_data_wakes_nobody_but_is_remembered(
        self, table: Table
    ) -> None:
        table.apply(present(version=5, size=1), RESOURCES_0)
        assert table.apply(present(version=6, size=1), RESOURCES_0) == ()
        entry = table.get("Service", "ns", "a")
        assert entry is not None
        assert entry.resource_version == 6

    def test_a_deletion_removes_the_object_it_names_and_no_later_one(self, table: Table) -> None:
        table.apply(present(uid="u2", version=9), RESOURCES_0)
        assert table.apply(gone(uid="u1", version=8), RESOURCES_0) == ()
        assert in_table(table) == ["a"]
        [change] = table.apply(gone(uid="u2", version=10), RESOURCES_0)
        assert change.new is None
        assert in_table(table) == []

    def test_a_late_fact_about_an_earlier_object_of_the_name_is_ignored(self, table: Table) -> None:
        table.apply(present(uid="u2", version=9, size=2), RESOURCES_0)
        assert table.apply(present(uid="u1", version=8, size=1), RESOURCES_0) == ()
        entry = table.get("Service", "ns", "a")
        assert entry is not None
        assert entry.uid == "u2"

    def test_a_new_object_of_the_name_replaces_the_old_one(self, table: Table) -> None:
        table.apply(present(uid="u1", version=8), RESOURCES_0)
        [change] = table.apply(present(uid="u2", version=9), RESOURCES_0)
        assert change.old is not None
        assert change.new is not None
        assert (change.old.uid, change.new.uid) == ("u1", "u2")


LEAVING: dict[str, object] = {"deletionTimestamp": "2026-11-20T00:00:00Z"}


class TestEnds:
    """Which absences are proof that the object is no more."""

    def test_an_object_seen_terminating_and_then_reported_gone_has_ended(
        self, table: Table
    ) -> None:
        table.apply(present(version=5, metadata=LEAVING), RESOURCES_0)
        assert not table.saw_end("Service", "ns", "a")
        table.apply(gone(version=6), RESOURCES_0)
        assert table.saw_end("Service", "ns", "a")

    def test_one_that_was_not_terminating_may_have_left_our_sight_alive(self, table: Table) -> None:
        """Somebody may have taken the label off it by which it is known."""
        table.apply(present(version=5, metadata={"deletionTimestamp": None}), RESOURCES_0)
        table.apply(gone(version=6), RESOURCES_0)
        assert not table.saw_end("Service", "ns", "a")

    def test_one_that_a_list_did_not_say_any_more_is_only_absent(self, table: Table) -> None:
        table.apply(present(version=5, metadata=LEAVING), RESOURCES_0)
        resync(table, 2)
        assert in_table(table) == []
        assert not table.saw_end("Service", "ns", "a")

    def test_a_deletion_of_another_object_of_the_name_proves_nothing(self, table: Table) -> None:
        table.apply(present(uid="u2", version=9, metadata=LEAVING), RESOURCES_0)
        table.apply(gone(uid="u1", version=10), RESOURCES_0)
        assert not table.saw_end("Service", "ns", "a")

    def test_a_new_object_of_the_name_has_not_ended(self, table: Table) -> None:
        """Whether a fact or the answer to a write told of it."""
        for number, uid in enumerate(("u2", "u3")):
            table.apply(present(uid="u1", version=5, metadata=LEAVING), RESOURCES_0)
            table.apply(gone(uid="u1", version=6), RESOURCES_0)
            if number:
                write(table, uid=uid, version=7, metadata={"deletionTimestamp": None})
            else:
                table.apply(
                    present(uid=uid, version=7, metadata={"deletionTimestamp": None}), RESOURCES_0
                )
            assert not table.saw_end("Service", "ns", "a")

    def test_nothing_of_another_cluster_has_ended_here(self, table: Table) -> None:
        table.apply(present(version=5, metadata=LEAVING), RESOURCES_0)
        table.apply(gone(version=6), RESOURCES_0)
        table.apply(present("b", at=epoch(cluster="cluster-b", incarnation=2)), RESOURCES_0)
        assert not table.saw_end("Service", "ns", "a")


class TestLastSights:
    """How an object looked last: facts come in batches, and nobody may have looked in between."""

    def test_an_object_that_is_reported_to_be_gone_is_remembered_as_it_was(
        self, table: Table
    ) -> None:
        """Whether a fact or a GET said so."""
        for uid in ("u1", "u2"):
            table.apply(present(uid=uid, version=5, metadata=LEAVING), RESOURCES_0)
            assert table.last_seen("Service", "ns", "a") is None
            if uid == "u1":
                table.apply(gone(uid=uid, version=6), RESOURCES_0)
            else:
                table.observe_gone(("Service", "ns", "a"), uid)
            last = table.last_seen("Service", "ns", "a")
            assert last is not None
            assert (last.uid, last.data["metadata"]) == (uid, LEAVING)

    def test_an_object_that_only_own_requests_showed_was_not_shown(self, table: Table) -> None:
        """Nobody saw what became of it after the write."""
        ref = ("Service", "ns", "a")
        for shown in (False, True):
            uid = f"u{shown}"
            table.observe(*ref, uid=uid, resource_version=5, data={"metadata": LEAVING})
            if shown:
                table.apply(present(uid=uid, version=5, metadata=LEAVING), RESOURCES_0)
            table.observe_gone(ref, uid)
            assert table.last_seen(*ref) is not None
            assert (table.last_shown(*ref) is not None) is shown

    def test_of_one_that_a_list_found_missing_nothing_is_remembered(self, table: Table) -> None:
        """It may have changed since."""
        table.apply(present(version=5, metadata=LEAVING), RESOURCES_0)
        resync(table, 2)
        assert in_table(table) == []
        assert table.last_seen("Service", "ns", "a") is None

    def test_nothing_of_another_cluster_is_remembered(self, table: Table) -> None:
        table.apply(present(version=5, metadata=LEAVING), RESOURCES_0)
        table.apply(gone(version=6), RESOURCES_0)
        table.apply(present("b", at=epoch(cluster="cluster-b", incarnation=2)), RESOURCES_0)
        assert table.last_seen("Service", "ns", "a") is None


class TestIndexes:
    """Entries are found by what they say now, in order of their names."""

    def test_entries_are_in_order_whatever_the_order_of_facts(self, table: Table) -> None:
        for name in ("c", "a", "b"):
            table.apply(present(name, color="red"), RESOURCES_0)
        assert names(table.by("color", "red")) == ["a", "b", "c"]
        assert [table.count("color", each) for each in ("red", "blue")] == [3, 0]

    def test_an_entry_moves_with_its_value_and_leaves_with_its_object(self, table: Table) -> None:
        table.apply(present("a", version=1, color="red"), RESOURCES_0)
        table.apply(present("a", version=2, color="blue"), RESOURCES_0)
        assert table.by("color", "red") == []
        assert names(table.by("color", "blue")) == ["a"]
        assert [table.count("color", each) for each in ("red", "blue")] == [0, 1]
        table.apply(gone("a", version=3), RESOURCES_0)
        assert table.by("color", "blue") == []

    def test_an_index_gives_the_newest_version_even_where_data_are_the_same(
        self, table: Table
    ) -> None:
        table.apply(present("a", version=1, color="red"), RESOURCES_0)
        table.apply(present("a", version=2, color="red"), RESOURCES_0)
        assert [entry.resource_version for entry in table.by("color", "red")] == [2]

    def test_an_index_of_a_kind_sees_that_kind_only(self) -> None:
        def colors(entry: Entry) -> Iterable[str]:
            return [entry.data["color"]]

        table = Table({"color": KindIndex("Service", colors)})
        table.apply(present("a", color="red"), RESOURCES_0)
        table.apply(replace(present("b"), kind="Pod", data={}), RESOURCES_0)
        assert names(table.by("color", "red")) == ["a"]
        assert table.get("Pod", "ns", "b") is not None

    def test_an_unknown_index_is_a_defect(self, table: Table) -> None:
        with pytest.raises(KeyError):
            table.by("taste", "red")


class TestOwnWrites:
    """A service reads its own writes before any fact says them."""

    def test_a_write_is_seen_at_once_and_reported(self, table: Table) -> None:
        told: list[Change] = []
        table.on_observation = told.append
        write(table, version=5, size=5)
        assert in_table(table) == ["a"]
        assert len(told) == 1

    def test_a_fact_older_than_the_write_is_ignored(self, table: Table) -> None:
        table.apply(present(version=3, size=3), RESOURCES_0)
        write(table, version=5, size=5)
        assert table.apply(present(version=4, size=4), RESOURCES_0) == ()
        entry = table.get("Service", "ns", "a")
        assert entry is not None
        assert entry.data == {"size": 5}

    def test_the_fact_of_the_write_itself_wakes_nobody(self, table: Table) -> None:
        write(table, version=5, size=5)
        assert table.apply(present(version=5, size=5), RESOURCES_0) == ()

    def test_a_write_that_changed_nothing_is_not_reported(self, table: Table) -> None:
        table.apply(present(version=5, size=5), RESOURCES_0)
        told: list[Change] = []
        table.on_observation = told.append
        write(table, version=5, size=5)
        write(table, version=6, size=5)
        assert told == []

    def test_an_object_that_is_gone_does_not_come_back_by_a_late_fact(self, table: Table) -> None:
        table.apply(present(version=5), RESOURCES_0)
        table.observe_gone(("Service", "ns", "a"), "uid-a")
        assert in_table(table) == []
        assert table.apply(present(version=6), RESOURCES_0) == ()
        assert in_table(table) == []

    def test_gone_is_reported_of_a_uid_so_a_later_object_stays(self, table: Table) -> None:
        write(table, uid="u2", version=9)
        table.observe_gone(("Service", "ns", "a"), "u1")
        assert in_table(table) == ["a"]

    def test_a_late_response_does_not_revive_what_a_fact_said_is_deleted(
        self, table: Table
    ) -> None:
        table.apply(present(version=5), RESOURCES_0)
        table.apply(gone(version=7), RESOURCES_0)
        write(table, version=6)
        assert in_table(table) == []

    def test_an_object_that_left_its_selector_may_come_back(self, table: Table) -> None:
        table.apply(present(version=5), RESOURCES_0)
        table.apply(gone(version=7), RESOURCES_0)
        table.apply(present(version=8), RESOURCES_0)
        assert in_table(table) == ["a"]


class TestResync:
    """A completed list says what does not exist any more."""

    def test_what_the_list_did_not_say_is_dropped(self, table: Table) -> None:
        resync(table, 1, "a", "b")
        table.apply(present("b", at=epoch(2)), RESOURCES_0)
        [change] = table.apply(synced(at=epoch(2)), RESOURCES_0)
        assert change.old is not None
        assert change.old.name == "a"
        assert in_table(table) == ["b"]

    def test_a_repeated_addition_refreshes_and_wakes_nobody(self, table: Table) -> None:
        resync(table, 1, "a")
        assert table.apply(present("a", at=epoch(2)), RESOURCES_0) == ()
        assert table.apply(synced(at=epoch(2)), RESOURCES_0) == ()
        assert in_table(table) == ["a"]

    def test_an_addition_older_than_an_own_write_still_counts_as_said(self, table: Table) -> None:
        resync(table, 1, "a")
        write(table, "a", version=9, size=9)
        resync(table, 2, "a")
        assert in_table(table) == ["a"]

    def test_a_list_completed_in_one_partition_says_nothing_of_others(self, table: Table) -> None:
        table.apply(present("here"), RESOURCES_0)
        table.apply(present("there"), RESOURCES_1)
        table.apply(synced(at=epoch(2)), RESOURCES_0)
        assert in_table(table) == ["there"]

    def test_a_list_of_one_kind_says_nothing_of_others(self, table: Table) -> None:
        table.apply(present("p", kind="Pod"), RESOURCES_0)
        table.apply(synced("Service", at=epoch(2)), RESOURCES_0)
        assert names(table.of_kind("Pod")) == ["p"]

    def test_a_comparison_drops_nothing(self, table: Table) -> None:
        resync(table, 1, "a")
        assert table.apply(synced(at=epoch(2), full=False), RESOURCES_0) == ()
        assert in_table(table) == ["a"]

    def test_an_own_write_survives_a_list_that_may_have_been_made_before_it(
        self, table: Table
    ) -> None:
        resync(table, 1, "a")
        write(table, "mine", version=50)
        resync(table, 2, "a")
        assert in_table(table) == ["a", "mine"]

    def test_an_own_write_that_two_lists_do_not_know_is_dropped(self, table: Table) -> None:
        resync(table, 1)
        write(table, "mine", version=50)
        resync(table, 2)
        resync(table, 3, partitions=(RESOURCES_0,))
        assert in_table(table) == ["mine"], "partition 1 has not completed the second list"
        resync(table, 3, partitions=(RESOURCES_1,))
        assert in_table(table) == []

    def test_facts_of_a_leader_that_leads_no_more_are_dropped(self, table: Table) -> None:
        table.apply(present("a", version=9, at=epoch(incarnation=7)), RESOURCES_0)
        late = epoch(99, incarnation=6)
        assert table.apply(gone("a", version=10, at=late), RESOURCES_0) == ()
        assert table.apply(synced(at=late), RESOURCES_0) == ()
        assert in_table(table) == ["a"]

    def test_epochs_of_one_partition_do_not_make_facts_of_another_late(self, table: Table) -> None:
        table.apply(present("a", at=epoch(2)), RESOURCES_0)
        table.apply(present("b", at=epoch(1)), RESOURCES_1)
        assert in_table(table) == ["a", "b"]


class TestAnotherCluster:
    """A table is about one cluster."""

    def test_a_newer_cluster_empties_the_table(self, table: Table) -> None:
        resync(table, 1, "a", "b")
        other = epoch(incarnation=2, cluster="cluster-b")
        changes = table.apply(present("c", at=other), RESOURCES_0)
        assert [change.new is None for change in changes] == [True, True, False]
        assert in_table(table) == ["c"]

    def test_what_is_late_of_the_old_cluster_does_not_bring_it_back(self, table: Table) -> None:
        resync(table, 1, "a")
        table.apply(present("c", at=epoch(incarnation=2, cluster="cluster-b")), RESOURCES_0)
        assert table.apply(present("a", at=epoch(1)), RESOURCES_1) == ()
        assert in_table(table) == ["c"]
