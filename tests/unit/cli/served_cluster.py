"""A sandbox behind a kubeconfig, with a job of two PEs and a region; a log of it never ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox.http.answers import WatchAnswer
from sandbox.http.api import AnyAnswer, Api
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from sandbox.store.resources import POD
from tests.builders import a_job, a_parallel_region, a_pe, a_pod
from tests.sandboxed import Sandboxed

LOG_S = 60.0


class _EndlessLogs(Api):
    """The API, but for logs: one line of each pod, and then nothing more."""

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AnyAnswer:
        if "/log?" not in path:
            return super().answer(method, path, headers, body)
        watch = self.store.watch(POD, "default")
        return WatchAnswer(watch, lambda _: b"a line\n", LOG_S, bookmarks=False)


@asynccontextmanager
async def served_cluster(folder: Path) -> AsyncIterator[Path]:
    """The kubeconfig of the cluster while it is served."""
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop"))
    sandboxed.create(a_job("shopping"))
    for pe_id in (0, 1):
        sandboxed.create(a_pe("shop", pe_id).orphaned())
    sandboxed.create(a_parallel_region("shop", width=3).orphaned())
    containers = [{"name": "pe", "image": "runtime:1"}]
    pod = a_pod("shop", 0).orphaned().with_spec(containers=containers)
    sandboxed.create(pod, api_version="v1")
    api = _EndlessLogs(sandboxed.cluster.store, now=sandboxed.clock.now)
    async with serving(api) as port:
        write_kubeconfig(folder / "kubeconfig", port=port)
        yield folder / "kubeconfig"
