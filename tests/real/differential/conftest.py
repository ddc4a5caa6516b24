"""Both sides of the differential tests, once for the whole session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.real.differential.furnishing import Arena, arena
from tests.real.differential.playing import Outcomes
from tests.real.differential.steps import Exchange

T = TypeVar("T")
SETTING = "MILLRACE_KUBECONFIG"
AT_ONCE_MAX = 16
_LARGE_BODY = "ignore:Sending a large body:ResourceWarning"  # one exchange sends a MiB and more


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Exchanges go on beside whatever test is running, so what one of them may do, all may."""
    for item in items:
        if "bout" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings(_LARGE_BODY))


class Bout:
    """The arena and the event loop that it lives in, for tests that are plain functions.

    Watches are read for a second each, so the exchanges of the session are all played beside each
    other; a test waits for its own.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, both: Arena, exchanges: Sequence[Exchange]
    ) -> None:
        self._loop = loop
        self._gate = asyncio.Semaphore(AT_ONCE_MAX)
        self.both = both
        self._played = {
            each.name: loop.create_task(self._play(each), name=each.name) for each in exchanges
        }

    def play(self, exchange: Exchange) -> tuple[Outcomes, Outcomes]:
        """The outcomes of the sandbox and of the real server; who asks again sees a new game."""
        playing = self._played.pop(exchange.name, None)
        return self._loop.run_until_complete(playing or self._play(exchange))

    async def _play(self, exchange: Exchange) -> tuple[Outcomes, Outcomes]:
        async with self._gate:
            return await self.both.play(exchange)

    async def leave(self) -> None:
        """End what nobody waits for any more, as after a test that failed with `-x`."""
        for task in self._played.values():
            task.cancel()
        await asyncio.gather(*self._played.values(), return_exceptions=True)

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
def bout(kubeconfig: Path, request: pytest.FixtureRequest) -> Iterator[Bout]:
    """Both sides, ready, and at the exchanges that the tests of this session ask for."""
    exchanges = [
        _parameters(item)["exchange"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "exchange" in _parameters(item)
    ]
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        stack = AsyncExitStack()
        both = loop.run_until_complete(stack.enter_async_context(arena(kubeconfig)))
        playing = Bout(loop, both, exchanges)
        try:
            yield playing
        finally:
            loop.run_until_complete(playing.leave())
            loop.run_until_complete(stack.aclose())
            asyncio.set_event_loop(None)


def _parameters(item: pytest.Function) -> Mapping[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}
