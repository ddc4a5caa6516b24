"""A bundle root behind a URL that pods of the real node reach."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from aiohttp import web

from tests.e2e.examples import BUNDLE, example_bundle

NOTHING: Mapping[str, bytes] = MappingProxyType({})


@asynccontextmanager
async def served_bundles(host: str, more: Mapping[str, bytes] = NOTHING) -> AsyncIterator[int]:
    """Serve the example, and more bundles by name, as files of the root; yields the port."""
    contents = {BUNDLE: example_bundle(), **more}

    async def bundle(request: web.Request) -> web.Response:
        content = contents.get(request.match_info["name"])
        if content is None:
            raise web.HTTPNotFound
        return web.Response(body=content, content_type="application/octet-stream")

    application = web.Application()
    application.router.add_get("/{name}", bundle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
