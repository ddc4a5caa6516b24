"""Who lists a namespace is not harmed by what others wrote into it, and still sees all of it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from loadtest.api import CORE, MERGE, STREAMS
from tests.e2e.watching import TEST_S_MAX, Cluster
from tests.hostile import HOSTILE, harm, visible
from tests.places import ROOT

COVERS = ("contracts/showing.py", "cli/showing.py", "cli/printing.py", "cli/documents.py")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]

JOB = "hostile"
OF_JOB = {"streams.ibm.com/job": JOB, "app.kubernetes.io/name": "x"}
# JSON cannot say a lone surrogate in UTF-8; the API server of the real pair replaces it.
TEXTS = [text for name, text in HOSTILE.items() if name != "surrogate"]


@asynccontextmanager
async def hostile_objects(cluster: Cluster) -> AsyncIterator[None]:
    """A Job that failed, its region and a pod of nobody, all of whose texts are hostile."""
    said = " ".join(text for text in TEXTS if len(text) < 100)
    region = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ParallelRegion",
        "metadata": {"name": f"{JOB}-9", "labels": OF_JOB},
        "spec": {"alias": said, "width": 3},
    }
    # A label that is no number, where `get` looks for one.
    odd = OF_JOB | {"streams.ibm.com/pe": "x", "streams.ibm.com/launch-count": "1e9"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{JOB}-pod", "labels": odd},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    }
    async with cluster.stopped("fusion-backend"), cluster.job(JOB):
        await cluster.submit(JOB, {"bundle": {"name": "nowhere.sab"}})
        await cluster.api.call("POST", f"{STREAMS}/streamsprs", region)
        await cluster.api.call("POST", f"{CORE}/pods", pod)
        refused = {"reason": "WidthRefused", "message": said, "width": 2, "observedGeneration": 1}
        failed = {"phase": "Failed", "reason": said, "message": said, "observedGeneration": 1}
        for path, status in (
            (f"streamsjobs/{JOB}/status", failed),
            (f"streamsprs/{JOB}-9/status", refused),
        ):
            await cluster.api.call("PATCH", f"{STREAMS}/{path}", {"status": status}, MERGE)
        try:
            yield
        finally:
            await cluster.api.call("DELETE", f"{STREAMS}/streamsprs/{JOB}-9")
            await cluster.api.call("DELETE", f"{CORE}/pods/{JOB}-pod?gracePeriodSeconds=0")


async def seen(cluster: Cluster, *words: str) -> tuple[int, str]:
    """What a terminal is sent by the command, and its exit code."""
    ours, theirs = os.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "cli", *words),
            *("--kubeconfig", str(cluster.system.kubeconfig)),
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env={**os.environ, "COLUMNS": "250", "TERM": "xterm-256color"},
        )
        reading = asyncio.create_task(asyncio.to_thread(_everything, ours))
        code = await process.wait()
    finally:
        os.close(theirs)
    printed = await reading
    os.close(ours)
    return code, printed.decode().replace("\r\n", "\n")


def _everything(terminal: int) -> bytes:
    printed = b""
    while True:
        try:
            more = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed: Linux says EIO
            return printed
        if not more:
            return printed
        printed += more


async def test_listing_a_namespace_with_hostile_objects_shows_them_without_harm(
    cluster: Cluster,
) -> None:
    """On a terminal, where markup and escape sequences would be obeyed."""
    async with hostile_objects(cluster):
        for words in (("get",), ("get", JOB)):
            code, printed = await seen(cluster, *words)
            assert code == 0, printed
            assert harm(printed) == ""
            assert JOB in printed
            plain = "".join(printed.split())
            assert all("".join(visible(text).split()) in plain for text in ("[/x]", ":skull:"))
            assert "[link=http://evil.example]x[/link]" in plain
            assert "\\x1b[2J" in plain
        code, printed = await seen(cluster, "scale", JOB, "[/x]\x1b[2J=3")
        assert code == 1
        assert harm(printed) == ""
        assert "has no such parallel region" in printed
