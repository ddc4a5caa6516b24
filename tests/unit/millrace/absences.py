"""Random schedules of PEs that do not begin, in virtual time, and what they have to give.

A schedule is made from a seed alone. PEs run as they do on a cluster; each launch begins a while
after its pod is there, and PEs that a width replaces end and begin one by one. In the end each
tuple has come once and in order, or it is reported as lost: but only where a PE was killed, and
nobody else kept it then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

import msgspec

from millrace import App
from millrace.protocol import HandOver
from millrace.runtime.endings import Ending
from millrace.runtime.frames import Kind
from millrace.runtime.pe import Pe
from millrace.runtime.resuming import Kept
from planner.numbering.records import Fusion
from tests.unit.millrace.clusters import Cluster
from tests.unit.millrace.keeping import MemoryStore

COUNT = 800
KEYS = 61
START = 3
"""The width of each region in the beginning."""
SILENT_S = 1.0
"""A PE that says nothing in a hand-over for so long is given up: the services wait 8 s or 12."""
GOT: list[Number] = []
GIVEN: list[int] = []


@dataclass
class Number:
    key: str
    number: int
    count: int = 0


@dataclass
class Total:
    count: int = 0


@dataclass
class Given:
    upto: int = 0


async def numbers(given: Given) -> AsyncIterator[Number]:
    while given.upto < COUNT:
        number = given.upto
        given.upto += 1
        GIVEN.append(number)
        yield Number(f"key{number % KEYS}", number)
        if number % 20 == 0:
            await asyncio.sleep(0.02)


def passed(number: Number) -> Iterator[Number]:
    yield number


def counted(number: Number, total: Total) -> Number:
    total.count += 1
    return Number(number.key, number.number, total.count)


def kept(number: Number) -> None:
    GOT.append(number)


def region_alone() -> App:
    """Two operators in each channel, and a splitter that is no source."""
    app = App("tests::Region", keep_running=True)
    given = app.source(numbers, state=Given, name="Numbers").flat_map(passed, name="Passed")
    channel = given.parallel(START, key="key", name="One").flat_map(passed, name="Channel")
    counts = channel.key_by("key").map(counted, state=Total, name="Counted").end_parallel()
    counts.sink(kept, name="Report")
    return app


def two_regions() -> App:
    """One behind the other, with an operator between them."""
    app = App("tests::Regions", keep_running=True)
    first = app.source(numbers, state=Given, name="Numbers").parallel(START, key="key", name="One")
    between = first.flat_map(passed, name="First").end_parallel().flat_map(passed, name="Mid")
    second = between.parallel(START, key="key", name="Two").key_by("key")
    second.map(counted, state=Total, name="Counted").end_parallel().sink(kept, name="Report")
    return app


one_region, two = region_alone(), two_regions()
APPS = one_region, two
REGIONS = ("One",), ("One", "Two")
FUSIONS = Fusion("legacy"), Fusion("legacy"), Fusion("manual", 3), Fusion("manual", 2)

# ---------------------------------------------------------------------- schedules


@dataclass(frozen=True, slots=True)
class Width:
    """Another width of a region. `waits`: until all PEs of it are launched.

    `begun`: the PEs of the last one have begun first; a width waits for them, but not for ever.
    """

    region: str
    width: int
    waits: bool
    begun: bool


How = Literal["node", "import", "silent"]
Ends = Literal["stop", "kill", ""]
STOPPED: Sequence[Ends] = ("stop",)
KILLED: Sequence[Ends] = ("stop", "kill")


@dataclass(frozen=True, slots=True)
class Absent:
    """The next launches of the PE at `place` (0 to below 1) do not begin.

    They find no node, fail at their import, or say nothing. `ends`: how the one of now ends.
    """

    place: float
    how: How
    ends: Ends


@dataclass(frozen=True, slots=True)
class Back:
    """The PE at `place` of those that do not begin does so again."""

    place: float


@dataclass(frozen=True, slots=True)
class Again:
    """The PE at `place` ends, and is launched again."""

    place: float
    kill: bool


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so long."""

    seconds: float


Step = Width | Absent | Back | Again | Pause


@dataclass(frozen=True, slots=True)
class Schedule:
    """What happens to a job. `app`: which of `APPS`. `kills`: PEs may lose what they have."""

    seed: int
    app: int
    fusion: Fusion
    kills: bool
    steps: tuple[Step, ...]


def schedule(seed: int) -> Schedule:
    """The schedule of a seed; in one of three PEs are killed."""
    random = Random(seed)
    app, kills = random.randrange(len(APPS)), seed % 3 == 2
    steps: list[Step] = [Pause(0.2)]
    for _ in range(random.randint(2, 4)):
        steps += [_between(random, kills=kills) for _ in range(random.randint(0, 3))]
        region, width = random.choice(REGIONS[app]), random.randint(1, 6)
        steps += [
            Width(region, width, random.random() < 0.7, random.random() < 0.7),
            Pause(random.choice([0.0, 0.0, 0.05, 0.4])),
        ]
    return Schedule(seed, app, random.choice(FUSIONS), kills, tuple(steps))


def _between(random: Random, *, kills: bool) -> Step:
    place, ends = random.random(), random.choice(KILLED if kills else STOPPED)
    match random.randrange(6):
        case 0 | 1 | 2:
            how: How = random.choice(("node", "import", "silent"))
            nothing: Ends = ""
            return Absent(place, how, random.choice((nothing, ends)))
        case 3:
            return Back(place)
        case 4:
            return Again(place, ends == "kill")
        case _:
            return Pause(random.choice([0.01, 0.1, 0.5]))


# ---------------------------------------------------------------------- where they happen


class World(Cluster):
    """A cluster on which launches take their time, and one that says nothing is given up."""

    def __init__(self, each: Schedule) -> None:
        """The job of a schedule, in which nothing has happened."""
        super().__init__(APPS[each.app], store=MemoryStore(), fusion=each.fusion)
        self._widths = dict.fromkeys(REGIONS[each.app], START)
        self.late: set[int] = set()
        """PEs that had begun, and did not seal."""
        self.risked: set[int] = set()
        """The numbers of tuples that nobody but a killed PE may have had."""
        self._random = Random(each.seed)
        self._is_begun_awaited = True
        self._replaced: set[int] = set()
        self._failing: dict[int, asyncio.Task[None]] = {}

    async def play(self, steps: Iterable[Step]) -> None:
        """Let all steps happen, and let all PEs begin then."""
        widths: list[asyncio.Task[HandOver]] = []
        for step in steps:
            match step:
                case Pause(seconds):
                    await asyncio.sleep(seconds)
                case Width(region, width, waits, begun):
                    self._is_begun_awaited = begun
                    self._widths[region] = width
                    widths.append(asyncio.create_task(self.resize(**self._widths)))
                    await (widths[-1] if waits else asyncio.sleep(0))
                case Absent(place, how, ends):
                    await self._be_absent(_at(self._given, place), how, ends)
                case Back(place) if self.blocked:
                    self.be_back(_at(self.blocked, place))
                case Again(place, kill):
                    await self._end(_at(self._given, place), kill=kill)
        await asyncio.gather(*widths)
        for pe in sorted(self.blocked):
            self.be_back(pe)

    async def _be_absent(self, pe: int, how: How, ends: str) -> None:
        self.blocked.add(pe)
        if how != "node":
            self.silent.add(pe)
        if how == "import":
            self._failing[pe] = asyncio.create_task(self._fail(pe))
        if ends:
            await self._end(pe, kill=ends == "kill")

    async def _fail(self, pe: int) -> None:
        """Its launches end at once, and others follow."""
        while pe in self.blocked:
            await asyncio.sleep(0.3)
            if pe not in self.pods and pe in self._given and pe in self.blocked:
                self.launch(pe, self._launches[pe] + 1)

    def be_back(self, pe: int) -> None:
        """Its next launch begins."""
        self.blocked.discard(pe)
        self.silent.discard(pe)
        if pe in self._given and pe not in self.pods:
            self.launch(pe, self._launches[pe])

    async def _end(self, pe: int, *, kill: bool) -> None:
        if pe not in self.pods or (kill and self._has_source(pe)):
            return  # behind a killed source tuples come twice
        if kill:
            self.risked |= set(GIVEN) - {each.number for each in GOT} - self._kept_beside(pe)
        await (self.kill(pe) if kill else self.stop(pe))
        if pe in self._given and pe not in self.pods:
            self.launch(pe, self._launches[pe] + 1)

    def _has_source(self, pe: int) -> bool:
        there = self.pods[pe].running.description.operators
        return any(each.path == "Numbers" for each in there)

    # ------------------------------------------------------------------ as services do it

    async def _run(self, running: Pe) -> Ending:
        await asyncio.sleep(self._random.choice([0, 0, 0.01, 0.1]))
        return await running.run()

    async def _until_begun(self) -> None:
        await self.until(lambda: not self._replaced)
        if self._is_begun_awaited:
            await super()._until_begun()
            await self.until(lambda: not self._replaced)  # by another width meanwhile

    async def _until_handed_over(self, deadline_s: float, generation: int) -> None:
        giving_up = asyncio.create_task(self._give_up(generation))
        await super()._until_handed_over(deadline_s, generation)
        giving_up.cancel()
        if self.hand_over is not None and self.hand_over.complete:
            self.late |= set(filter(self._is_started, self.hand_over.gone & self.pods.keys()))

    async def _give_up(self, generation: int) -> None:
        await asyncio.sleep(SILENT_S)
        now = self.hand_over
        if now is not None and now.generation == generation:
            for pe in [e for e in now.pes if e not in self.stopping and not self._is_started(e)]:
                self.give_up(pe)

    async def _replace(self, pes: Iterable[int], plan: Mapping[int, str]) -> None:
        async def later(pe: int) -> None:
            await asyncio.sleep(self._random.choice([0, 0, 0.01, 0.1]))
            await super(World, self)._replace([pe], plan)
            self._replaced.discard(pe)

        self._replaced |= set(pes)
        await asyncio.gather(*map(later, sorted(pes)))

    # ------------------------------------------------------------------ what is kept

    def _kept_beside(self, pe: int) -> set[int]:
        """What other PEs keep, and have not written to this one, nor to one that is over."""
        frames: list[Kept] = []
        pods = [each for each in self.pods.values() if each.pe != pe and each.running.has_begun]
        for pod in pods:
            for each in pod.running.begun.parts.senders:
                outbox, is_there = each._outbox, each.route.receiver in self.pods.keys() - {pe}
                frames += (*outbox._waiting, *(outbox._written if is_there else ()))
        return set(_numbers_in(frames))


def _numbers_in(frames: Iterable[Kept]) -> Iterator[int]:
    for each in frames:
        if each.kind == Kind.TUPLES:
            yield from (one["number"] for one in msgspec.msgpack.decode(each.payload))


def _at(pes: Iterable[int], place: float) -> int:
    found = sorted(pes)
    return found[int(place * len(found))]
