"""Observations are in the log before the decisions that rest on them, whenever the process ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import orjson

from contracts.decisions import DecisionRecord, Observation, Position
from contracts.topics import TopicLayout
from services.chassis.log.bus import NewRecord
from services.chassis.process.clock import LoopClock
from services.chassis.process.metrics import Metrics
from services.chassis.running.decision_log import DecisionLog
from services.chassis.running.wiring import Runtime
from tests.virtual_time import virtually


class Appended:
    """A log that takes records when it is let; each call is noted."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []
        self.lets = asyncio.Event()

    async def produce(self, records: Sequence[NewRecord]) -> None:
        await self.lets.wait()
        self.calls.append([orjson.loads(each.value) for each in records])


def new() -> tuple[DecisionLog, Appended]:
    appended = Appended()
    runtime = SimpleNamespace(
        service="fusion-backend",
        instance="one",
        bus=appended,
        clock=LoopClock(),
        random=random.Random(1),
        new_id=lambda: "id",
        topics=TopicLayout(),
        metrics=Metrics(),
    )
    return DecisionLog(cast(Runtime, runtime), "start"), appended


def decide(log: DecisionLog, observation: int) -> None:
    """Publish an observation and a decision that rests on it."""
    log.publish_observation(Observation(observation, "object", {}, {}))
    position = Position("one", "start", {}, 0, observation)
    record = DecisionRecord("fusion-backend", "ns/a", "R", now=1.0, position=position)
    log.publish("ns", "a", record, "")


def known(calls: Sequence[Sequence[Any]]) -> list[tuple[int, int]]:
    """After each call the last observation in the log, and the last that a decision rests on."""
    found, last, wanted = [], 0, 0
    for call in calls:
        for value in call:
            if "observations" in value:
                last = max([last, *(each["number"] for each in value["observations"])])
            else:
                wanted = max(wanted, value["position"]["observation"])
        found.append((last, wanted))
    return found


@virtually
async def test_no_decision_is_in_the_log_before_the_observations_that_it_rests_on() -> None:
    """Also one that is made while the log takes the first ones."""
    log, appended = new()
    decide(log, 1)
    running = asyncio.create_task(log.run())
    await asyncio.sleep(1)
    decide(log, 2)
    appended.lets.set()
    await asyncio.sleep(1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert known(appended.calls) == [(1, 0), (1, 1), (2, 1), (2, 2)]


@virtually
async def test_a_stop_publishes_all_that_is_queued() -> None:
    log, appended = new()
    appended.lets.set()
    for number in range(1, 1_200):
        decide(log, number)
    await log.flush()
    assert known(appended.calls)[-1] == (1_199, 1_199)
    assert all(last >= wanted for last, wanted in known(appended.calls))
