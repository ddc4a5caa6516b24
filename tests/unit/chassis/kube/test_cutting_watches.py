"""A watch that is cut in the middle is closed at once."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from services.chassis.kube.http import HttpTransport, load_configuration
from tests.stubborn import dialled, stubborn_server
from tests.unit.chassis.kube.test_http import write_kubeconfig

__all__ = ["dialled"]


async def test_closing_the_transport_leaves_no_watch_open(
    tmp_path: Path, dialled: list[socket.socket]
) -> None:
    """A server that is slow to say goodbye does not outlive us in a connection."""
    async with stubborn_server() as (server, authority):
        trusted = tmp_path / "ca.crt"
        trusted.write_text(authority)
        configuration = await load_configuration(str(write_kubeconfig(tmp_path, {})))
        configuration.host, configuration.ssl_ca_cert = server, str(trusted)
        transport = HttpTransport(configuration)
        async with transport.stream("/pods?watch=1", headers={}, silence_s=30.0) as lines:
            assert await anext(lines) == b"{}"
        await transport.close()
        await asyncio.sleep(0)
        assert [each.fileno() for each in dialled] == [-1]
