"""Requests wait for what they are about, and cost nothing while anything else changes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from contracts.facts import Epoch, Fact, FactType
from services.chassis.log.bus import Partition
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.pe_gateway.adapters import intake
from services.pe_gateway.adapters.watching import About, Topic, Watching
from tests.builders import Builder, a_job, a_pe, a_pod

PARTITION = Partition("p", 0)
EPOCH = Epoch(1, 1, "c")
OF_JOB = Topic(About.JOB, "default", "shop")
PE_0 = Topic(About.PE, "default", "shop", 0)
WHERE_0 = Topic(About.ADDRESS, "default", "shop", 0)
WHERE_1 = Topic(About.ADDRESS, "default", "shop", 1)


class Facts:
    """A table of objects, and those who wait on it."""

    def __init__(self) -> None:
        self.table = Table(intake.INDEXES)
        self.watching = Watching(self.table)
        self.version = 100

    def see(self, builder: Builder) -> None:
        """An object is added or changed."""
        self.version += 1
        self._apply(replace(builder.entry(), resource_version=self.version), FactType.MODIFICATION)

    def lose(self, builder: Builder) -> None:
        """An object is gone."""
        self.version += 1
        self._apply(replace(builder.entry(), resource_version=self.version), FactType.DELETION)

    def _apply(self, entry: Entry, type_: FactType) -> None:
        data = None if type_ is FactType.DELETION else entry.data
        fact = Fact(type_, *entry.ref, entry.uid, entry.resource_version, EPOCH, "shop", data)
        for change in self.table.apply(fact, PARTITION):
            for each in (change.old, change.new):
                if each is not None:
                    self.watching.note(each)


def running(pe: int = 0, launch: int = 1, ip: str = "10.0.0.1") -> Any:
    return a_pod(pe_id=pe, launch=launch).with_status(phase="Running", podIP=ip)


def hand_over(generation: int) -> dict[str, Any]:
    return {"generation": generation, "pes": {"0": 1}, "complete": False}


@pytest.fixture
def facts() -> Facts:
    found = Facts()
    found.see(a_job().with_status(id=7))
    for pe in (0, 1):
        found.see(a_pe(pe_id=pe).with_status(launchCount=1))
        found.see(running(pe))
    return found


async def woken(facts: Facts, topic: Topic, *changes: Builder) -> bool:
    """Whether somebody who waits on a topic wakes when these objects change."""
    waiting = asyncio.create_task(facts.watching.changed("me", [topic], 0.05))
    await asyncio.sleep(0)
    for each in changes:
        facts.see(each)
    return await waiting


@pytest.mark.parametrize(
    ("topic", "change", "wakes"),
    [
        (WHERE_0, running(ip="10.0.0.2"), True),
        (WHERE_0, running(1, ip="10.0.0.2"), False),
        (WHERE_0, running().with_status(message="busy"), False),
        (WHERE_0, a_pod().in_phase("Failed"), True),
        (WHERE_0, a_pe().with_status(launchCount=2), True),
        (WHERE_0, a_pe().with_status(launchCount=1, connectivity="Full"), False),
        (PE_0, a_pe().with_status(launchCount=2), True),
        (PE_0, a_pe().with_spec(appTraceLevel="debug").with_status(launchCount=1), True),
        (PE_0, a_pe(pe_id=1).with_status(launchCount=2), False),
        (OF_JOB, a_job().with_status(id=7, phase="Resizing"), False),
        (OF_JOB, a_job().with_status(id=7, handOver=hand_over(1)), True),
        (OF_JOB, a_job().with_status(id=7, hasEnded=True), True),
        (OF_JOB, a_job("mall").with_status(id=8), False),
    ],
)
async def test_a_request_wakes_by_what_it_waits_for_and_by_nothing_else(
    facts: Facts, topic: Topic, change: Builder, wakes: bool
) -> None:
    assert await woken(facts, topic, change) is wakes
    assert facts.watching.count == 0


async def test_a_peer_that_comes_later_wakes(facts: Facts) -> None:
    later = Topic(About.ADDRESS, "default", "shop", 9)
    pe = a_pe(pe_id=9).with_status(launchCount=1)
    assert await woken(facts, later, pe, running(9))


async def test_a_pe_that_asks_again_ends_its_older_wait(facts: Facts) -> None:
    first = asyncio.create_task(facts.watching.changed("me", [WHERE_0], 30))
    await asyncio.sleep(0)
    second = asyncio.create_task(facts.watching.changed("me", [WHERE_1], 30))
    await asyncio.sleep(0)
    assert await first is False
    facts.see(running(1, ip="10.0.0.9"))
    assert await second is True
    assert facts.watching.count == 0


async def test_five_hundred_that_wait_are_looked_up_once_for_a_fact_and_not_by_each(
    facts: Facts,
) -> None:
    """1,000 facts that are not what they wait for: no wake, one look for each fact at most."""
    pes = 500
    for pe in range(2, pes):
        facts.see(a_pe(pe_id=pe).with_status(launchCount=1))
        facts.see(running(pe))
    ends = [
        asyncio.create_task(
            facts.watching.changed(
                pe,
                [
                    OF_JOB,
                    Topic(About.PE, "default", "shop", pe),
                    Topic(About.ADDRESS, "default", "shop", (pe + 1) % pes),
                ],
                30,
            )
        )
        for pe in range(pes)
    ]
    await asyncio.sleep(0)
    looked_up = facts.watching.looked_up
    for number in range(500):
        facts.see(a_job().with_status(id=7, message=f"{number}"))
        facts.see(a_pe(pe_id=number).with_status(launchCount=1, message="x"))
    assert facts.watching.looked_up - looked_up <= 4 * 1_000
    await asyncio.sleep(0)
    assert facts.watching.count == pes
    facts.see(a_job().with_status(id=7, handOver=hand_over(1)))
    assert all(await asyncio.gather(*ends))
    assert facts.watching.count == 0
