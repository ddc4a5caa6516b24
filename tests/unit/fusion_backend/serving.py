"""A server of bundles on this machine, and what a fetcher needs to reach it."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.test_utils import TestServer

from services.fusion_backend.adapters.bundles.fetching import FetchLimits, HttpFetcher
from services.fusion_backend.core.spec.addresses import networks_of

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
HOST = "bundles.example"


@dataclass
class Served:
    """What is behind a server's paths, or behind every other, and who asked."""

    scheme: str
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[web.Request] = field(default_factory=list)
    port: int = 0
    otherwise: Answer | None = None

    def url(self, path: str) -> str:
        """The URL of a path, by name."""
        return f"{self.scheme}://{HOST}:{self.port}{path}"

    def at(self, path: str, content: bytes = b"", **how: object) -> str:
        """Serve bytes, and give their URL; `how` is status and headers."""

        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(body=content, **how)  # type: ignore[arg-type]

        self.answers[path] = answer
        return self.url(path)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.requests.append(request)
        found = self.answers.get(request.path, self.otherwise)
        return await found(request) if found else web.Response(status=404)


@contextlib.asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[Served]:
    """A server on a free port of 127.0.0.1."""
    served = Served("https" if context else "http")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", served.answer)
    async with TestServer(app, scheme=served.scheme) as server:
        if context is not None:
            await server.close()
            server = TestServer(app, scheme="https")
            await server.start_server(ssl=context)
        assert server.port is not None
        served.port = server.port
        try:
            yield served
        finally:
            await server.close()


async def to_this_machine(host: str, port: int) -> Sequence[str]:
    """Every name is this machine."""
    return ["127.0.0.1"]


def fetcher(limits: FetchLimits | None = None, *, ca_file: str = "") -> HttpFetcher:
    """A fetcher that may go to this machine, whatever a host is called."""
    return HttpFetcher(
        limits, allowed=networks_of(["127.0.0.1"]), ca_file=ca_file, resolve=to_this_machine
    )
