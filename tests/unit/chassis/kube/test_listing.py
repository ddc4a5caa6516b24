"""The list-watch loop survives everything and tells every object in the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count

import pytest

from sandbox.cluster import Cluster
from sandbox.http.in_process import Fault
from services.chassis.kube import listing
from services.chassis.kube.listing import RETRY_CAP_S, ListWatch, Watched, items_of
from services.chassis.kube.port import (
    Json,
    KubeClient,
    ListPage,
    Resource,
    Response,
    WatchEvent,
)
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import Rejected
from tests.sandboxed import SandboxTransport
from tests.virtual_time import virtually

CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap")
NS = "default"


class Notes:
    """A sink that keeps what it is reported."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.events: list[tuple[str, str]] = []
        self.fail_with: Exception | None = None

    async def listed(self, pages: AsyncIterator[ListPage]) -> None:
        self.lists.append([item["metadata"]["name"] for item in await items_of(pages)])

    async def seen(self, event: WatchEvent) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        self.events.append((event.type.value, event.object["metadata"]["name"]))


class Scene:
    """A cluster, its list-watch, and faults."""

    def __init__(self) -> None:
        clock, uids = LoopClock(), count(1)
        self.cluster = Cluster(now=clock.now, new_uid=lambda: f"uid-{next(uids)}", nodes=0)
        self.fault: Callable[[str, str], Fault | None] = lambda _method, _path: None
        self.transport = SandboxTransport(
            self.cluster, lambda method, path: self.fault(method, path)
        )
        self.others = KubeClient(SandboxTransport(self.cluster), "others")
        self.notes = Notes()
        self.list_watch = self.new_list_watch(self.transport)

    def new_list_watch(self, transport: SandboxTransport) -> ListWatch:
        return ListWatch(
            KubeClient(transport, "ingest"),
            Watched(CONFIG_MAP, NS, label_selector="app=x"),
            clock=LoopClock(),
            random=random.Random(1),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.list_watch.run(self.notes))
        await asyncio.sleep(0.1)
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def create(self, name: str, app: str = "x") -> Json:
        body = {"kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": app}}}
        return await self.others.create(CONFIG_MAP, NS, body)

    def asked(self, verb: str) -> int:
        return sum(1 for each, _ in self.transport.asked if each == verb)


@virtually
async def test_what_exists_is_listed_and_what_happens_is_seen_in_order() -> None:
    scene = Scene()
    await scene.create("before")
    async with scene.running():
        later = await scene.create("later")
        await scene.create("foreign", app="y")
        await scene.others.delete(CONFIG_MAP, NS, "later", uid=later["metadata"]["uid"])
        await asyncio.sleep(0.1)
    assert scene.notes.lists == [["before"]]
    assert scene.notes.events == [("ADDED", "later"), ("DELETED", "later")]


@virtually
async def test_a_cut_watch_goes_on_where_it_was_without_a_new_list() -> None:
    scene = Scene()
    cuts = iter([Fault(cut_after_lines=1)])
    scene.fault = lambda _method, path: next(cuts, None) if "watch=1" in path else None
    async with scene.running():
        for name in "abc":
            await scene.create(name)
        await asyncio.sleep(5)
    assert [name for _, name in scene.notes.events] == ["a", "b", "c"]
    assert len(scene.notes.lists) == 1


@virtually
async def test_a_version_that_expired_leads_to_a_new_list() -> None:
    scene = Scene()
    cuts = iter([Fault(cut_after_s=1)])
    scene.fault = lambda _method, path: next(cuts, None) if "watch=1" in path else None
    async with scene.running():
        await asyncio.sleep(1.01)
        await scene.create("a")
        await scene.create("b")
        scene.cluster.store.forget_history()
        await asyncio.sleep(5)
        await scene.create("c")
        await asyncio.sleep(1)
    assert scene.notes.lists == [[], ["a", "b"]]
    assert scene.notes.events == [("ADDED", "c")]


@virtually
async def test_a_server_that_is_away_is_asked_every_few_seconds_and_heard_soon() -> None:
    scene = Scene()
    scene.fault = lambda _method, _path: Fault(status=503)
    async with scene.running():
        await asyncio.sleep(600)
        assert 600 / RETRY_CAP_S <= scene.asked("GET") <= 2 * 600 / RETRY_CAP_S + 10
        scene.fault = lambda _method, _path: None
        await asyncio.sleep(RETRY_CAP_S + 1)
    assert scene.notes.lists == [[]]


@virtually
async def test_a_watch_that_always_ends_at_once_is_not_requested_in_a_circle() -> None:
    scene = Scene()
    scene.fault = lambda _method, path: Fault(cut_after_s=0.01) if "watch=1" in path else None
    async with scene.running():
        await asyncio.sleep(300)
    assert scene.asked("WATCH") <= 2 * 300 / RETRY_CAP_S + 10


@virtually
async def test_a_list_can_be_requested() -> None:
    scene = Scene()
    async with scene.running():
        await scene.create("a")
        await asyncio.sleep(0.1)
        scene.list_watch.relist()
        await asyncio.sleep(0.1)
        await scene.create("b")
        await asyncio.sleep(0.1)
    assert scene.notes.lists == [[], ["a"]]
    assert scene.notes.events == [("ADDED", "a"), ("ADDED", "b")]


@virtually
async def test_a_sink_that_fails_ends_the_loop_even_with_an_error_of_the_api_server() -> None:
    scene = Scene()
    scene.notes.fail_with = Rejected(410, "Expired", "not the watch's", {})
    async with scene.running() as task:
        await scene.create("a")
        await asyncio.sleep(0.1)
        with pytest.raises(Rejected, match="not the watch's"):
            await task


@virtually
async def test_a_quiet_cluster_is_listed_once_and_watched_on() -> None:
    scene = Scene()
    async with scene.running():
        await asyncio.sleep(3600)
        await scene.create("a")
        await asyncio.sleep(0.1)
    assert len(scene.notes.lists) == 1
    assert scene.notes.events == [("ADDED", "a")]
    assert scene.asked("WATCH") <= 60


class _LagsBehind(SandboxTransport):
    """An API server whose next so many lists show an older version."""

    older_lists = 0
    version = 0

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        if "limit=" in path and self.older_lists:
            self.older_lists -= 1
            path += f"&resourceVersion={self.version}&resourceVersionMatch=Exact"
        return await super().request(method, path, body=body, headers=headers)


@virtually
@pytest.mark.parametrize(("older_lists", "told"), [(3, [["a", "b"]]), (100, [["a"]])])
async def test_a_list_older_than_what_was_seen_is_believed_only_when_it_stays_so(
    older_lists: int, told: list[list[str]]
) -> None:
    """An API server that lags behind would have what is new look deleted."""
    scene = Scene()
    lagging = _LagsBehind(scene.cluster)
    scene.list_watch = scene.new_list_watch(lagging)
    async with scene.running():
        await scene.create("a")
        lagging.version = scene.cluster.store.version
        await scene.create("b")
        await asyncio.sleep(1)
        lagging.older_lists = older_lists
        scene.list_watch.relist()
        await asyncio.sleep(120)
    assert scene.notes.lists[1:2] == told


async def several(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five objects in pages of two."""
    monkeypatch.setattr(listing, "PAGE_OBJECTS_MAX", 2)
    for name in "abcde":
        await scene.create(name)


@virtually
async def test_a_list_is_reported_page_by_page_and_no_page_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """5,000 pods at once would take more memory than all that a service keeps of them."""
    scene = Scene()
    await several(scene, monkeypatch)
    pages: list[ListPage] = []
    held: list[int] = []

    async def listed(several_pages: AsyncIterator[ListPage]) -> None:
        async for page in several_pages:
            pages.append(page)
            held.append(sum(len(each.items) for each in pages))

    monkeypatch.setattr(scene.notes, "listed", listed)
    async with scene.running():
        await scene.create("f")
        await asyncio.sleep(0.1)
    assert held == [2, 2, 1]
    assert scene.notes.events == [("ADDED", "f")]


@virtually
async def test_a_list_that_fails_between_two_pages_is_reported_again_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene()
    await several(scene, monkeypatch)
    faults = iter([Fault(status=410), Fault(status=503)])
    scene.fault = lambda _method, path: next(faults, None) if "continue=" in path else None
    async with scene.running():
        await asyncio.sleep(2 * RETRY_CAP_S)
    assert scene.notes.lists == [["a", "b", "c", "d", "e"]]


@virtually
async def test_a_sink_that_gives_up_a_list_gets_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As watch-ingest does that finds a contradiction, and says everything in a new epoch."""
    scene = Scene()
    await several(scene, monkeypatch)
    whole, begun = scene.notes.listed, count(1)

    async def listed(pages: AsyncIterator[ListPage]) -> None:
        if next(begun) > 1:
            await whole(pages)
            return
        await anext(pages)
        scene.list_watch.relist()

    monkeypatch.setattr(scene.notes, "listed", listed)
    async with scene.running():
        await asyncio.sleep(1)
    assert scene.notes.lists == [["a", "b", "c", "d", "e"]]
