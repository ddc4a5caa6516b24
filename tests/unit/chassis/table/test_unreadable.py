"""An object that cannot be read whole stops nothing but the keys that need what is missing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from contracts.envelope import MalformedRecord
from contracts.facts import Fact, FactType, fact_from_json
from contracts.unreadable import FACT_DEPTH_MAX, Unreadable
from services.chassis.kube.listing import RETRY_CAP_S, ListWatch, Watched
from services.chassis.kube.port import KubeClient, Resource, Response
from services.chassis.log.bus import Record
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Garbled, TooLarge
from services.chassis.running.stage import Decision
from services.chassis.table.entries import Entry
from services.chassis.table.indexing import Indexed
from services.chassis.table.reading import RECORD_DEPTH_MAX, decode
from tests.unit.chassis.kube.test_listing import Notes
from tests.unit.chassis.running.saying import METADATA, RESOURCES_0, present, record
from tests.unit.chassis.running.staging import Do, bench, idle, succeed
from tests.virtual_time import virtually

PARTS: Mapping[str, Any] = {"metadata": METADATA, "poison": False}
THINGS = Resource("", "v1", "things", "Thing")


def unreadable(name: str, *, version: int = 1) -> Fact:
    """A fact of an object whose spec cannot be read."""
    return replace(present(name, version=version), data=Unreadable("spec nests", PARTS))


def needs_spec(_key: str, entry: Entry | None) -> Decision[Do]:
    if entry is not None:
        assert entry.data["spec"] != 0
    return Decision((Do("write"),), "Waiting")


@virtually
async def test_a_key_that_needs_what_cannot_be_read_rests_and_says_why_until_it_can() -> None:
    """It is no crash of ours: it is not tried again before the object changes."""
    async with bench(needs_spec, succeed) as it:
        await it.say(unreadable("bad"), present("good", spec={"a": 1}))
        await it.sync()
        await it.settle(60)
        assert it.stage.stalled == {"bad": "small: spec nests"}
        assert it.stage.carried_out == [Do("write")]
        assert it.stage.decided.count("bad") == 1
        assert it.runtime.metrics.value("millrace_crashes_total", where="key") == 0
        await it.say(present("bad", version=2, spec={"a": 1}))
        await it.settle(5)
        assert it.stage.stalled == {"bad": ""}
        assert it.stage.carried_out == [Do("write")] * 2


@virtually
async def test_an_object_that_becomes_unreadable_is_not_taken_for_gone() -> None:
    """A decision that asks for its metadata only is made."""
    seen: list[tuple[str, Mapping[str, Any]]] = []

    def decide(key: str, entry: Entry | None) -> Decision[Do]:
        assert entry is not None
        seen.append((entry.unreadable, entry.data["metadata"]))
        return idle(key, entry)

    async with bench(decide, succeed) as it:
        await it.say(present("a", spec={"a": 1}))
        await it.sync()
        await it.settle(5)
        await it.say(unreadable("a", version=2))
        await it.settle(5)
        assert seen == [("", METADATA), ("spec nests", METADATA)]


@virtually
async def test_an_effect_that_reads_an_unreadable_answer_backs_off_without_a_crash() -> None:
    async def read(_key: str, _effect: Do) -> str:
        return str(Unreadable("spec nests")["spec"])

    async with bench(lambda *_: Decision((Do("read"),), "Waiting"), read) as it:
        await it.say(present("a"))
        await it.sync()
        await it.settle(60)
        assert it.runtime.metrics.value("millrace_crashes_total", where="effect") == 0
        assert it.stage.decided


def test_nobody_takes_an_unreadable_part_for_an_empty_one() -> None:
    """`or {}` and a JSON writer are the ways in which it would happen."""
    part: Mapping[str, Any] = Unreadable("spec nests")
    assert (part or {}) is part
    for use in (dict, len, list, lambda it: it.get("x", 1), lambda it: it["x"], lambda it: {**it}):
        with pytest.raises(Exception, match="spec nests"):
            use(part)


# --------------------------------------------------------------------------- records


def stored(fact: Fact) -> Record:
    written = record(fact, RESOURCES_0)
    return Record(RESOURCES_0, 0, 0.0, written.key, written.value, written.headers)


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels - 1):
        found = {"a": found}
    return found


def test_an_unreadable_projection_goes_through_the_log_and_stays_unreadable() -> None:
    """Its readable parts as well."""
    fact = unreadable("a")
    assert decode(stored(fact)).fact == fact


def test_a_record_deeper_than_any_fact_is_malformed() -> None:
    """watch-ingest writes none; code that recurses would end on it."""
    assert decode(stored(present("a", spec=nested(FACT_DEPTH_MAX)))).fact
    with pytest.raises(MalformedRecord, match=f"more than {RECORD_DEPTH_MAX} levels"):
        decode(stored(present("a", spec=nested(FACT_DEPTH_MAX + 1))))


def test_a_record_that_no_reader_reads_is_malformed_and_nothing_else() -> None:
    deep = replace(stored(present("a")), value=b"[" * 5_000 + b"]" * 5_000)
    with pytest.raises(MalformedRecord):
        decode(deep)


# --------------------------------------------------------------------------- the API server


class Answers:
    """A transport that gives what a test says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.lines: list[list[bytes]] = []
        self.page_max = 1_000

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        self.asked.append(path)
        limit = int(path.partition("limit=")[2].partition("&")[0])
        if limit > self.page_max:
            raise TooLarge("too many bytes")
        more = b'"c"' if "continue" not in path else b'""'
        metadata = b'{"resourceVersion":"7","continue":%s}' % more
        page = b'{"metadata":%s,"items":[{"metadata":{"name":"x"}}]}' % metadata
        return Response(200, page, {})

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self.asked.append(path)

        async def lines() -> AsyncIterator[bytes]:
            for line in self.lines.pop(0) if self.lines else ():
                yield line
            await asyncio.sleep(3_600)

        yield lines()


async def test_pages_that_are_too_large_are_requested_in_smaller_ones() -> None:
    """Objects of the largest size fill gigabytes five hundred at a time."""
    answers = Answers()
    answers.page_max = 31
    kube = KubeClient(answers, "test")
    pages = [page async for page in kube.list_pages(THINGS, None)]
    assert [len(page.items) for page in pages] == [1, 1]
    assert [path.partition("limit=")[2] for path in answers.asked] == [
        "500",
        "125",
        "31",
        "31&continue=c",
    ]


async def test_a_page_of_one_object_that_is_too_large_is_an_error() -> None:
    answers = Answers()
    answers.page_max = 0
    with pytest.raises(TooLarge):
        async for _ in KubeClient(answers, "test").list_pages(THINGS, None):
            pass


@virtually
async def test_an_event_that_is_invalid_is_followed_by_a_list_and_not_by_the_same_watch() -> None:
    """The watch would meet it again at once, and what it said is in the list."""
    answers, notes = Answers(), Notes()
    good = b'{"type":"ADDED","object":{"metadata":{"name":"y","resourceVersion":"7"}}}'
    answers.lines = [[good, b"<html>"], [good]]
    list_watch = ListWatch(
        KubeClient(answers, "test"), Watched(THINGS), clock=LoopClock(), random=random.Random(1)
    )
    task = asyncio.create_task(list_watch.run(notes))
    await asyncio.sleep(RETRY_CAP_S)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert notes.lists == [["x", "x"]] * 2
    assert notes.events == [("ADDED", "y")] * 2


async def test_an_answer_that_is_no_object_is_garbled() -> None:
    class Page(Answers):
        async def request(self, *_: Any, **__: Any) -> Response:
            return Response(200, b"<html>", {})

    with pytest.raises(Garbled, match="html"):
        await KubeClient(Page(), "test").get(THINGS, "ns", "x")


@pytest.mark.parametrize("parts", [{}, {"metadata": None}, {"metadata": {"labels": []}}])
def test_a_record_that_calls_metadata_unreadable_is_malformed(
    parts: dict[str, Any],
) -> None:
    """Readers find an object's job in them before they decide anything."""
    told = unreadable("a").to_json()
    assert fact_from_json(FactType.ADDITION, told) == unreadable("a")
    with pytest.raises(TypeError, match="its metadata"):
        fact_from_json(FactType.ADDITION, told | {"object": parts})


def test_a_value_that_cannot_be_hashed_is_in_no_index_and_can_be_taken_out_again() -> None:
    """A table that put it half in could not drop it, and would end its service."""
    indexed: Indexed[Entry] = Indexed({"job": lambda entry: [entry.data["job"]]})
    bad = Entry("Job", "default", "a", "uid", 1, {"job": []})
    with pytest.raises(TypeError):
        indexed.places_of(bad)
