"""Where the application of `counting/` posts its counts, and what they say of tuples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from tests.node.counting.app import KEYS, SHOWN_EVERY, Count


class Counts:
    """Every count that was posted, in the order in which they came."""

    def __init__(self) -> None:
        self.seen: list[Count] = []
        self.url = ""

    def __len__(self) -> int:
        return len(self.seen)

    async def take(self, request: web.Request) -> web.Response:
        """A count more."""
        self.seen.append(msgspec.json.decode(await request.read(), type=Count))
        return web.Response()


def wrong(seen: Iterable[Count]) -> list[str]:
    """Sentences on tuples that were lost or doubled; none if every count is right."""
    found: dict[int, Counter[int]] = defaultdict(Counter)
    problems = []
    for each in seen:
        found[each.key][each.count] += 1
        due = (each.count - 1) * KEYS + each.key
        if each.number != due:
            problems.append(f"count {each.count} of key {each.key} is of {each.number}, not {due}")
    for key, counts in found.items():
        wanted = set(range(SHOWN_EVERY, max(counts) + 1, SHOWN_EVERY))
        if missing := sorted(wanted - counts.keys()):
            problems.append(f"counts {missing} of key {key} never came")
        if doubled := sorted(count for count, times in counts.items() if times > 1):
            problems.append(f"counts {doubled} of key {key} came more than once")
    return problems


@asynccontextmanager
async def served_counts(host: str) -> AsyncIterator[Counts]:
    """Take counts at `url` while the block lasts."""
    counts = Counts()
    application = web.Application()
    application.router.add_post("/", counts.take)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, 0)
        await site.start()
        counts.url = f"http://{host}:{runner.addresses[0][1]}/"
        yield counts
    finally:
        await runner.cleanup()
