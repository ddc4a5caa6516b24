"""Watches: which lines come, when they come, and how a stream ends."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from sandbox.http.answers import Answer
from sandbox.http.watching import BOOKMARK_INTERVAL_S, chunks
from tests.unit.sandbox.http.asking import CONFIG_MAPS, Asker, config_map

STREAMING_LIST = (
    f"{CONFIG_MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    "&resourceVersionMatch=NotOlderThan"
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def test_a_watch_from_a_version_says_what_happened_since(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    since = asker.api.store.version
    watch = asker.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={since}")
    asker.ask("POST", CONFIG_MAPS, config_map("b"))
    asker.ask("DELETE", f"{CONFIG_MAPS}/a")
    lines = [(line["type"], line["object"]["metadata"]["name"]) for line in asker.lines(watch)]
    assert lines == [("ADDED", "b"), ("DELETED", "a")]


def test_a_watch_without_a_version_begins_with_what_exists(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    (line,) = asker.lines(asker.watch(f"{CONFIG_MAPS}?watch=1"))
    assert (line["type"], line["object"]["kind"]) == ("ADDED", "ConfigMap")


def test_a_streaming_list_ends_with_an_annotated_bookmark(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    added, bookmark = asker.lines(asker.watch(STREAMING_LIST))
    assert added["type"] == "ADDED"
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_any_takes_bookmarks_is_reported_the_end_of_what_existed(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    for query in ("", "&resourceVersion=0"):
        watch = asker.watch(f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=1{query}")
        assert [line["type"] for line in asker.lines(watch)] == ["ADDED", "BOOKMARK"]
    streaming = STREAMING_LIST.replace("allowWatchBookmarks=true", "allowWatchBookmarks=false")
    assert [line["type"] for line in asker.lines(asker.watch(streaming))] == ["ADDED"]


def test_a_watch_without_initial_events_begins_now(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    for since in ("", "&resourceVersion=0"):
        assert asker.lines(asker.watch(f"{CONFIG_MAPS}?{query}{since}")) == []


def test_a_watch_from_the_future_is_silent_until_then(asker: Asker) -> None:
    future = asker.api.store.version + 1
    watch = asker.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={future}")
    for name in ("a", "b"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    assert [line["object"]["metadata"]["name"] for line in asker.lines(watch)] == ["b"]


def test_a_streaming_list_of_the_future_is_an_error_event(asker: Asker) -> None:
    (line,) = asker.lines(asker.watch(f"{STREAMING_LIST}&resourceVersion=999999"))
    assert (line["type"], line["object"]["code"]) == ("ERROR", 504)


def test_an_old_path_watches_a_collection_and_nothing_else(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    for path in ("watch/configmaps", "watch/namespaces/default/configmaps", "watch/namespaces"):
        assert asker.lines(asker.watch(f"/api/v1/{path}"))
    assert asker.ask("POST", "/api/v1/watch/configmaps", config_map("b")).status == 405
    assert asker.ask("GET", "/api/v1/watch/namespaces/default/pods/x/status").status == 404
    other = "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db"
    assert asker.ask("GET", other).status == 400


def test_the_path_of_an_object_is_read_and_not_watched(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    assert asker.json("GET", f"{CONFIG_MAPS}/a?watch=1")["kind"] == "ConfigMap"


@pytest.mark.parametrize(
    "query",
    [
        "sendInitialEvents=true",
        "sendInitialEvents=",
        "continue=x",
        "resourceVersionMatch=NotOlderThan",
        "sendInitialEvents=1&resourceVersionMatch=Exact",
        "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&continue=x",
    ],
)
def test_watch_parameters_that_contradict_are_422(asker: Asker, query: str) -> None:
    answer = asker.api.answer("GET", f"{CONFIG_MAPS}?watch=1&{query}", {})
    assert isinstance(answer, Answer)
    assert answer.status == 422


def test_a_forgotten_version_is_an_error_event_inside_a_stream_of_200(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    asker.api.store.forget_history()
    watch = asker.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion=1")
    (line,) = asker.lines(watch)
    assert (line["type"], line["object"]["code"]) == ("ERROR", 410)
    assert watch.status == 200


@pytest.mark.parametrize(
    "path",
    [
        f"{CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Db",
        "/api/v1/watch/namespaces/default/configmaps/b",
        "/api/v1/watch/namespaces/default/configmaps/b?fieldSelector=metadata.name%3Db",
    ],
)
def test_a_watch_of_one_object_sees_only_that_object(asker: Asker, path: str) -> None:
    watch = asker.watch(path)
    for name in ("a", "b"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    assert [line["object"]["metadata"]["name"] for line in asker.lines(watch)] == ["b"]


def test_a_watch_of_metadata_leaves_the_data_out(asker: Asker) -> None:
    partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    watch = asker.watch(f"{CONFIG_MAPS}?watch=1", accept=partial)
    asker.ask("POST", CONFIG_MAPS, config_map("a", k="v"))
    (line,) = asker.lines(watch)
    assert line["object"]["kind"] == "PartialObjectMetadata"
    assert set(line["object"]) == {"kind", "apiVersion", "metadata"}


def test_a_watch_of_tables_names_its_columns_once(asker: Asker) -> None:
    watch = asker.watch(f"{CONFIG_MAPS}?watch=1", accept=TABLE)
    for name in ("a", "b"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    first, second = (line["object"] for line in asker.lines(watch))
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert second["columnDefinitions"] is None
    assert second["rows"][0]["cells"] == ["b", 0, "90s"]


@pytest.mark.looptime
async def test_a_stream_says_how_far_it_has_come_every_minute_and_at_its_end(
    asker: Asker,
) -> None:
    since = asker.api.store.version
    watch = asker.watch(
        f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=150&resourceVersion={since}"
    )
    asker.api.store.create(
        asker.api.store.registry.all()[0], None, {"metadata": {"name": "elsewhere"}}
    )
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    seen = [(round(loop.time() - began_s), orjson.loads(chunk)) async for chunk in chunks(watch)]
    assert [at_s for at_s, _ in seen] == [BOOKMARK_INTERVAL_S, 2 * BOOKMARK_INTERVAL_S, 150]
    assert {line["type"] for _, line in seen} == {"BOOKMARK"}
    version = str(asker.api.store.version)
    assert seen[-1][1]["object"]["metadata"]["resourceVersion"] == version
    assert watch.watch.closed


@pytest.mark.looptime
async def test_a_stream_that_did_not_ask_for_bookmarks_ends_in_silence(asker: Asker) -> None:
    watch = asker.watch(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=100")
    assert [chunk async for chunk in chunks(watch)] == []


@pytest.mark.looptime
async def test_events_that_wait_together_are_sent_together(asker: Asker) -> None:
    watch = asker.watch(f"{CONFIG_MAPS}?watch=1")
    stream = chunks(watch)
    waiting: asyncio.Future[bytes] = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(1)
    assert not waiting.done()
    for name in ("a", "b"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    lines = (await waiting).splitlines()
    assert [orjson.loads(line)["object"]["metadata"]["name"] for line in lines] == ["a", "b"]
    await stream.aclose()  # type: ignore[attr-defined]
    assert watch.watch.closed


def test_watchers_share_the_bytes_of_an_event(asker: Asker) -> None:
    one, other = asker.watch(f"{CONFIG_MAPS}?watch=1"), asker.watch(f"{CONFIG_MAPS}?watch=1")
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    assert one.line(one.watch.take()[0]) is other.line(other.watch.take()[0])
