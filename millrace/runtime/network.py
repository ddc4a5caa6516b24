"""Connects and listens over TCP, with TLS if the job asks for it. Tests have another network.

With TLS each side presents the certificate of the job, and accepts exactly this one.
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from millrace.errors import PortInUse, TlsError
from millrace.runtime.wires import Wire

PORT_BASE: Final = 10_000
"""Input port p of a PE listens on 10000 + p."""
HANDSHAKE_S: Final = 10.0
CONNECT_S: Final = 5.0
BACKLOG: Final = 128


@dataclass(frozen=True, slots=True)
class Tls:
    """The contexts of both sides; `certificate` is that of the job, in DER."""

    server: ssl.SSLContext
    client: ssl.SSLContext
    certificate: bytes


def tls_of(certificate: Path, key: Path) -> Tls:
    """The contexts from `transport.cert` and `transport.key`. Raises TlsError."""
    try:
        der = ssl.PEM_cert_to_DER_cert(certificate.read_text())
        server = _context(ssl.PROTOCOL_TLS_SERVER, certificate, key)
        client = _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key)
    except (OSError, ValueError) as problem:  # an SSLError is an OSError
        raise TlsError(f"{certificate} and {key} cannot be used for TLS: {problem}") from problem
    return Tls(server, client, der)


def _context(protocol: int, certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # PEs are known by the certificate itself
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(certificate)
    return context


class Listener(Protocol):
    """What accepts connections until it is closed."""

    def close(self) -> None:
        """Accept no more; what is connected stays."""
        ...


class Network(Protocol):
    """How wires are connected."""

    async def connect(self, host: str, port: int) -> Wire:
        """A wire that is connected and, if need be, secured. Raises OSError, TransportError."""
        ...

    async def listen(self, made: Callable[[Wire], None], host: str, port: int) -> Listener:
        """Call `made` with each connection, before anything of it is read. Raises PortInUse."""
        ...

    async def secure(self, wire: Wire) -> None:
        """Finish a connection that was accepted. Raises TlsError."""
        ...


class TcpNetwork:
    """The network of this machine."""

    def __init__(self, tls: Tls | None = None) -> None:
        """With these contexts, or without TLS."""
        self._tls = tls

    async def connect(self, host: str, port: int) -> Wire:
        """As `Network.connect`; raises TimeoutError after `CONNECT_S` or `HANDSHAKE_S`."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(CONNECT_S):
            _, wire = await loop.create_connection(self._wire, host, port)
        try:
            await self._secured(wire, is_server=False)
        except BaseException:
            wire.abort()
            raise
        return wire

    async def listen(self, made: Callable[[Wire], None], host: str, port: int) -> Listener:
        """As `Network.listen`."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.create_server(
                lambda: self._wire(made), host, port, backlog=BACKLOG, reuse_address=True
            )
        except OSError as problem:
            why = (
                "it is in use" if problem.errno == errno.EADDRINUSE else problem.strerror or problem
            )
            raise PortInUse(f"cannot listen on port {port} of {host}: {why}") from problem

    async def secure(self, wire: Wire) -> None:
        """As `Network.secure`."""
        await self._secured(wire, is_server=True)

    def _wire(self, made: Callable[[Wire], None] | None = None) -> Wire:
        def connected(wire: Wire) -> None:
            if self._tls is not None:  # the handshake has to see the first bytes
                wire.transport.pause_reading()
            if made is not None:
                made(wire)

        return Wire(connected)

    async def _secured(self, wire: Wire, *, is_server: bool) -> None:
        if self._tls is None:
            return
        context = self._tls.server if is_server else self._tls.client
        try:
            transport: Any = await asyncio.get_running_loop().start_tls(
                wire.transport,
                wire,
                context,
                server_side=is_server,
                ssl_handshake_timeout=HANDSHAKE_S,
            )
        except (OSError, EOFError) as problem:
            why = problem or "the connection ended"
            raise TlsError(f"the TLS handshake failed: {why}") from problem
        if transport is None:
            raise TlsError("the TLS handshake failed: the connection ended")
        wire.transport = transport
        shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if shown != self._tls.certificate:
            raise TlsError("the peer has another certificate than this job")
