"""Publishes decisions, after their effects, and observations; no correctness rests on them.

They go in batches. Observations are packed, and those of one start of an instance stay in one
partition, in order. They are in the log before the decisions that rest on them: a process that is
killed in between leaves no decision that could not be made again.

After each batch the next one gathers for a moment: an append costs the log and us as much as many
records do, and the facts that decisions wait for go through the same log. A stop waits for none.

They are dropped and counted where the log is away for long: a decision never waits for its record.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

import orjson

from contracts.canonical import canonical_bytes, plain
from contracts.decisions import (
    DECISION_TYPE,
    OBSERVATION_TYPE,
    DecisionRecord,
    EffectRecord,
    EffectsDecided,
    ObjectsRead,
    Observation,
    ObservationsRecord,
)
from contracts.envelope import Envelope, to_headers
from contracts.topics import DECISIONS, partition_of
from services.chassis.log.bus import NewRecord, Partition
from services.chassis.process.log_lines import log_of
from services.chassis.process.tracing import new_trace_id
from services.chassis.running.carrying_out import CarriedOut
from services.chassis.running.wiring import Runtime
from services.chassis.table.entries import Entry

QUEUED_MAX = 10_000
BATCH_MAX = 500
EFFECTS_IN_RECORD_MAX = 200
EFFECT_BYTES_MAX = 512
"""An effect is written whole up to this size, else as its digest."""
OBJECTS_NAMED_MAX = 4
OBSERVATIONS_PACKED_MAX = 100
OBSERVATION_BYTES_MAX = 256 * 1024
"""A log takes records up to 1 MiB; of a larger observation its digest is written."""
GATHER_S = 0.25
UNWRITTEN = "unwritten"
"""In place of an observation's content: why it is not there."""
PROBLEM_CHARS_MAX = 200


_OBSERVATIONS_DROPPED = "millrace_observations_dropped_total"


_DECISIONS_DROPPED = "millrace_decisions_dropped_total"


@dataclass(frozen=True, slots=True)
class _Queued:
    """A record that waits, and what is counted if it is dropped: `count` of `metric`."""

    record: NewRecord
    metric: str
    count: int


class DecisionLog:
    """A bounded queue of decision records and the task that publishes it."""

    def __init__(self, runtime: Runtime, start: str) -> None:
        self._runtime = runtime
        self._start = start
        self._queue: deque[_Queued] = deque()
        self._observations: deque[Observation] = deque(maxlen=QUEUED_MAX)
        self._packed: deque[_Queued] = deque()
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
        number = partition_of(namespace, subject, runtime.topics.count(DECISIONS))
        record = self._record(number, f"{namespace}/{subject}", decision, envelope)
        if len(self._queue) == QUEUED_MAX:
            self._count_dropped([self._queue.popleft()])
        self._queue.append(_Queued(record, _DECISIONS_DROPPED, 1))
        self._news.set()

    def publish_observation(self, observation: Observation) -> None:
        """Queue an observation; the oldest one is dropped where too many wait."""
        if len(self._observations) == QUEUED_MAX:
            self._runtime.metrics.count(_OBSERVATIONS_DROPPED)
        self._observations.append(observation)
        self._news.set()

    async def run(self) -> None:
        """Publish for ever."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self._publish_queued()
            await self._runtime.clock.sleep(GATHER_S)

    def _pack(self) -> None:
        """Make records of the observations: a request to the log costs as much as many of them."""
        packed: list[Observation] = []
        size = 0
        while self._observations:
            observation = self._observations.popleft()
            text = self._text_of(observation)
            if packed and (
                size + len(text) > OBSERVATION_BYTES_MAX or len(packed) == OBSERVATIONS_PACKED_MAX
            ):
                self._packed.append(self._record_of(packed))
                packed, size = [], 0
            packed.append(replace(observation, content=orjson.Fragment(text)))
            size += len(text)
        if packed:
            self._packed.append(self._record_of(packed))

    def _text_of(self, observation: Observation) -> bytes:
        """What a record has room for; of what no JSON writer takes, such as 2**64, that it is."""
        try:
            text = canonical_bytes(observation.content)
        except Exception as problem:  # noqa: BLE001 - records are for people; work goes on
            self._runtime.metrics.count(_OBSERVATIONS_DROPPED)
            self._log.error("observation_unwritten", what=observation.what, problem=repr(problem))
            return canonical_bytes({UNWRITTEN: repr(problem)[:PROBLEM_CHARS_MAX]})
        if len(text) > OBSERVATION_BYTES_MAX:
            self._runtime.metrics.count(_OBSERVATIONS_DROPPED)
            return canonical_bytes({UNWRITTEN: f"{len(text)} bytes", "sha256": _digest(text)})
        return text

    def _record_of(self, packed: list[Observation]) -> _Queued:
        runtime = self._runtime
        record = ObservationsRecord(runtime.service, runtime.instance, self._start, tuple(packed))
        source = f"{runtime.service}/{runtime.instance or self._start}"
        envelope = Envelope(
            id=runtime.new_id(),
            source=runtime.service,
            type=OBSERVATION_TYPE,
            subject=source,
            time_s=runtime.clock.now(),
            trace_id=new_trace_id(runtime.random),
        )
        number = partition_of("", source, runtime.topics.count(DECISIONS))
        new = self._record(number, source, record, envelope)
        return _Queued(new, _OBSERVATIONS_DROPPED, len(packed))

    def _record(
        self, number: int, key: str, record: DecisionRecord | ObservationsRecord, envelope: Envelope
    ) -> NewRecord:
        topic = self._runtime.topics.name(DECISIONS)
        value = orjson.dumps(record.to_json(), default=plain)
        partition, headers = Partition(topic, number), to_headers(envelope)
        return NewRecord(partition, key.encode(), value, headers)

    def _count_dropped(self, dropped: Iterable[_Queued]) -> None:
        for each in dropped:
            self._runtime.metrics.count(each.metric, each.count)

    async def flush(self) -> None:
        """Publish all that is queued."""
        while self._queue or self._observations or self._packed:
            await self._publish_queued()

    async def _publish_queued(self) -> None:
        """Publish what is queued now; decisions that come meanwhile may rest on what comes, too."""
        decisions = len(self._queue)
        self._pack()
        await self._produce(self._packed, len(self._packed))
        await self._produce(self._queue, decisions)

    async def _produce(self, queue: deque[_Queued], count: int) -> None:
        """Publish the first records of a queue."""
        while count > 0 and queue:
            batch = [queue.popleft() for _ in range(min(BATCH_MAX, count, len(queue)))]
            count -= len(batch)
            try:
                await self._runtime.bus.produce([each.record for each in batch])
            except Exception as problem:  # noqa: BLE001 - records are for people; work goes on
                self._count_dropped(batch)
                self._log.error("decisions_dropped", count=len(batch), problem=repr(problem))


def effects_recorded(
    effects: Iterable[object], carried_out: CarriedOut
) -> tuple[EffectsDecided, tuple[EffectRecord, ...]]:
    """What a record says of all effects, and of those carried out: of many the first ones."""
    # By identity and by text: the hash of a large effect costs more than its JSON.
    texts = {id(effect): (type(effect), canonical_bytes(effect)) for effect in effects}
    different = [text for _, text in dict.fromkeys(texts.values())]
    decided = EffectsDecided(len(different), _digest(b"\n".join(different)) if different else "")
    outcomes = carried_out.outcomes
    shown = tuple(
        _effect_record(effect, outcome, texts[id(effect)][1])
        for effect, outcome in outcomes[:EFFECTS_IN_RECORD_MAX]
    )
    if len(outcomes) <= EFFECTS_IN_RECORD_MAX:
        return decided, shown
    more = EffectRecord("…", "", f"{len(outcomes) - EFFECTS_IN_RECORD_MAX} more")
    return decided, (*shown, more)


def decided_of(effects: Iterable[object]) -> EffectsDecided:
    """How many different effects a decision has, and their digest."""
    return effects_recorded(effects, CarriedOut())[0]


def _effect_record(effect: object, outcome: str, text: bytes) -> EffectRecord:
    name, subject = type(effect).__name__, _subject_of(effect)
    if len(text) > EFFECT_BYTES_MAX:
        return EffectRecord(name, subject, outcome, sha256=_digest(text))
    return EffectRecord(name, subject, outcome, value=orjson.Fragment(text))


def objects_read(entries: Iterable[Entry], views: str) -> ObjectsRead:
    """The objects in a snapshot, each once; few of them by name; `views` as ObjectsRead says."""
    lines = sorted(
        {f"{e.kind}/{e.namespace}/{e.name} {e.uid}@{e.resource_version}" for e in entries}
    )
    named = lines if len(lines) <= OBJECTS_NAMED_MAX else ()
    return ObjectsRead(len(lines), _digest("\n".join(lines).encode()), tuple(named), views)


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _subject_of(effect: object) -> str:
    """What an effect says it is for: its `subject`, else its `name`."""
    return str(getattr(effect, "subject", "") or getattr(effect, "name", ""))
