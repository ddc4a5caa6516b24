"""Where peers are when no gateway says it: names of the DNS, and the port labels of the job.

The names are those of the original: PE n of a job is `<job>-<n>.<domain>`, with the namespace as
domain if the pod names no other. The DNS may be seconds behind the pods.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

KEPT_S: Final = 10.0
"""How long the original keeps an address."""
_LABEL: Final = re.compile(r"(\d{1,18})\.(\d{1,9})\.(\d{1,9})\s*[=:]\s*(\d{1,9})\.(\d{1,9})@(\d+)")

LookUp = Callable[[str], Awaitable[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class PePort:
    """An input port of a PE: it listens on 10000 + `port`."""

    pe: int
    port: int


def port_labels(text: str) -> Mapping[tuple[int, int], PePort]:
    """The PE port of each (operator index, input port), of `operator_port_labels.properties`.

    Lines that are no labels, such as comments, are skipped.
    """
    found = {}
    for line in text.splitlines():
        match = _LABEL.fullmatch(line.strip())
        if match is not None:
            _, operator, port, pe, pe_port, _ = map(int, match.groups())
            found[operator, port] = PePort(pe, pe_port)
    return found


async def looked_up(name: str) -> tuple[str, ...]:
    """The addresses of a name in the DNS; () without any, or without an answer."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class Names:
    """The addresses of the PEs of a job by the DNS, each kept for `KEPT_S`."""

    def __init__(
        self,
        job: str,
        domain: str,
        *,
        look_up: LookUp = looked_up,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is looked up yet."""
        self._job = job
        self._domain = domain
        self._look_up = look_up
        self._clock = clock
        self._kept: dict[int, tuple[float, str]] = {}

    def name(self, pe: int) -> str:
        """The name of a PE in the DNS."""
        return f"{self._job}-{pe}.{self._domain}"

    async def address(self, pe: int) -> str | None:
        """The first address of a PE; None if it has none now."""
        until, address = self._kept.get(pe, (0.0, ""))
        if address and self._clock() < until:
            return address
        found = await self._look_up(self.name(pe))
        if not found:
            self._kept.pop(pe, None)
            return None
        self._kept[pe] = (self._clock() + KEPT_S, found[0])
        return found[0]
