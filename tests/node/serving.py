"""A bundle root behind a URL that pods of the real node reach."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.e2e.examples import BUNDLE, example_bundle


@asynccontextmanager
async def served_bundles(host: str) -> AsyncIterator[int]:
    """Serve the example as a file of the root; yields the port."""
    content = example_bundle()

    async def bundle(_request: web.Request) -> web.Response:
        return web.Response(body=content, content_type="application/octet-stream")

    application = web.Application()
    application.router.add_get(f"/{BUNDLE}", bundle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, 0)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
