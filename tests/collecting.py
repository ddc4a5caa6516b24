"""A collector of spans as tests need it: it keeps what it gets, or fails as its fields say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

SentSpan = dict[str, Any]


@dataclass
class Collector:
    """`answers` is the code of each answer, after `delay_s`."""

    url: str = ""
    answers: int = 200
    delay_s: float = 0.0
    spans: list[SentSpan] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, request: web.Request) -> web.Response:
        """One request of an exporter."""
        await asyncio.sleep(self.delay_s)
        if self.answers == 200:
            self.spans += spans_in(await request.json())
            self.news.set()
        return web.json_response({}, status=self.answers)


def spans_in(document: dict[str, Any]) -> list[SentSpan]:
    """The spans of a request, each with its service and its attributes as plain values."""
    found = []
    for each in document["resourceSpans"]:
        service = plain(each["resource"]["attributes"])["service.name"]
        for scope in each["scopeSpans"]:
            found += [
                {**span, "service": service, "attributes": plain(span["attributes"])}
                for span in scope["spans"]
            ]
    return found


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Attributes by name."""
    return {each["key"]: next(iter(each["value"].values())) for each in attributes}


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector that listens inside of the block."""
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        collector.url = f"http://{host}:{port}"
        yield collector
    finally:
        await runner.cleanup()
