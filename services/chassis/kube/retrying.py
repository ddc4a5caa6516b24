"""Patience with an API server that is away: one request tries it, the others wait for that one.

1. A request that was never sent (`Away`) is sent again, for as long as nobody listens; so no effect
   backs off for an absence that is not its own, and all go on as soon as the server is back.
2. While it is away one request at a time is sent, with a `GrowingPause` before each: a server that
   starts is not stormed.
3. Any other end of a request is the asker's business: it may have had an effect.

Watches are not waited for: a list-watch has back-off of its own.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

from services.chassis.kube.port import Response, Transport
from services.chassis.process.backoff import GrowingPause
from services.chassis.process.clock import Clock
from services.chassis.process.errors import Away, Transient
from services.chassis.process.log_lines import log_of

AWAY_FIRST_S = 0.1


class PatientTransport:
    """A transport whose requests wait while nobody listens at the API server's address."""

    def __init__(self, transport: Transport, *, clock: Clock, random: random.Random) -> None:
        self._transport = transport
        self._clock = clock
        self._is_away = False
        self._pause = GrowingPause(AWAY_FIRST_S, random.random)
        self._trying = asyncio.Lock()
        self._log = log_of("reaching")

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request, sent once somebody listens; raises Transient, but never Away."""
        while True:
            if not self._is_away:
                try:
                    return await self._transport.request(method, path, body=body, headers=headers)
                except Away as problem:
                    self._note_away(problem)
            async with self._trying:
                if not self._is_away:
                    continue
                await self._clock.sleep(self._pause.next_s())
                try:
                    answer = await self._transport.request(method, path, body=body, headers=headers)
                except Away:
                    continue
                except Transient:
                    self._note_back()
                    raise
                self._note_back()
                return answer

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch, as it is."""
        return self._transport.stream(path, headers=headers, silence_s=silence_s)

    def _note_away(self, problem: Away) -> None:
        if not self._is_away:
            self._is_away = True
            self._pause.begin()
            self._log.warning("api_server_away", problem=str(problem))

    def _note_back(self) -> None:
        self._is_away = False
        self._log.info("api_server_back")
