"""What somebody else wrote into the log is outlived: a look at the API server knows better."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.belonging import root_of
from contracts.facts import KINDS, NUMBER_MAX, FactType, fact_from_json, project
from services.chassis.table.entries import Change
from services.chassis.table.table import Table
from tests.unit.chassis.running.saying import RESOURCES_0, epoch, gone, present


@pytest.fixture
def table() -> Table:
    table = Table()
    table.expect({"Service": (RESOURCES_0,)})
    return table


def learn(table: Table, *, version: int, read_at: int, size: int = 0) -> None:
    """What the answer to a GET of Service a said."""
    data = {"size": size}
    table.observe(
        "Service", "ns", "a", uid="uid-a", resource_version=version, data=data, read_at=read_at
    )


def test_a_get_that_was_sent_after_a_deletion_was_reported_knows_better(table: Table) -> None:
    """A uid that is gone never returns, so it was not gone."""
    table.apply(present(version=5), RESOURCES_0)
    table.apply(gone(version=5), RESOURCES_0)
    learn(table, version=5, read_at=table.heard)
    assert table.get("Service", "ns", "a") is not None
    table.apply(present(version=6, size=2), RESOURCES_0)
    entry = table.get("Service", "ns", "a")
    assert entry is not None
    assert entry.data == {"size": 2}


def test_a_get_that_was_sent_before_a_deletion_was_reported_is_late(table: Table) -> None:
    """Its answer was true when it was given, and is not any more."""
    table.apply(present(version=5), RESOURCES_0)
    read_at = table.heard
    table.apply(gone(version=7), RESOURCES_0)
    learn(table, version=5, read_at=read_at)
    assert table.get("Service", "ns", "a") is None


def test_a_get_ends_the_belief_in_a_version_that_the_object_has_not_reached(table: Table) -> None:
    """Versions never fall, so the later one was never there."""
    table.apply(present(version=10**9, size=9), RESOURCES_0)
    learn(table, version=5, read_at=table.heard, size=1)
    entry = table.get("Service", "ns", "a")
    assert entry is not None
    assert (entry.resource_version, entry.data) == (5, {"size": 1})


def test_a_late_answer_does_not_replace_what_was_written_meanwhile(table: Table) -> None:
    """A GET that was sent before a write may be answered after it."""
    table.apply(present(version=5, size=1), RESOURCES_0)
    read_at = table.heard
    learn(table, version=6, read_at=-1, size=2)
    learn(table, version=5, read_at=read_at, size=1)
    entry = table.get("Service", "ns", "a")
    assert entry is not None
    assert entry.data == {"size": 2}


def test_an_answer_in_the_same_version_knows_better_than_a_record(table: Table) -> None:
    """A patch that finds all as it should be keeps the version, so nothing newer ever comes."""
    table.apply(present(version=5, size=9), RESOURCES_0)
    changes: list[Change] = []
    table.on_observation = changes.append
    learn(table, version=5, read_at=-1, size=1)
    entry = table.get("Service", "ns", "a")
    assert entry is not None
    assert entry.data == {"size": 1}
    assert [each.new for each in changes] == [entry]
    learn(table, version=5, read_at=-1, size=1)
    assert len(changes) == 1


def test_a_later_list_knows_better_than_a_record_in_the_same_version(table: Table) -> None:
    """A client that reads the log may add to it; the lists of watch-ingest come again."""
    table.apply(present(version=5, size=9, at=epoch(1)), RESOURCES_0)
    assert table.apply(present(version=5, size=1, at=epoch(2)), RESOURCES_0)
    entry = table.get("Service", "ns", "a")
    assert entry is not None
    assert entry.data == {"size": 1}
    assert not table.apply(present(version=5, size=1, at=epoch(3)), RESOURCES_0)


def test_a_record_in_a_version_and_a_list_that_are_known_says_nothing(table: Table) -> None:
    table.apply(present(version=5, size=1, at=epoch(2)), RESOURCES_0)
    assert not table.apply(present(version=5, size=9, at=epoch(2)), RESOURCES_0)


def test_an_answer_counts_more_than_the_first_record_of_its_version(table: Table) -> None:
    """The record confirms it, and does not correct it."""
    learn(table, version=5, read_at=-1, size=1)
    assert not table.apply(present(version=5, size=9), RESOURCES_0)
    assert not table.unconfirmed()
    entry = table.get("Service", "ns", "a")
    assert entry is not None
    assert entry.data == {"size": 1}


def test_the_end_of_a_uid_under_another_name_says_nothing(table: Table) -> None:
    """A record that tells of an object in the wrong namespace must not bury the right one."""
    table.observe_gone(("Service", "elsewhere", "a"), "uid-a")
    assert table.apply(present(version=5), RESOURCES_0)


@pytest.mark.parametrize("number", [NUMBER_MAX + 1, -1, 1e30, 7.5, "7", True, None, [7]])
@pytest.mark.parametrize("place", ["incarnation", "list", "resourceVersion"])
def test_numbers_that_no_api_server_gives_are_malformed(number: object, place: str) -> None:
    """So that no record can speak above everything that is still to come."""
    value = present().to_json()
    target = value if place == "resourceVersion" else value["epoch"]
    target[place] = number
    with pytest.raises(ValueError, match="is not a resourceVersion"):
        fact_from_json(FactType.ADDITION, value)


@pytest.mark.parametrize(
    "text", ["[/x]", "pods/a", "a/status", "..", "a\n", "é", "x" * 254, ["a"], {"a": "a"}, 5, None]
)
@pytest.mark.parametrize("place", ["name", "namespace", "job"])
def test_names_that_no_object_can_have_are_malformed(text: object, place: str) -> None:
    """A pod of such a name that a PE should not have was deleted in vain, and the PE waited."""
    value = present().to_json() | {place: text}
    with pytest.raises(ValueError, match=f"its {place} is not an object name"):
        fact_from_json(FactType.ADDITION, value)


WHOLE: dict[str, object] = {"labels": {}, "annotations": {}, "owners": []}
OWNER = {"kind": "Job", "name": "j", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        *(("Pod", {k: v for k, v in WHOLE.items() if k != missing}) for missing in WHOLE),
        *(("Pod", WHOLE | {"owners": [{**OWNER, name: None}]}) for name in OWNER),
        ("Pod", {}),
        ("Pod", WHOLE | {"owners": [{}]}),
        ("Pod", WHOLE | {"labels": {"a": 1}}),
        ("Pod", WHOLE | {"annotations": []}),
        ("Node", {}),
    ],
)
@pytest.mark.parametrize("why", [{}, {"unreadable": "spec nests"}], ids=["readable", "unreadable"])
def test_a_record_without_what_readers_rest_on_is_malformed(
    kind: str, metadata: dict[str, object], why: dict[str, str]
) -> None:
    """A child whose record had no owners crashed the decision of its job until the next list."""
    value = present(kind=kind, metadata=metadata).to_json() | why
    with pytest.raises(TypeError, match=r"metadata|owner|label"):
        fact_from_json(FactType.ADDITION, value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_watch_ingest_says_of_the_barest_object_is_whole(kind: str) -> None:
    bare = {"metadata": {"name": "a", "namespace": "ns", "uid": "u"}}
    pod = {"metadata": bare["metadata"] | {"labels": {"app": "streams"}}, "spec": {"nodeName": "n"}}
    data = project(kind, pod if kind in ("Pod", "BoundPod") else bare)
    assert data is not None
    value = replace(present(kind=kind), data=data).to_json()
    assert fact_from_json(FactType.ADDITION, value)


@pytest.mark.parametrize("name", ["a b/c", "..", "x" * 254])
def test_an_owner_that_no_object_can_be_decides_nothing(name: str) -> None:
    """The API server takes any name there, and a fact that no reader takes loses the object."""
    owner = {"kind": "Job", "name": name, "uid": "u", "controller": True}
    pod = {"metadata": {"name": "p", "namespace": "ns", "ownerReferences": [owner]}}
    assert root_of("Pod", pod, lambda *_: None).key == "p"
