"""What a service is given: the outside world as ports (`Runtime`), a stage's parts (`Wiring`).

`hosting.py` fills a Runtime for a process, simulation fills one with the in-memory log, an
in-process transport and a virtual clock.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from services.chassis.kube.port import KubeClient
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Bus
from services.chassis.process.clock import Clock
from services.chassis.process.metrics import Metrics
from services.chassis.running.stage import Stage
from services.chassis.table.table import Table


@dataclass
class Probes:
    """What `/readyz` asks (`probes.py`); a service sets `is_ready` once it knows."""

    is_ready: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Runtime:
    """The outside of one service; setting `stopping` begins its drain.

    `instance` is this instance's name, which a process that starts in its place has again; empty:
    it has none.
    """

    service: str
    bus: Bus
    kube: KubeClient
    clock: Clock
    random: random.Random
    new_id: Callable[[], str]
    prefix: str = "millrace"
    instance: str = ""
    namespaces: tuple[str, ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    probes: Probes = field(default_factory=Probes)


@dataclass(frozen=True)
class Wiring:
    """What a stage is made of: its table (empty yet), its writer, and the runtime's ports.

    Results of effects that are no Kubernetes objects enter the table under a kind of the stage's
    own (`table.observe(...)`), or wake their key by `wake(key)`.
    """

    table: Table
    writer: Writer
    runtime: Runtime
    wake: Callable[[Hashable], None]


MakeStage = Callable[[Wiring], Stage[Any, Any, Any]]
"""A service's factory; the table takes the stage's `kinds` and `indexes` after it."""
