"""`kubectl exec`: commands beside a container, over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import uvloop

from sandbox.http.executing import status_of
from sandbox.http.server import serving
from tests.patience import patient
from tests.unit.sandbox.containers.running import (
    RunningCluster,
    container,
    pod,
    processes_of,
    running,
)

Frames = dict[int, bytes]
PROTOCOL = "v5.channel.k8s.io"


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[RunningCluster, aiohttp.ClientSession]]:
    """A cluster on a socket, with a pod `p` that runs."""
    async with running(folder) as cluster:
        cluster.create(pod("p", container("touch $MILLRACE_ROOT/tmp/live; sleep 60")))
        await cluster.until(lambda: cluster.phase("p") == "Running")
        async with (
            serving(cluster.api, executing=cluster.executing) as port,
            aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
        ):
            yield cluster, session


def path_of(*words: str, name: str = "p", **query: str) -> str:
    more = "".join(f"&{key}={value}" for key, value in query.items())
    commands = "&".join(f"command={word}" for word in words)
    return f"/api/v1/namespaces/default/pods/{name}/exec?{commands}{more}"


async def read_all(socket: aiohttp.ClientWebSocketResponse) -> Frames:
    """What came by each channel, until the end."""
    found: Frames = {}
    async for message in socket:
        found[message.data[0]] = found.get(message.data[0], b"") + message.data[1:]
    return found


async def test_a_command_has_the_files_of_the_container_and_an_exit_code(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, client):
        script = "cat /tmp/live /tmp/none; echo out; exit 3"
        async with client.ws_connect(path_of("sh", "-c", script), protocols=[PROTOCOL]) as socket:
            found = await read_all(socket)
    assert found[1] == b"out\n"
    assert b"none: No such file" in found[2]
    assert orjson.loads(found[3]) == status_of(3)


async def test_input_goes_to_the_command_until_its_channel_is_closed(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, client):
        url = path_of("cat", stdin="true")
        async with client.ws_connect(url, protocols=[PROTOCOL]) as socket:
            await socket.send_bytes(b"\0some ")
            await socket.send_bytes(b"\0text")
            await socket.send_bytes(b"\xff\0")
            found = await read_all(socket)
    assert (found[1], orjson.loads(found[3])) == (b"some text", status_of(0))


def test_a_terminal_is_one_and_has_a_size(tmp_path: Path) -> None:
    """On the event loop of the sandbox, whose pipes take the output of a terminal away."""

    async def in_terminal() -> Frames:
        async with served(tmp_path) as (_, client):
            url = path_of("sh", "-c", "read x; stty size; tty", stdin="true", tty="true")
            async with client.ws_connect(url, protocols=[PROTOCOL]) as socket:
                await socket.send_bytes(b'\x04{"Width": 91, "Height": 17}')
                await socket.send_bytes(b"\0go\n")
                return await read_all(socket)

    found = uvloop.run(in_terminal())
    assert b"17 91" in found[1]
    assert b"/dev/pts/" in found[1]


async def test_a_command_ends_with_its_client_and_with_its_container(tmp_path: Path) -> None:
    async with served(tmp_path) as (cluster, client):
        groups = []
        for ends_container in (False, True):
            url = path_of("sh", "-c", "echo $$; sleep 60 %26 wait")
            async with client.ws_connect(url, protocols=[PROTOCOL]) as socket:
                groups.append(int((await socket.receive_bytes())[1:]))
                assert processes_of(groups[-1])
                if ends_container:
                    cluster.delete("p", grace_s=0)
                    async with asyncio.timeout(patient(10)):
                        await read_all(socket)
            await cluster.until(lambda: not processes_of(groups[-1]))


@pytest.mark.parametrize(
    ("path", "status", "why"),
    [
        (path_of("ls", name="none"), 404, 'pods "none" not found'),
        (path_of("ls", container="other"), 400, 'container not found ("other")'),
        (path_of(), 400, "at least one command"),
        (path_of("no-such-program"), 400, "not found in $PATH"),
        ("/api/v1/namespaces/default/pods?watch=1", 404, "could not find"),
    ],
)
async def test_what_cannot_be_run_is_refused_with_a_status(
    tmp_path: Path, path: str, status: int, why: str
) -> None:
    headers: dict[str, Any] = {
        "upgrade": "websocket",
        "connection": "upgrade",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "sec-websocket-protocol": PROTOCOL,
    }
    async with (
        served(tmp_path) as (_, client),
        client.get(path, headers=headers) as answer,
    ):
        assert answer.status == status
        assert why in (await answer.json())["message"]
