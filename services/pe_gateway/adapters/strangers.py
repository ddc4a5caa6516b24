"""Connections that are not known yet to be those of PEs, and that keep no PE out.

1. A connection is a stranger until a request on it has a sender who is known.
2. One that sends no request in time, or is answered before its sender is known, is closed.
3. Where there are too many connections, a new one takes the place of a stranger: of the address
   that has most of them the oldest. So a PE comes in where others fill the server from elsewhere,
   and also where it shares an address with them: it is known long before it is the oldest.

Property: a connection of a PE that is known is never closed for another one.
"""

from __future__ import annotations

import asyncio

from aiohttp.web_protocol import RequestHandler


class Strangers:
    """By address, from the oldest. `head_s`: how long one may take to its first request."""

    def __init__(self, head_s: float) -> None:
        """Nobody is connected."""
        self._head_s = head_s
        self._of: dict[str, dict[RequestHandler, asyncio.TimerHandle]] = {}
        self._addresses: dict[RequestHandler, str] = {}

    def add(self, handler: RequestHandler, address: str) -> None:
        """A new connection."""
        timer = asyncio.get_running_loop().call_later(self._head_s, self._close, handler)
        self._of.setdefault(address, {})[handler] = timer
        self._addresses[handler] = address

    def has(self, handler: RequestHandler) -> bool:
        """Whether nobody knows whose it is."""
        return handler in self._addresses

    def sends(self, handler: RequestHandler) -> None:
        """A request came: it is not silent any more."""
        if self.has(handler):
            self._of[self._addresses[handler]][handler].cancel()

    def forget(self, handler: RequestHandler) -> None:
        """It is known now, or ends."""
        if (address := self._addresses.pop(handler, None)) is None:
            return
        self._of[address].pop(handler).cancel()
        if not self._of[address]:
            del self._of[address]

    def make_room(self) -> None:
        """Close one that is still open: of the address that has most of them the oldest."""
        while self._of:
            most = max(self._of.values(), key=len)
            handler = next(iter(most))
            is_open = handler.transport is not None
            self._close(handler)
            if is_open:
                return

    def _close(self, handler: RequestHandler) -> None:
        self.forget(handler)
        handler.force_close()
