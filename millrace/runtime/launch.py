"""What a launch of a PE is given: its identity, and what is around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from millrace.protocol import Report, Seen
from millrace.runtime.clock import Clock, SystemClock
from millrace.runtime.network import PORT_BASE, Network, Tls
from millrace.runtime.state_stores import StateStore

RUNTIME: Final = "millrace"
RECORDED_S: Final = 3.0
"""So long a launch that begins waits until losses are recorded that its first state names."""


class Gateway(Protocol):
    """What a PE needs of pe-gateway."""

    @property
    def refused(self) -> Mapping[str, int]:
        """How many reports were refused for good, by their kind."""
        ...

    def watch(self, peers: Iterable[int] = ()) -> AsyncIterator[Seen]:
        """What the PE sees of its job: now, and again at each change."""
        ...

    async def left(self, former: Iterable[int]) -> frozenset[int]:
        """Those of these PEs that the job does not have any more; none if there is no answer."""
        ...

    def report(self, report: Report) -> None:
        """Report something, in order, without waiting."""
        ...

    async def recorded(self, within_s: float | None = None) -> bool:
        """Return true when all that was reported is recorded; false if that takes too long."""
        ...


@dataclass(frozen=True, slots=True)
class Launch:
    """Which launch this is, and where it listens. `stop_s`: how long it may take to stop.

    `hands_over`: whether it takes part in hand-overs. `generation`: of the plan of its content.
    """

    pe: int
    number: int
    host: str
    stop_s: float = 30.0
    hands_over: bool = True
    generation: int = 0
    port_base: int = PORT_BASE
    version: str = RUNTIME


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is outside of a PE; a test has others."""

    gateway: Gateway
    store: StateStore
    clock: Clock = field(default_factory=SystemClock)
    network: Network | None = None
    tls: Tls | None = None
