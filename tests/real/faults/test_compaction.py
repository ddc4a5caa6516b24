"""Versions that nobody knows any more: a list-watch lists again, and no service starts again."""

from __future__ import annotations

import asyncio
import random
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from services.chassis.kube import listing as list_watch
from services.chassis.kube.http import HttpTransport, load_configuration
from services.chassis.kube.listing import ListWatch, Watched, items_of, list_all
from services.chassis.kube.port import (
    KubeClient,
    ListPage,
    Resource,
    Response,
    WatchEvent,
)
from services.chassis.process.clock import SystemClock
from services.chassis.process.errors import Expired
from services.roster import NAMES
from tests.e2e.following import WIDER, WIDTH, ordeal
from tests.e2e.killing import pids_of
from tests.e2e.watching import Cluster
from tests.patience import patient
from tests.real.faults.compacting import compact, forget_everything
from tools.real.pair import Pair

COVERS = (
    "services/chassis/kube/listing.py",
    "services/chassis/kube/http.py",
    "services/watch_ingest/adapters/ingesting.py",
)

pytestmark = [pytest.mark.real, pytest.mark.e2e]
CONFIG_MAP = Resource("", "v1", "configmaps", "ConfigMap")
NS = "default"
PATIENCE_S = patient(60.0)
POLL_S = 0.05


class Gate:
    """The API server's transport; holds watches back, and keeps what was reported."""

    def __init__(self, inner: HttpTransport) -> None:
        self.may_watch = asyncio.Event()
        self.may_watch.set()
        self.lines: list[bytes] = []
        self.statuses: list[int] = []
        self._inner = inner

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request, as it is; its status is kept."""
        answer = await self._inner.request(method, path, body=body, headers=headers)
        self.statuses.append(answer.status)
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """A watch, once it may begin; its lines are kept."""
        await self.may_watch.wait()
        async with self._inner.stream(path, headers=headers, silence_s=silence_s) as lines:
            yield self._kept(lines)

    async def _kept(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            self.lines.append(line)
            yield line


class Notes:
    """A sink that keeps what it is reported, by name."""

    def __init__(self) -> None:
        self.lists: list[list[str]] = []
        self.events: list[tuple[str, str]] = []

    async def listed(self, pages: AsyncIterator[ListPage]) -> None:
        """A list."""
        self.lists.append([item["metadata"]["name"] for item in await items_of(pages)])

    async def seen(self, event: WatchEvent) -> None:
        """An event."""
        self.events.append((event.type.value, event.object["metadata"]["name"]))


class Scene:
    """ConfigMaps under a label of their own, and a list-watch of them on the API server."""

    def __init__(self, transport: HttpTransport) -> None:
        self.gate = Gate(transport)
        self.label = f"t{uuid.uuid4().hex[:12]}"
        self.kube = KubeClient(transport, "others")
        self.notes = Notes()
        self.watched = Watched(CONFIG_MAP, NS, label_selector=f"app={self.label}")
        self.list_watch = ListWatch(
            KubeClient(self.gate, "listing"),
            self.watched,
            clock=SystemClock(),
            random=random.Random(1),
        )
        self.made: dict[str, str] = {}

    async def create(self, name: str) -> None:
        """Create one; its uid is kept for its end."""
        full = f"{self.label}-{name}"
        body = {"kind": "ConfigMap", "metadata": {"name": full, "labels": {"app": self.label}}}
        created = await self.kube.create(CONFIG_MAP, NS, body)
        self.made[name] = created["metadata"]["uid"]

    async def delete(self, name: str) -> None:
        """Delete one."""
        await self.kube.delete(CONFIG_MAP, NS, f"{self.label}-{name}", uid=self.made.pop(name))

    def names(self, names: Sequence[str]) -> list[str]:
        """Names as the test gave them."""
        return [name.removeprefix(f"{self.label}-") for name in names]


@pytest.fixture
async def scene(pair: Pair) -> AsyncIterator[Scene]:
    """A list-watch that is not running yet; what it watched is deleted at the end."""
    transport = HttpTransport(await load_configuration(str(pair.kubeconfig)))
    scene = Scene(transport)
    yield scene
    for name in [*scene.made]:
        await scene.delete(name)
    await transport.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the API server will say."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - another process decides
            await asyncio.sleep(POLL_S)


async def test_a_watch_whose_version_nobody_knows_any_more_lists_again(
    pair: Pair, scene: Scene
) -> None:
    """The API server says 410 in an ERROR event of a watch that it has answered with 200."""
    await scene.create("a")
    running = asyncio.create_task(scene.list_watch.run(scene.notes))
    await until(lambda: bool(scene.notes.lists))
    await scene.create("b")
    await until(lambda: len(scene.notes.events) == 1)
    scene.gate.may_watch.clear()
    await forget_everything(pair)
    await scene.delete("a")
    await scene.create("c")
    began_s = time.monotonic()
    scene.gate.may_watch.set()
    await until(lambda: len(scene.notes.lists) == 2)
    sys.stdout.write(f"a watch expired: listed again after {time.monotonic() - began_s:.1f} s\n")
    assert scene.names(scene.notes.lists[1]) == ["b", "c"]
    errors = [line for line in scene.gate.lines if b'"ERROR"' in line]
    assert len(errors) == 1
    assert b'"code":410' in errors[0]
    await scene.create("d")
    await until(lambda: len(scene.notes.events) == 2)
    assert scene.names([name for _, name in scene.notes.events]) == ["b", "d"]
    running.cancel()
    await asyncio.wait((running,))


async def test_a_list_whose_continue_token_expired_begins_again(
    pair: Pair, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is reported of half a list; the next try has everything that exists then."""
    monkeypatch.setattr(list_watch, "PAGE_OBJECTS_MAX", 2)
    for name in "abcde":
        await scene.create(name)
    kube = KubeClient(scene.gate, "listing")
    pages = kube.list_pages(CONFIG_MAP, NS, label_selector=scene.watched.label_selector, limit=2)
    assert len((await anext(pages)).items) == 2
    await forget_everything(pair)
    with pytest.raises(Expired):
        await anext(pages)
    assert scene.gate.statuses[-1] == 410
    items, _version = await list_all(kube, scene.watched)
    assert scene.names([item["metadata"]["name"] for item in items]) == [*"abcde"]


async def test_a_running_system_goes_on_when_every_version_is_forgotten_during_a_resize(
    cluster: Cluster, pair: Pair
) -> None:
    """No process ends, and nothing is launched that was not requested."""
    before = {service: pids_of(cluster.system, service) for service in NAMES}
    async with ordeal(cluster, "compacted") as job:
        pes = len(job.job.of("pes"))
        await job.resize(WIDER)
        await forget_everything(pair)
        job.mark_fault_over()
        await job.converge("versions forgotten", WIDER, pes + WIDER - WIDTH)
        await compact(pair)
        await job.resize(WIDTH)
        await job.converge("etcd compacted", WIDTH, pes)
    log = (cluster.system.state / "logs" / "watch-ingest.log").read_text()
    sys.stdout.write(f"{log.count('watch_expired')} watches expired, ")
    sys.stdout.write(f"{log.count('lease_lost')} times the lease was lost\n")
    assert "watch_expired" in log or "lease_lost" in log, "nothing was forgotten"
    assert {service: pids_of(cluster.system, service) for service in NAMES} == before
