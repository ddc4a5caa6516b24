"""Notices that this process slept: was stopped, swapped out, or frozen with its machine.

Others may have taken over its part meanwhile, and what it was about to write may have been written,
undone and written again. So an instance that slept for longer than any session first reads what
was published meanwhile (`reconciling.py`) and writes nothing until then (`Writer`).

It is looked at twice a session, and again right before each write, so that what was decided before
the sleep is not carried out after it. A sleep between that look and the first byte of the request
is the hole that remains.
"""

from __future__ import annotations

from collections.abc import Callable

from services.chassis.process.clock import Clock

SLEPT_S = 5.0
"""Half a session of Kafka and a third of a Lease: nobody takes over from who slept for less."""
LOOKS_PERIOD_S = 2.0


class Wakefulness:
    """Calls `slept` (with how long, in seconds) once after each sleep."""

    def __init__(self, clock: Clock, slept: Callable[[float], None]) -> None:
        self._clock = clock
        self._slept = slept
        self._looked_s: float | None = None

    def look(self) -> None:
        """Compare the time with that of the last look."""
        now = self._clock.monotonic()
        last, self._looked_s = self._looked_s, now
        if last is not None and now - last > SLEPT_S:
            self._slept(now - last)

    async def run(self) -> None:
        """Look for ever; without it, nobody looking would be taken for a sleep."""
        while True:
            self.look()
            await self._clock.sleep(LOOKS_PERIOD_S)
