"""Asks the DNS for the servers behind a Service: its addresses, and the canonical host of each.

AAAA records count only where it has no A records: a Service of both families has each server in
both, and a server has to be counted once.

The name that is looked up is a pattern of the settings: in a cluster that of a headless Service of
the job's own namespace. What the answer is used for is `core/spec/provisions.py`'s business.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Protocol

from services.chassis.process.errors import Transient

_NONE = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})
"""There is no such name, or it has no address of that family; anything else may pass."""


class Resolver(Protocol):
    """Finds servers, somewhere."""

    async def hosts_of(self, name: str) -> Mapping[str, str]:
        """The canonical host of each address of a name, of one family; empty where it has none.

        Raises Transient where the DNS does not answer.
        """
        ...


class SystemResolver:
    """The resolver of this machine (or pod)."""

    def __init__(self, *, answer_s_max: float) -> None:
        self._answer_s_max = answer_s_max

    async def hosts_of(self, name: str) -> Mapping[str, str]:
        """See Resolver."""
        try:
            async with asyncio.timeout(self._answer_s_max):
                addresses = await self._addresses_of(name, socket.AF_INET)
                addresses = addresses or await self._addresses_of(name, socket.AF_INET6)
                hosts = await asyncio.gather(*map(self._host_of, addresses))
        except TimeoutError as problem:
            why = f"the DNS did not resolve {name} within {self._answer_s_max:g} s"
            raise Transient(why, outcome_unknown=False) from problem
        return dict(zip(addresses, hosts, strict=True))

    async def _addresses_of(self, name: str, family: socket.AddressFamily) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(name, None, family=family, type=socket.SOCK_STREAM)
        except socket.gaierror as problem:
            if problem.errno in _NONE:
                return []
            why = f"the DNS cannot resolve {name}: {problem.strerror}"
            raise Transient(why, outcome_unknown=False) from problem
        except UnicodeError:
            return []
        return sorted({str(address[0]) for *_, address in found})

    async def _host_of(self, address: str) -> str:
        """The name that the address is known under, else the address itself."""
        try:
            host, _ = await asyncio.get_running_loop().getnameinfo((address, 0), socket.NI_NAMEREQD)
        except socket.gaierror:
            return address
        return host
