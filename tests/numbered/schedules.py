"""Random schedules of what people and clusters do to a job that counts numbered tuples.

A schedule is made from a seed alone, so that one that fails can be repeated. Where it happens is a
`Ground`: `millrace up`, or a real node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Protocol

START: Final = 3
WIDTHS: Final = (5, 2, 8)
"""The region begins with START channels, and gets these widths one after another."""
SERVICES: Final = ("pod-state-machine", "fusion-backend", "pe-gateway", "watch-ingest")
FUSIONS: Final[Sequence[Mapping[str, Any]]] = (
    {"legacy": True},
    {"manual": 3},
    {"manual": 2},
    {"manual": 1},
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Resize:
    """Set the region's width, and wait until it is in force if `waits`."""

    width: int
    waits: bool = True


@dataclass(frozen=True, slots=True)
class Restart:
    """Restart one PE by hand: that at `place` (0 to below 1) of all PEs in their order."""

    place: float


@dataclass(frozen=True, slots=True)
class Drain:
    """Drain the node on which the PE at `place` runs, and uncordon it."""

    place: float


@dataclass(frozen=True, slots=True)
class Away:
    """Stop a service, and start it after so long."""

    service: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ResizeWithout:
    """Set the region's width while the PE at `place` finds no node for its next launch.

    `begun`: all launches have reported before.
    """

    width: int
    place: float
    begun: bool = True


Step = Pause | Resize | Restart | Drain | Away | ResizeWithout


class Ground(Protocol):
    """Where a schedule happens, for one job. Each method returns when it has happened."""

    async def resize(self, width: int, *, waits: bool) -> None:
        """Set the region's width; with `waits` return when it is in force."""
        ...

    async def restart(self, place: float) -> None:
        """Restart a PE; returns when its next launch runs."""
        ...

    async def drain(self, place: float) -> None:
        """Drain the node of a PE, and uncordon it."""
        ...

    async def away(self, service: str, seconds: float) -> None:
        """Stop a service, and start it after so long."""
        ...

    async def resize_without(self, width: int, place: float, *, begun: bool) -> None:
        """Close all nodes and restart a PE, set the width, and open the nodes again.

        `begun`: once all launches have reported.
        """
        ...


@dataclass(frozen=True, slots=True)
class Schedule:
    """What happens to one job, step by step; `fusion` as in the spec of a Job."""

    seed: int
    fusion: Mapping[str, Any]
    steps: tuple[Step, ...]


def schedule(seed: int, *, pause_s: float = 2.0, rounds: int = 1) -> Schedule:
    """The schedule of a seed: 3 → 5 → 2 → 8, and between them what else happens.

    One of the widths comes while a PE finds no node. Each pause takes at most `pause_s`. The
    fusions take turns with the seeds. A further round goes on from the last width; in it something
    else happens.
    """
    random = Random(seed)
    begun = seed % 5 != 3  # else a width waits 30 s for a launch that does not begin: few do so
    steps = [step for _ in range(rounds) for step in _round(random, pause_s, begun=begun)]
    return Schedule(seed, FUSIONS[seed % len(FUSIONS)], tuple(steps))


def _round(random: Random, pause_s: float, *, begun: bool) -> Sequence[Step]:
    steps: list[Step] = []
    without = random.choice(WIDTHS)
    for width in WIDTHS:
        steps.append(Pause(round(random.uniform(0.1, pause_s), 2)))
        steps += [_between(random) for _ in range(random.randint(0, 2))]
        waits = width == WIDTHS[-1] or random.random() < 0.7
        place = random.random()
        is_without = width == without
        steps.append(ResizeWithout(width, place, begun) if is_without else Resize(width, waits))
    steps.append(Away(random.choice(SERVICES), round(random.uniform(0.1, pause_s), 2)))
    # In the middle of a resize as well as between two: at a random place.
    steps.insert(random.randrange(1, len(steps)), Drain(random.random()))
    return steps


def _between(random: Random) -> Step:
    if random.random() < 0.7:
        return Restart(random.random())
    return Away(random.choice(SERVICES), round(random.uniform(0.1, 2.0), 2))


async def play(each: Schedule, ground: Ground) -> None:
    """Let all steps of a schedule happen, one after another."""
    for step in each.steps:
        match step:
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Resize(width, waits):
                await ground.resize(width, waits=waits)
            case Restart(place):
                await ground.restart(place)
            case Drain(place):
                await ground.drain(place)
            case Away(service, seconds):
                await ground.away(service, seconds)
            case ResizeWithout(width, place, begun):
                await ground.resize_without(width, place, begun=begun)
