"""Publishes decision records in batches, behind the decisions; no correctness rests on them.

After each batch the next one gathers for a moment: an append costs the log and us as much as many
records do, and the facts that decisions wait for go through the same log.

They are dropped and counted where the log is away for long: a decision never waits for its record.
"""

from __future__ import annotations

import asyncio
from collections import deque

import orjson

from contracts.decisions import DECISION_TYPE, DecisionRecord, EffectRecord
from contracts.envelope import Envelope, to_headers
from contracts.topics import DECISIONS, partition_of
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.process.log_lines import log_of
from services.chassis.process.tracing import new_trace_id
from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.wiring import Runtime

QUEUED_MAX = 10_000
BATCH_MAX = 500
EFFECTS_IN_RECORD_MAX = 200
GATHER_S = 0.05


class DecisionLog:
    """A bounded queue of decision records and the task that publishes it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._queue: deque[NewRecord] = deque(maxlen=QUEUED_MAX)
        self._news = asyncio.Event()
        self._log = log_of("decision-log")

    def publish(
        self, namespace: str, subject: str, decision: DecisionRecord, trace_id: str
    ) -> None:
        """Queue a record."""
        runtime = self._runtime
        envelope = Envelope(
            id=runtime.new_id(),
            source=runtime.service,
            type=DECISION_TYPE,
            subject=decision.key,
            time_s=runtime.clock.now(),
            trace_id=trace_id or new_trace_id(runtime.random),
            cause=decision.cause,
        )
        number = partition_of(namespace, subject, DECISIONS.partitions)
        if len(self._queue) == QUEUED_MAX:
            runtime.metrics.count("millrace_decisions_dropped_total")
        self._queue.append(
            NewRecord(
                Partition(DECISIONS.name(runtime.prefix), number),
                f"{namespace}/{subject}".encode(),
                orjson.dumps(decision.to_json(), default=str),
                to_headers(envelope),
            )
        )
        self._news.set()

    async def run(self) -> None:
        """Publish for ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.flush()
            await self._runtime.clock.sleep(GATHER_S)

    async def flush(self) -> None:
        """Publish what is queued."""
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH_MAX, len(self._queue)))]
            try:
                await self._runtime.bus.produce(batch)
            except Exception as problem:  # noqa: BLE001 - records are for people; work goes on
                self._runtime.metrics.count("millrace_decisions_dropped_total", len(batch))
                self._log.error("decisions_dropped", count=len(batch), problem=repr(problem))


def effect_records(carried_out: CarriedOut) -> tuple[EffectRecord, ...]:
    """What a decision record says of effects: of many the first ones, and how many more."""
    outcomes = carried_out.outcomes
    shown = tuple(
        EffectRecord(type(effect).__name__, _subject_of(effect), outcome)
        for effect, outcome in outcomes[:EFFECTS_IN_RECORD_MAX]
    )
    if len(outcomes) <= EFFECTS_IN_RECORD_MAX:
        return shown
    more = EffectRecord("…", "", f"{len(outcomes) - EFFECTS_IN_RECORD_MAX} more")
    return (*shown, more)


def _subject_of(effect: object) -> str:
    """What an effect says it is for: its `subject`, else its `name`."""
    return str(getattr(effect, "subject", "") or getattr(effect, "name", ""))
