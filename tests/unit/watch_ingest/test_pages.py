"""Lists of several pages: what is gone, and what is published again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import count

import pytest

from contracts.facts import FactType
from contracts.topics import PARTITIONS
from services.chassis.kube import listing
from services.watch_ingest.adapters import ingesting
from services.watch_ingest.core.publishing import Ledger
from services.watch_ingest.core.resync import Source
from tests.builders import Obj, a_job
from tests.unit.watch_ingest.test_ingesting import World, completions, facts_of
from tests.virtual_time import run_virtually


def test_a_comparison_of_several_pages_takes_nothing_for_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What one page does not show is on another one."""
    monkeypatch.setattr(listing, "PAGE_OBJECTS_MAX", 2)

    async def test() -> None:
        world = World()
        for name in "abc":
            world.sandbox.create(a_job(name))
        async with world.speaking():
            await asyncio.sleep(700)
            found = await world.said()
        assert facts_of(found, "Job") == 3 * [(FactType.ADDITION, 1)]
        assert completions(found, full=False)["Job"] == PARTITIONS

    run_virtually(test())


def test_a_contradiction_on_any_page_has_everything_published_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list in which it was found says no more; the next one is a full one."""
    monkeypatch.setattr(listing, "PAGE_OBJECTS_MAX", 2)
    looks = count(1)

    def contradicts(_ledger: Ledger, source: Source, items: Sequence[Obj]) -> bool:
        is_last = source.watched.plural == "streamsjobs" and len(items) == 1
        return is_last and next(looks) == 1

    monkeypatch.setattr(ingesting, "contradicts", contradicts)

    async def test() -> None:
        world = World()
        for name in "abc":
            world.sandbox.create(a_job(name))
        async with world.speaking():
            await asyncio.sleep(700)
            found = await world.said()
        expected = Counter({(FactType.ADDITION, 1): 3, (FactType.ADDITION, 2): 3})
        assert Counter(facts_of(found, "Job")) == expected
        assert completions(found)["Job"] == 2 * PARTITIONS
        assert "Job" not in completions(found, full=False)

    run_virtually(test())
