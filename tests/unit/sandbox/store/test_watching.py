"""Watches: from where, what is seen, and what happens when history is gone."""

from __future__ import annotations

import orjson
import pytest

from sandbox.store import watching
from sandbox.store.resources import CONFIG_MAP, NAMESPACE, POD
from sandbox.store.store import Store
from sandbox.store.watching import Watch
from tests.unit.sandbox.store.building import MERGE, config_map, new_store, pod


def seen(watch: Watch) -> list[tuple[str, str]]:
    return [(event.type, event.object["metadata"].get("name", "")) for event in watch.take()]


def label(store: Store, name: str, value: str | None) -> None:
    body = {"metadata": {"labels": {"job": value}}}
    store.patch(CONFIG_MAP, "default", name, body, MERGE)


def test_a_watch_from_a_version_sees_what_came_after(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map("a"))
    since = store.version
    store.create(CONFIG_MAP, "default", config_map("b"))
    watch = store.watch(CONFIG_MAP, None, since=since)
    label(store, "b", "1")
    store.delete(CONFIG_MAP, "default", "a")
    assert seen(watch) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]
    assert seen(watch) == []


@pytest.mark.parametrize("since", [None, 0])
def test_a_watch_from_nowhere_begins_with_what_exists(store: Store, since: int | None) -> None:
    store.create(CONFIG_MAP, "default", config_map("a"))
    watch = store.watch(CONFIG_MAP, "default", since=since)
    store.create(CONFIG_MAP, "default", config_map("b"))
    assert seen(watch) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_streaming_list_marks_the_end_of_what_existed(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map("a"))
    watch = store.watch(CONFIG_MAP, "default", initial_events=True, bookmarks=True)
    added, bookmark = watch.take()
    assert added.type == "ADDED"
    assert bookmark.type == "BOOKMARK"
    meta = bookmark.object["metadata"]
    assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert meta["resourceVersion"] == str(store.version)


def test_a_watch_of_one_namespace_sees_no_other(store: Store) -> None:
    store.create(NAMESPACE, None, {"metadata": {"name": "other"}})
    watch = store.watch(CONFIG_MAP, "default", since=store.version)
    store.create(CONFIG_MAP, "other", config_map("a"))
    store.create(CONFIG_MAP, "default", config_map("b"))
    assert seen(watch) == [("ADDED", "b")]


def test_a_watch_sees_only_its_resource(store: Store) -> None:
    watch = store.watch(CONFIG_MAP, None, since=store.version)
    store.create(POD, "default", pod())
    assert watch.take() == []


def test_objects_enter_and_leave_a_selection(store: Store) -> None:
    store.create(CONFIG_MAP, "default", config_map("a"))
    watch = store.watch(CONFIG_MAP, None, labels="job=1", since=store.version)
    label(store, "a", "1")
    store.patch(CONFIG_MAP, "default", "a", {"data": {"x": "y"}}, MERGE)
    label(store, "a", "2")
    store.delete(CONFIG_MAP, "default", "a")
    entered, changed, left = watch.take()
    assert [entered.type, changed.type, left.type] == ["ADDED", "MODIFIED", "DELETED"]
    assert left.object["metadata"]["labels"] == {"job": "1"}
    assert int(left.object["metadata"]["resourceVersion"]) == left.resource_version


def test_a_selection_is_also_applied_to_what_was_missed(store: Store) -> None:
    since = store.version
    store.create(CONFIG_MAP, "default", config_map("a", metadata={"labels": {"job": "1"}}))
    store.create(CONFIG_MAP, "default", config_map("b"))
    label(store, "a", None)
    watch = store.watch(CONFIG_MAP, None, labels="job=1", since=since)
    assert seen(watch) == [("ADDED", "a"), ("DELETED", "a")]


def test_a_field_selector_follows_one_object(store: Store) -> None:
    watch = store.watch(CONFIG_MAP, None, fields="metadata.name=b", since=store.version)
    for name in ("a", "b", "c"):
        store.create(CONFIG_MAP, "default", config_map(name))
    assert seen(watch) == [("ADDED", "b")]


def test_a_forgotten_version_ends_the_watch_with_410() -> None:
    store = new_store(history_max=4)
    since = store.version
    for number in range(12):
        store.create(CONFIG_MAP, "default", config_map(f"m{number}"))
    watch = store.watch(CONFIG_MAP, None, since=since)
    (event,) = watch.take()
    assert event.type == "ERROR"
    assert (event.object["code"], event.object["reason"]) == (410, "Expired")
    assert watch.closed
    recent = store.watch(CONFIG_MAP, None, since=store.version - 3)
    assert len(recent.take()) == 3


def test_compaction_forgets_history_but_not_open_watches(store: Store) -> None:
    since = store.version
    opened = store.watch(CONFIG_MAP, None, since=since)
    store.create(CONFIG_MAP, "default", config_map("a"))
    store.forget_history()
    assert store.watch(CONFIG_MAP, None, since=since).take()[0].type == "ERROR"
    assert seen(opened) == [("ADDED", "a")]
    assert store.watch(CONFIG_MAP, None, since=store.version).take() == []


def test_on_ready_is_called_for_every_arrival_and_for_the_end(store: Store) -> None:
    watch = store.watch(CONFIG_MAP, None, since=store.version)
    calls: list[bool] = []
    watch.on_ready = lambda: calls.append(watch.ready)
    store.create(CONFIG_MAP, "default", config_map("a"))
    watch.close()
    assert calls == [True, True]


def test_a_closed_watch_hears_nothing(store: Store) -> None:
    watch = store.watch(CONFIG_MAP, None, since=store.version)
    watch.close()
    store.create(CONFIG_MAP, "default", config_map("a"))
    assert watch.take() == []


def test_bookmarks_are_offered_only_to_those_who_asked(store: Store) -> None:
    asked = store.watch(CONFIG_MAP, None, since=store.version, bookmarks=True)
    silent = store.watch(CONFIG_MAP, None, since=store.version)
    store.create(POD, "default", pod())
    for watch in (asked, silent):
        watch.offer_bookmark()
    (bookmark,) = asked.take()
    assert bookmark.object["metadata"]["resourceVersion"] == str(store.version)
    assert silent.take() == []


def test_a_watcher_that_is_too_slow_is_closed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "WATCH_BACKLOG_MAX", 2)
    watch = store.watch(CONFIG_MAP, None, since=store.version)
    for name in ("a", "b", "c", "d"):
        store.create(CONFIG_MAP, "default", config_map(name))
    assert watch.closed
    assert seen(watch) == [("ADDED", "a"), ("ADDED", "b")]


def test_the_line_of_an_event_is_made_once_for_all_watchers(store: Store) -> None:
    watches = [store.watch(CONFIG_MAP, None, since=store.version) for _ in range(2)]
    made = store.create(CONFIG_MAP, "default", config_map("a"))
    one, two = (watch.take()[0].frame for watch in watches)
    assert one is two
    assert orjson.loads(one) == {"type": "ADDED", "object": made}
