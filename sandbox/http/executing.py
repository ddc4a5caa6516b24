"""`kubectl exec`: a command beside a container, over a WebSocket (`v5.channel.k8s.io`).

The first byte of a message is its channel: 0 to 2 are input, output and errors, 3 is the Status at
the end, 4 the size of a terminal, and 255 closes the channel of the next byte. The WebSocket is
aiohttp's; server.py hands over connections that ask for one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Any, Final, Protocol

import orjson
from aiohttp import WSMsgType, web

from sandbox.containers.children import NotStarted
from sandbox.containers.exec_sessions import ExecSession, Output
from sandbox.http.answers import Answer, refusal
from sandbox.http.authenticating import Gate
from sandbox.http.routing import no_such_path, split_path, target_of
from sandbox.store.errors import ApiError, bad_request
from sandbox.store.resources import POD
from sandbox.store.store import Store

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STATUS, RESIZE, CLOSE = 0, 3, 4, 255
PART_BYTES: Final = 32 * 1024
DRAIN_S: Final = 1.0
"""How long outputs are read after the end of the command."""


class Execute(Protocol):
    """Runs words beside a container of the pod of a uid; None if that does not run."""

    def __call__(
        self, uid: str, container: str, words: tuple[str, ...], *, has_terminal: bool
    ) -> Awaitable[ExecSession | None]: ...


class Executing:
    """Answers requests for a WebSocket."""

    def __init__(self, store: Store, execute: Execute, gate: Gate | None = None) -> None:
        self._store = store
        self._execute = execute
        self._gate = gate or Gate()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Run the command of a request, and speak for it until it ends or its client goes."""
        if (refused := self._gate.refused(request.headers.get("origin", ""))) is not None:
            return _response(refused)
        try:
            session = await self._session(request)
        except ApiError as error:
            return _response(refusal(error))
        socket = web.WebSocketResponse(protocols=PROTOCOLS)
        try:
            await socket.prepare(request)
            await _converse(socket, session)
        finally:
            await session.close()
        return socket

    async def _session(self, request: web.BaseRequest) -> ExecSession:
        """Start what a request names. Raises ApiError."""
        path, query = split_path(request.raw_path)
        target = target_of(path)
        if target is None or (target.plural, target.subresource) != ("pods", "exec"):
            raise no_such_path()
        offered = request.headers.get("sec-websocket-protocol", "")
        if not {each.strip() for each in offered.split(",")} & {*PROTOCOLS}:
            raise bad_request(f"the sandbox speaks {' and '.join(PROTOCOLS)} only")
        pod = self._store.get(POD, target.namespace, target.name)
        container = query.text("container") or str(pod["spec"]["containers"][0]["name"])
        words = tuple(request.rel_url.query.getall("command", []))
        if not words:
            raise bad_request("you must specify at least one command for the container")
        has_terminal = query.flag("tty")
        try:
            uid = pod["metadata"]["uid"]
            session = await self._execute(uid, container, words, has_terminal=has_terminal)
        except NotStarted as problem:
            raise bad_request(str(problem)) from None
        if session is None:
            raise bad_request(f'container not found ("{container}"): it does not run here')
        if not query.flag("stdin"):
            session.close_input()
        return session


async def _converse(socket: web.WebSocketResponse, session: ExecSession) -> None:
    """Carry input and outputs, until the command has ended or the client is gone."""
    outputs = [
        asyncio.create_task(_send_all(socket, channel, output))
        for channel, output in session.outputs.items()
    ]
    listening = asyncio.create_task(_listen(socket, session))
    ending = asyncio.create_task(session.child.ended())
    try:
        await asyncio.wait({listening, ending}, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            await asyncio.wait(outputs, timeout=DRAIN_S)
            await socket.send_bytes(bytes([STATUS]) + orjson.dumps(status_of(ending.result())))
            await socket.close()
    finally:
        tasks = [*outputs, listening, ending]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _send_all(socket: web.WebSocketResponse, channel: int, output: Output) -> None:
    while data := await output.read(PART_BYTES):
        await socket.send_bytes(bytes([channel]) + data)


async def _listen(socket: web.WebSocketResponse, session: ExecSession) -> None:
    """Take input until the client is gone."""
    async for message in socket:
        if message.type is not WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel == STDIN:
            await session.write(data)
        elif channel == CLOSE and data[:1] == bytes([STDIN]):
            session.close_input()
        elif channel == RESIZE:
            with contextlib.suppress(ValueError, AttributeError):  # no size: the old one stays
                size = orjson.loads(data)
                session.resize(int(size.get("Height", 0)), int(size.get("Width", 0)))


def status_of(exit_code: int) -> dict[str, Any]:
    """The Status that says how a command ended."""
    if exit_code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {exit_code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(exit_code)}]},
    }


def _response(answer: Answer) -> web.Response:
    return web.Response(status=answer.status, body=answer.body, headers=dict(answer.headers))
