"""What a service answers to over HTTP."""

from __future__ import annotations

import socket

import aiohttp
import pytest

from services.chassis.metrics import Metrics
from services.chassis.probes import serve_probes
from services.chassis.wiring import Probes

ANSWERED = ("/healthz", "/readyz", "/metrics")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_nothing_but_probes_and_metrics_is_answered(method: str) -> None:
    """No endpoint ends a process, and none changes anything."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with serve_probes(port, Metrics(), Probes()), aiohttp.ClientSession() as session:
        for path in ("/", "/exit", "/api/state", "/shutdown", *ANSWERED):
            async with session.request(method, f"http://127.0.0.1:{port}{path}") as answer:
                is_known = method == "GET" and path in ANSWERED
                assert (answer.status < 404) == is_known or answer.status == 503, path
