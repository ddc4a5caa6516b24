"""Launches of PEs that run in this process, and what they have reported."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from millrace.protocol import Connectivity, Ended, Lost, Report, Started
from millrace.runtime.endings import Ending
from millrace.runtime.pe import Pe
from tests.unit.millrace.wiring import Host


@dataclass
class Pod:
    """A launch that was started. `address` is its own."""

    pe: int
    launch: int
    content: str
    running: Pe
    task: asyncio.Task[Ending]
    host: Host
    reports: list[Report] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Its IP; no two launches have the same."""
        return f"10.0.{self.pe}.{self.launch}"

    @property
    def is_connected(self) -> bool:
        """Its newest report says that all its connections are up."""
        found = [each for each in self.reports if isinstance(each, Connectivity)]
        return bool(found) and found[-1].state == "Full"

    @property
    def is_started(self) -> bool:
        """It has begun."""
        return any(isinstance(each, Started) for each in self.reports)

    @property
    def has_ended(self) -> bool:
        """It reports that nothing is left to do."""
        return Ended() in self.reports

    @property
    def lost_on_the_way(self) -> int:
        """How many of them it reported that nobody processed: no state that went back."""
        found = before = 0
        for each in self.reports:
            if isinstance(each, Lost):
                found += 0 if each.why in ("OutOfState", "WentBack") else each.tuples - before
                before = each.tuples
        return found

    @property
    def lost(self) -> int:
        """How many tuples it reported as lost."""
        return max((each.tuples for each in self.reports if isinstance(each, Lost)), default=0)


class Launches:
    """All launches of a job: those that run, by PE, and those that have ended."""

    pods: dict[int, Pod]
    ended: list[Pod]

    @property
    def every_pod(self) -> tuple[Pod, ...]:
        """All launches so far."""
        return (*self.ended, *self.pods.values())

    @property
    def lost(self) -> int:
        """How many tuples they reported as lost."""
        return sum(pod.lost for pod in self.every_pod)

    @property
    def lost_on_the_way(self) -> int:
        """How many of them nobody processed: no state that went back."""
        return sum(pod.lost_on_the_way for pod in self.every_pod)
