"""What a service answers to over HTTP."""

from __future__ import annotations

import socket
import sys

import aiohttp
import pytest

from services.chassis.process.metrics import Metrics
from services.chassis.running.probes import serve_probes
from services.chassis.running.wiring import Probes
from tests.listening import answers

ANSWERED = ("/healthz", "/readyz", "/metrics")
ANOTHER = "127.0.0.2"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_nothing_but_probes_and_metrics_is_answered(method: str) -> None:
    """No endpoint ends a process, and none changes anything."""
    port = free_port()
    async with serve_probes(port, Metrics(), Probes()), aiohttp.ClientSession() as session:
        for path in ("/", "/exit", "/api/state", "/shutdown", *ANSWERED):
            async with session.request(method, f"http://127.0.0.1:{port}{path}") as answer:
                is_known = method == "GET" and path in ANSWERED
                assert (answer.status < 404) == is_known or answer.status == 503, path


@pytest.mark.skipif(sys.platform != "linux", reason="only there all of 127.0.0.0/8 is loopback")
@pytest.mark.parametrize(("host", "is_answered"), [("", True), ("127.0.0.1", False)])
async def test_who_comes_by_another_address_than_the_named_one_gets_nothing(
    host: str, is_answered: bool
) -> None:
    """A pod answers its kubelet on every address; `millrace up` its own machine only."""
    port = free_port()
    async with serve_probes(port, Metrics(), Probes(), host=host):
        assert await answers("127.0.0.1", port)
        assert await answers(ANOTHER, port) == is_answered
