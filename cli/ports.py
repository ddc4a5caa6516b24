"""Free ports on loopback."""

from __future__ import annotations

import random
import socket

from cli.failing import Failure

LOOPBACK = "127.0.0.1"
PORTS = range(20_000, 32_000)
"""Below the default range of Linux for outgoing connections.

A server that is stopped and started again needs its port back; no connection may take it meanwhile.
"""
PORT_TRIES_MAX = 1000


def free_ports(count: int, draw: random.Random, *, without: int = 0) -> list[int]:
    """`count` different free ports on loopback, none of them `without`.

    Raises Failure if there are too few.
    """
    found: list[int] = []
    for _ in range(PORT_TRIES_MAX):
        port = draw.choice(PORTS)
        if port not in (*found, without) and not taken(port):
            found.append(port)
        if len(found) == count:
            return found
    raise Failure(
        f"fewer than {count} ports of {PORTS.start}–{PORTS.stop - 1} are free on {LOOPBACK}"
    )


def taken(port: int) -> bool:
    """Whether this port of loopback cannot be bound."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers bind
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
