"""The API server for clients in the same event loop, with faults on demand.

`InProcess` has the shape of the transport that clients use over HTTP, so that a simulation can run
every service and the cluster under one virtual clock. A fault is a value that says what happens to
one request; which requests it hits is decided by the caller, who passes `faults`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

from sandbox.http.answers import Answer, StreamAnswer, WatchAnswer, json_answer
from sandbox.http.api import Api
from sandbox.http.pod_proxy import ProxyAnswer
from sandbox.http.watching import chunks
from sandbox.store.errors import ApiError


class When(Enum):
    """Whether a request that fails has taken effect."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with one request.

    delay_s       how long it takes before the server sees it (the answer of a watch: before it
                  begins)
    lost          the connection breaks before or after the effect; the client cannot tell which
    status        the server answers this code with a Status instead of doing anything
    cut_after_s   a stream breaks so long after it began
    cut_after_lines  a stream breaks after so many lines
    """

    delay_s: float = 0.0
    lost: When | None = None
    status: int | None = None
    cut_after_s: float | None = None
    cut_after_lines: int | None = None


Faults = Callable[[str, str], Fault | None]
"""(method, path with query) -> what goes wrong with this request, if anything."""

NO_FAULT = Fault()


class ConnectionCut(ConnectionError):
    """The connection broke: whether the request took effect is not known."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response that is complete; header names are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class InProcess:
    """A transport to an `Api` in this process.

    `lost` and `refused` make the exceptions that clients expect from a transport: for a connection
    that broke (default `ConnectionCut`), and for a stream that was answered with an error status.
    """

    def __init__(
        self,
        api: Api,
        *,
        faults: Faults | None = None,
        lost: Callable[[str], Exception] = ConnectionCut,
        refused: Callable[[Response], Exception] | None = None,
        user_agent: str = "in-process",
    ) -> None:
        self._api = api
        self._faults = faults
        self._lost = lost
        self._refused = refused or _refused
        self._user_agent = user_agent

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request; raises what `lost` makes when its outcome is unknown to the client."""
        fault = self._fault(method, path)
        # A request is never answered within the step that sent it: other tasks come first.
        await asyncio.sleep(fault.delay_s)
        if fault.lost is When.BEFORE:
            raise self._lost(f"{method} {path}: connection lost")
        if fault.status is not None:
            return _response(_failing(fault.status))
        answer = self._api.answer(method, path, self._headers(headers), body or b"")
        if isinstance(answer, StreamAnswer | ProxyAnswer):
            raise self._lost(f"{path} has to be read as a stream from a server")
        if isinstance(answer, WatchAnswer):
            answer.watch.close()
            raise self._lost(f"{path} is a watch: it has to be read as a stream")
        if fault.lost is When.AFTER:
            raise self._lost(f"{method} {path}: connection lost")
        return _response(answer)

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch, one JSON line at a time; `silence_s` bounds the wait for the next one."""
        return self._stream(path, headers, silence_s)

    @asynccontextmanager
    async def _stream(
        self, path: str, headers: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        fault = self._fault("GET", path)
        await asyncio.sleep(fault.delay_s)
        if fault.lost is not None:
            raise self._lost(f"GET {path}: connection lost")
        if fault.status is not None:
            raise self._refused(_response(_failing(fault.status)))
        answer = self._api.answer("GET", path, self._headers(headers))
        if isinstance(answer, StreamAnswer | ProxyAnswer):
            raise self._lost(f"{path}: only a server streams it")
        if isinstance(answer, Answer):
            raise self._refused(_response(answer))
        lines = self._lines(answer, path, fault, silence_s)
        try:
            yield lines
        finally:
            await lines.aclose()
            answer.watch.close()  # a stream that was never read has nobody else to close it

    async def _lines(self, answer: WatchAnswer, path: str, fault: Fault, silence_s: float) -> Any:
        """Lines until the watch ends, falls silent or is cut."""
        loop = asyncio.get_running_loop()
        ends_at = None if fault.cut_after_s is None else loop.time() + fault.cut_after_s
        sent = 0
        stream = chunks(answer)
        while True:
            silent_at = loop.time() + silence_s
            try:
                async with asyncio.timeout_at(min(silent_at, ends_at or silent_at)):
                    chunk = await anext(stream, None)
            except TimeoutError:
                raise self._lost(f"GET {path}: the stream broke or fell silent") from None
            if chunk is None:
                return
            for line in chunk.splitlines():
                if sent == fault.cut_after_lines:
                    raise self._lost(f"GET {path}: the stream was cut")
                sent += 1
                yield line

    def _fault(self, method: str, path: str) -> Fault:
        found = self._faults(method, path) if self._faults is not None else None
        return found or NO_FAULT

    def _headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        lower = {name.lower(): value for name, value in headers.items()}
        lower.setdefault("user-agent", self._user_agent)
        return lower


def _response(answer: Answer) -> Response:
    return Response(answer.status, answer.body, answer.all_headers())


def _failing(code: int) -> Answer:
    """A server that is overloaded or restarting, as a Status."""
    reasons = {429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}
    error = ApiError(code, reasons.get(code, ""), "the simulated API server refuses", {})
    return json_answer(code, error.status())


def _refused(response: Response) -> Exception:
    status = orjson.loads(response.body)
    return ApiError(response.status, status.get("reason", ""), status.get("message", ""))
