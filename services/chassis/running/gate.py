"""The gate that effects go through: a bounded number in flight, and who goes first.

1. A free slot goes to the effect that something waits for (PROMPT), in order of arrival.
2. Effects that nothing waits for (PATIENT) get what is left, and a part of the slots at most: their
   writes cost the API server what the others' writes then wait for.
3. Every `PATIENT_EVERY`th slot goes to a patient one that waits, so that none waits for ever.

Which effects are prompt is declared by the effect's value (`stage.py`); a gate knows no keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.running.stage import Urgency

PATIENT_SHARE = 4
"""Patient effects have one slot in so many, and at least one."""
PATIENT_EVERY = 16


class Gate:
    """Slots for effects in flight; made and used in one event loop."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._patient_room = max(1, slots // PATIENT_SHARE)
        self._granted = 0
        self._lines: dict[Urgency, deque[asyncio.Future[None]]] = {
            urgency: deque() for urgency in Urgency
        }

    @asynccontextmanager
    async def slot(self, urgency: Urgency) -> AsyncIterator[None]:
        """Wait for a slot and hold it while the block lasts."""
        await self._enter(urgency)
        try:
            yield
        finally:
            self._leave(urgency)

    async def _enter(self, urgency: Urgency) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines[urgency].append(turn)
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._leave(urgency)  # it was granted in the same moment
            raise

    def _leave(self, urgency: Urgency) -> None:
        self._free += 1
        if urgency is Urgency.PATIENT:
            self._patient_room += 1
        self._grant()

    def _grant(self) -> None:
        while self._free and (urgency := self._next()) is not None:
            turn = self._lines[urgency].popleft()
            if turn.cancelled():
                continue  # it was cancelled while it waited, and has not run since
            self._free -= 1
            self._granted += 1
            if urgency is Urgency.PATIENT:
                self._patient_room -= 1
            turn.set_result(None)

    def _next(self) -> Urgency | None:
        """Whose turn it is."""
        prompt = bool(self._lines[Urgency.PROMPT])
        patient = bool(self._lines[Urgency.PATIENT]) and self._patient_room > 0
        if prompt and patient:
            is_patients = self._granted % PATIENT_EVERY == PATIENT_EVERY - 1
            return Urgency.PATIENT if is_patients else Urgency.PROMPT
        if prompt:
            return Urgency.PROMPT
        return Urgency.PATIENT if patient else None
