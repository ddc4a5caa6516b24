"""Logs and recordings of a few records, for tests of their readers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from contracts.decisions import (
    DECISION_TYPE,
    OBSERVATION_TYPE,
    DecisionRecord,
    Observation,
    ObservationsRecord,
    Position,
)
from contracts.envelope import Envelope, to_headers
from contracts.facts import Epoch, Fact, FactType, SyncCompleted
from contracts.topics import DECISIONS, RESOURCES, TopicLayout, partition_of
from history.entries import partition_named
from history.manifests import Manifest, PartitionKept
from history.recordings import FramesWriter, RecordingSource, manifest_frame
from history.sources import Bounds
from services.chassis.log.bus import Partition, Record
from tests.unit.chassis.running.saying import METADATA

LAYOUT = TopicLayout(partitions=2)
TRACE = "ab" * 16


def partition_of_job(job: str, namespace: str = "default") -> str:
    """The partition of the facts of a job."""
    return f"{RESOURCES.suffix}/{partition_of(namespace, job, LAYOUT.partitions)}"


def decisions_of(job: str, namespace: str = "default") -> str:
    """The partition of the decisions about a job."""
    return f"{DECISIONS.suffix}/{partition_of(namespace, job, LAYOUT.partitions)}"


@dataclass
class FewRecords:
    """A source of records that a test appends; it counts those that were read."""

    layout: TopicLayout = LAYOUT
    kept: dict[str, list[Record]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    read_records: int = 0
    batch: int = 10
    resyncs: dict[str, int] = field(default_factory=dict)

    async def bounds(self) -> Mapping[str, Bounds]:
        return {
            name: Bounds(self.starts.get(name, 0), records[-1].offset + 1)
            for name, records in self.kept.items()
            if records
        }

    async def read(
        self, partition: str, first: int, end: int | None = None
    ) -> AsyncIterator[Sequence[Record]]:
        wanted = [
            record
            for record in self.kept.get(partition, ())
            if first <= record.offset and (end is None or record.offset < end)
        ]
        for at in range(0, len(wanted), self.batch):
            batch = wanted[at : at + self.batch]
            self.read_records += len(batch)
            yield batch

    async def synced(self) -> Mapping[str, int]:
        return self.resyncs

    # ------------------------------------------------------------------ appending

    def append(
        self, name: str, key: str, value: bytes, envelope: Envelope, time_s: float = 0.0
    ) -> None:
        """Append a record; `time_s` is when the log took it, if not the envelope's time."""
        records = self.kept.setdefault(name, [])
        offset = records[-1].offset + 1 if records else self.starts.get(name, 0)
        headers, partition = to_headers(envelope), partition_named(name, self.layout)
        at = time_s or envelope.time_s
        records.append(Record(partition, offset, at, key.encode(), value, headers))

    def see(
        self, time_s: float, name: str, job: str, *, kind: str = "Pod", version: int = 1
    ) -> str:
        """Append a fact about an object of a job; its id."""
        data = {"metadata": METADATA}
        fact = Fact(
            FactType.MODIFICATION, kind, "default", name, "u", version, Epoch(1, 1, "c"), job, data
        )
        envelope = _envelope(fact.type, fact.key, time_s)
        self.append(partition_of_job(job), fact.key, orjson.dumps(fact.to_json()), envelope)
        return envelope.id

    def sync(self, time_s: float, partition: str, kind: str, epoch: int) -> None:
        """Append that a resync is complete."""
        fact = SyncCompleted(kind, Epoch(1, epoch, "c"))
        envelope = _envelope(FactType.SYNC_COMPLETED, fact.key, time_s)
        self.append(partition, fact.key, orjson.dumps(fact.to_json()), envelope)

    def decide(
        self,
        time_s: float,
        job: str,
        reason: str,
        service: str = "fusion-backend",
        start: str = "s",
    ) -> None:
        """Append a decision about a job."""
        position = Position("i", start, {}, 0, 0)
        decision = DecisionRecord(
            service, f"default/{job}", reason, now=time_s, position=position, release="0.1.0"
        )
        envelope = _envelope(DECISION_TYPE, decision.key, time_s)
        value = orjson.dumps(decision.to_json())
        self.append(decisions_of(job), f"default/{job}", value, envelope)

    def observe(
        self, time_s: float, *observations: Observation, start: str = "s", partition: str = ""
    ) -> None:
        """Append the observations of a start, packed."""
        packed = ObservationsRecord("fusion-backend", "i", start, observations)
        envelope = _envelope(OBSERVATION_TYPE, "fusion-backend/i", time_s)
        name = partition or f"{DECISIONS.suffix}/0"
        self.append(name, "fusion-backend/i", orjson.dumps(packed.to_json()), envelope)


def _envelope(type_: str, subject: str, time_s: float) -> Envelope:
    return Envelope(f"{subject}@{time_s}", "test", type_, subject, time_s, TRACE)


def written(path: Path, source: FewRecords) -> Path:
    """A recording of all that a source has."""
    with path.with_suffix(".frames").open("w+b") as frames:
        writer, kept = FramesWriter(frames), {}
        for name, records in source.kept.items():
            for record in records:
                writer.add(record)
            first, end = records[0].offset, records[-1].offset + 1
            kept[name] = PartitionKept(first, end, frames=writer.end_partition())
        frames.seek(0)
        manifest = Manifest(source.layout, 5.0, partitions=kept)
        path.write_bytes(manifest_frame(manifest) + frames.read())
    return path


def with_manifest(file: Path, **changes: Any) -> None:
    """Change what the manifest of a recording says."""
    manifest, content = RecordingSource(file).manifest, file.read_bytes()
    behind = len(manifest_frame(manifest))
    file.write_bytes(manifest_frame(replace(manifest, **changes)) + content[behind:])


def named(name: str) -> Partition:
    """A partition of the layout of these tests."""
    return partition_named(name, LAYOUT)
