"""Both sides of the differential tests, once for the whole session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.real.differential.furnishing import Arena, arena
from tests.real.differential.playing import Outcomes
from tests.real.differential.steps import Exchange

T = TypeVar("T")
SETTING = "MILLRACE_KUBECONFIG"


class Bout:
    """The arena and the event loop that it lives in, for tests that are plain functions."""

    def __init__(self, loop: asyncio.AbstractEventLoop, both: Arena) -> None:
        self._loop = loop
        self.both = both

    def play(self, exchange: Exchange) -> tuple[Outcomes, Outcomes]:
        """The outcomes of the sandbox and of the real server."""
        return self.run(self.both.play(exchange))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the loop of the arena."""
        return self._loop.run_until_complete(work)


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """The kubeconfig of a real cluster, or skip."""
    given = os.environ.get(SETTING, "")
    if not given:
        pytest.skip(f"{SETTING} is not set: `make real-up` brings up a real API server")
    return Path(given)


@pytest.fixture(scope="session")
def bout(kubeconfig: Path) -> Iterator[Bout]:
    """Both sides, ready."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        stack = AsyncExitStack()
        both = loop.run_until_complete(stack.enter_async_context(arena(kubeconfig)))
        try:
            yield Bout(loop, both)
        finally:
            loop.run_until_complete(stack.aclose())
            asyncio.set_event_loop(None)
