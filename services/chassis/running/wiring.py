"""What a service is given: the outside world as ports (`Runtime`), a stage's parts (`Wiring`).

`hosting.py` fills a Runtime for a process, simulation fills one with the in-memory log, an
in-process transport and a virtual clock.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from contracts.topics import Topic, TopicLayout
from services.chassis.kube.port import KubeClient
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Bus
from services.chassis.process.clock import Clock
from services.chassis.process.metrics import Metrics
from services.chassis.process.spans import AddSpan
from services.chassis.running.stage import Stage
from services.chassis.table.table import Table


@dataclass
class Probes:
    """What `/readyz` asks (`probes.py`); a service sets `is_ready` once it knows.

    `reason` is what it answers while the service is not ready.
    """

    is_ready: Callable[[], bool] = lambda: True
    reason: Callable[[], str] = lambda: "starting"


@dataclass(frozen=True)
class Runtime:
    """The outside of one service; setting `stopping` begins its drain.

    `instance` is this instance's name, which a process that starts in its place has again; empty:
    it has none. `shares` are the topics whose partitions the instances of the service share.
    `release` is that of the code. `freeze` is called when more objects are kept that
    live long, so that a process can take them out of the collector's sight. No span is made without
    an `add_span`.
    """

    service: str
    bus: Bus
    kube: KubeClient
    clock: Clock
    random: random.Random
    new_id: Callable[[], str]
    topics: TopicLayout = field(default_factory=TopicLayout)
    instance: str = ""
    release: str = ""
    namespaces: tuple[str, ...] = ()
    shares: tuple[Topic, ...] = ()
    freeze: Callable[[], None] = lambda: None
    metrics: Metrics = field(default_factory=Metrics)
    add_span: AddSpan | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    probes: Probes = field(default_factory=Probes)


async def _nothing() -> None:
    """Where nothing is folded."""


@dataclass(frozen=True)
class Wiring:
    """What a stage is made of: its table (empty yet), its writer, and the runtime's ports.

    What a decision uses and is neither a fact nor an answer of the API server is passed through
    `enter(what, content)` before it counts, so that a replay knows of it. `wake(key)` wakes a key.
    After `await catch_up()` the stage's views are as new as its table.
    """

    table: Table
    writer: Writer
    runtime: Runtime
    wake: Callable[[Hashable], None]
    enter: Callable[[str, Mapping[str, Any]], None] = lambda _what, _content: None
    catch_up: Callable[[], Awaitable[None]] = _nothing


MakeStage = Callable[[Wiring], Stage[Any, Any, Any]]
"""A service's factory; the table takes the stage's `kinds` and `indexes` after it."""
