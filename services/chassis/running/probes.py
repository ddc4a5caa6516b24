"""Health and metrics over HTTP: `/healthz`, `/readyz`, `/metrics`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from services.chassis.process.metrics import CONTENT_TYPE, Metrics
from services.chassis.running.wiring import Probes

OFF = 0


@asynccontextmanager
async def serve_probes(
    port: int, metrics: Metrics, probes: Probes, *, host: str = ""
) -> AsyncIterator[None]:
    """Serve while the context lasts, on one address or on all of them; port 0 serves nothing."""
    if port == OFF:
        yield
        return
    runner = web.AppRunner(_application(metrics, probes), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host or None, port).start()
        yield
    finally:
        await runner.cleanup()


def _application(metrics: Metrics, probes: Probes) -> web.Application:
    async def healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_request: web.Request) -> web.Response:
        if probes.is_ready():
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{probes.reason()}\n")

    async def show_metrics(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.text().encode(), headers={"content-type": CONTENT_TYPE})

    application = web.Application()
    application.router.add_get("/healthz", healthz)
    application.router.add_get("/readyz", readyz)
    application.router.add_get("/metrics", show_metrics)
    return application
