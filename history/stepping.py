"""Steps through a replay, forth and back.

The newest steps are kept; to go back further, the replay begins again from the start and runs up to
the decision. So memory is bounded, whatever the length of a recording.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Final

from history.replaying import Replay, Step

STEPS_KEPT: Final = 64


class Stepping:
    """A place in a replay; before the first step there is no `current` one."""

    def __init__(self, replay: Replay, *, kept: int = STEPS_KEPT) -> None:
        self._replay = replay
        self._steps: AsyncGenerator[Step, None] = replay.steps()
        self._kept: deque[Step] = deque(maxlen=kept)
        self._at = 0
        self.begun = 1

    @property
    def current(self) -> Step | None:
        """The step that is shown."""
        return next((each for each in self._kept if each.number == self._at), None)

    async def forth(self) -> Step | None:
        """The next step; None at the end, where the current one stays."""
        found = await self._step(self._at + 1)
        if found is not None:
            self._at = found.number
        return found

    async def back(self) -> Step | None:
        """The step before; None at the beginning."""
        if self._at <= 1:
            return None
        found = await self._step(self._at - 1)
        assert found is not None
        self._at = found.number
        return found

    async def to(self, is_reached: Callable[[Step], bool]) -> Step | None:
        """The first step for which `is_reached` is true; None, and nothing moves, if none."""
        before = self._at
        await self._begin_again()
        return await self._run(is_reached, before)

    async def on_to(self, is_reached: Callable[[Step], bool]) -> Step | None:
        """The first step after the current one for which `is_reached` is true; None if none."""
        return await self._run(is_reached, self._at)

    async def close(self) -> None:
        """Let go of what is being read."""
        await self._steps.aclose()

    async def _run(self, is_reached: Callable[[Step], bool], before: int) -> Step | None:
        while (found := await self.forth()) is not None:
            if is_reached(found):
                return found
        stays = await self._step(before) if before else None
        self._at = stays.number if stays is not None else 0
        return None

    async def _step(self, number: int) -> Step | None:
        if self._kept and number < self._kept[0].number:
            at = self._at
            await self._begin_again()
            self._at = at
        kept = _numbered(self._kept, number)
        if kept is not None:
            return kept
        async for step in self._steps:
            self._kept.append(step)
            if step.number == number:
                return step
        return None

    async def _begin_again(self) -> None:
        """From the start; `begun` counts how often that was necessary."""
        await self._steps.aclose()
        self._steps = self._replay.steps()
        self._kept.clear()
        self._at = 0
        self.begun += 1


def _numbered(steps: Iterable[Step], number: int) -> Step | None:
    return next((each for each in steps if each.number == number), None)
