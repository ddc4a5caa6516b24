"""What recording a decision, and replaying it, costs beside the decision itself.

    make bench-replay ARGS="RECORDING..."

Each decision of a recording is made again as a replay does it. Measured are CPU seconds of one run:
`decide` alone; the snapshot that it is made of; the record that a service makes of it (the digests
of its effects and of the objects that were read, and its JSON); the comparison of a replay; and the
facts and observations before it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from history.comparing import Compared, again_of, compared
from history.entries import Decided
from history.facts import SourceFacts
from history.recordings import RecordingSource
from history.sources import Source
from history.stages import stage_of
from history.starts import DecisionsAt, StartFound, find_starts, observations_of
from services.chassis.process.collecting import collector_paused, freeze
from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.recording import MadeOf, record_of
from services.chassis.running.replaying import Remade, Replica
from services.chassis.running.stage import Decision
from services.roster import BY_NAME, DECIDING

AIMED_RATIO: Final = 1.2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """What the decisions of a service cost, in seconds of CPU."""

    service: str
    decisions: int = 0
    decide_s: float = 0.0
    snapshot_s: float = 0.0
    record_s: float = 0.0
    compare_s: float = 0.0
    before_s: float = 0.0

    @property
    def recorded_ratio(self) -> float:
        """A decision that is recorded, beside `decide` alone."""
        return (self.decide_s + self.record_s) / self.decide_s

    @property
    def replayed_ratio(self) -> float:
        """A decision that is replayed and compared, beside `decide` alone."""
        return (self.decide_s + self.compare_s) / self.decide_s


class _Spent:
    """Sums of CPU seconds by what they were spent for."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}

    def of(self, name: str, work: Callable[[], T]) -> T:
        """Do some work, and add what it took."""
        began_s = time.process_time()
        found = work()
        self.add(name, time.process_time() - began_s)
        return found

    def add(self, name: str, spent_s: float) -> None:
        """Add what some work took."""
        self.sums[name] = self.sums.get(name, 0.0) + spent_s


async def costs(source: Source) -> list[Cost]:
    """What the decisions of each service in a source cost."""
    bounds = await source.bounds()
    found = await find_starts(source, bounds, lambda _entry: True)
    spent: dict[str, tuple[int, _Spent]] = {}
    async with AsyncExitStack() as open_ones:
        decisions = DecisionsAt(source, bounds, found, open_ones)
        for start in found.starts.values():
            if start.service not in DECIDING:
                continue
            facts = SourceFacts(source, bounds, open_ones, freeze)
            observations = observations_of(source, start, bounds)
            open_ones.push_async_callback(observations.aclose)
            new_stage = stage_of(start.service, start.settings or {}, source.layout)
            shares = BY_NAME[start.service].shares
            replica = Replica(new_stage, source.layout, shares, facts, observations, start.keys)
            count, sums = spent.get(start.service, (0, _Spent()))
            await _measure(replica, start, decisions, sums)
            spent[start.service] = count + len(start.decisions), sums
    return [Cost(service, count, **each.sums) for service, (count, each) in sorted(spent.items())]


async def _measure(
    replica: Replica, start: StartFound, decisions: DecisionsAt, spent: _Spent
) -> None:
    for due in start.decisions:
        recorded = await decisions.take(due.place)
        began_s = time.process_time()
        key = await replica.ready(recorded.decision.key, recorded.decision.position)
        spent.add("before_s", time.process_time() - began_s)
        made = spent.of("snapshot_s", partial(replica.remake, key))
        decide = partial(replica.stage.decide, made.snapshot, recorded.decision.now)
        decision = spent.of("decide_s", decide)
        _compare(spent, recorded, made, decision)
        spent.of("record_s", partial(_record, made, recorded, decision))


def _compare(spent: _Spent, recorded: Decided, made: Remade, decision: Decision[Any]) -> None:
    def work() -> Compared:
        again = again_of(made.key, made.snapshot, made.objects, decision)
        return compared(recorded.decision, again)

    found = spent.of("compare_s", work)
    if found.sentence:
        raise RuntimeError(f"{recorded.place}: {found.sentence}")


def _record(made: Remade, recorded: Decided, decision: Decision[Any]) -> bytes:
    """What `services.chassis.running.recording` and `decision_log` do with a decision."""
    carried_out = CarriedOut([(each, "patched") for each in decision.effects])
    of = recorded.decision
    made_of = MadeOf(of.now, of.position, made.entries, made.views)
    whose = (of.service, of.release, of.key, of.cause)
    return orjson.dumps(record_of(*whose, decision, made_of, carried_out).to_json())


def lines_of(found: Iterable[Cost]) -> list[str]:
    """The figures, for people."""
    return [
        f"  {each.service}: {each.decisions} decisions, recorded {each.recorded_ratio:.2f} and"
        f" compared {each.replayed_ratio:.2f} times of decide alone (aim: {AIMED_RATIO}); ms each:"
        f" decide {_ms(each, each.decide_s)}, snapshot {_ms(each, each.snapshot_s)}, record"
        f" {_ms(each, each.record_s)}, comparison {_ms(each, each.compare_s)}, facts and"
        f" observations before it {_ms(each, each.before_s)}"
        for each in found
    ]


def _ms(cost: Cost, spent_s: float) -> str:
    return f"{1000 * spent_s / cost.decisions:.3f}"


@collector_paused()
def measured(path: Path) -> list[Cost]:
    """What the decisions of a recording cost."""
    return asyncio.run(costs(RecordingSource(path)))
