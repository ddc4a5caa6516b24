"""What goes into a recording: whole partitions of facts, and of decisions those that are wanted.

Facts begin at the newest complete resync before `since` in each partition, or where an instance
that is followed began to read it. An instance is followed if it made a decision that is wanted: all
observations of its start are taken along, from the first on. Plan records are in those
observations, whole once and by their digest later; AADLs and Secrets are in no topic.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from contracts.facts import epoch_to_json
from contracts.topics import CLUSTER, RESOURCES, partition_of
from history.entries import DECISION_PARTITIONS, Decided, Entry, Gap, Observed, Seen, entries_of
from history.finding import StartFound, StartKey, offset_at, resync_before, starts_in
from history.manifests import Manifest, PartitionKept, StartKept
from history.merging import entries_in
from history.recordings import FramesWriter
from history.sources import Bounds, Source, manifest_of
from services.chassis.log.bus import Record

EPOCHS_MAX = 1_000
LOST_RESYNC = "the resync that the recording should begin with is not in the log any more"
LOST_READING = "an instance that is followed read these facts, which are not in the log any more"

Progress = Callable[[str, int, int], None]
"""Called with what is read, and how many records of how many."""
Change = Callable[[Record], Record]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to record: of one job (namespace, name), or of all; from a time on (unix seconds)."""

    job: tuple[str, str] | None = None
    since_s: float = -math.inf

    def concerns(self, entry: Decided) -> bool:
        """Whether a decision is wanted; those about host pools of the job are."""
        if entry.decision.now < self.since_s:
            return False
        if self.job is None:
            return True
        namespace, job = self.job
        return entry.namespace == namespace and (
            entry.job == job or entry.decision.key.startswith(f"HostPool/{namespace}/{job}-")
        )


@dataclass(frozen=True, slots=True)
class Extent:
    """What of each partition goes into a recording, and the starts that it follows.

    `decided` is where decisions end; observations are taken up to the ends of `ranges`, for
    older releases published them behind the decisions that rest on them.
    """

    ranges: Mapping[str, Bounds]
    resyncs: Mapping[str, int]
    starts: Mapping[StartKey, StartFound]
    decided: Mapping[str, int]
    gaps: tuple[Gap, ...]


async def extent_of(
    source: Source,
    wanted: Wanted,
    *,
    settle: Callable[[], Awaitable[None]],
    progress: Progress = lambda *_: None,
) -> Extent:
    """What a recording has to have; `settle` waits until what was observed is published."""
    bounds = await source.bounds()
    decided = {name: each.end for name, each in bounds.items() if _is_of_decisions(name)}
    await settle()
    ends = {name: each.end for name, each in (await source.bounds()).items()}
    names = sorted(decided)
    # Those of one start are in one partition, decisions about its keys in any.
    starts = await starts_in(
        _one_by_one(source, {name: _to(bounds[name], ends[name]) for name in names}, progress),
        lambda each: each.place.offset < decided[each.place.partition] and wanted.concerns(each),
    )
    ranges: dict[str, Bounds] = {}
    resyncs: dict[str, int] = {}
    gaps: list[Gap] = []
    for name in sorted(bounds):
        kept = _to(bounds[name], ends[name])
        if _is_of_decisions(name):
            ranges[name] = _decisions_range(name, kept, starts)
        elif _is_needed(source, name, wanted):
            range_, resync, missing = await _facts_range(source, name, kept, wanted, starts)
            ranges[name] = range_
            resyncs |= {name: resync} if resync is not None else {}
            gaps += missing
    gaps += [gap for start in starts.values() for gap in start.gaps()]
    return Extent(ranges, resyncs, starts, decided, tuple(gaps))


def _is_of_decisions(name: str) -> bool:
    return name.startswith(DECISION_PARTITIONS)


def _to(bounds: Bounds, end: int) -> Bounds:
    return Bounds(bounds.first, end, bounds.is_whole)


def _is_needed(source: Source, name: str, wanted: Wanted) -> bool:
    if wanted.job is None:
        return True
    number = partition_of(*wanted.job, source.layout.count(RESOURCES))
    return name in (f"{CLUSTER.suffix}/0", f"{RESOURCES.suffix}/{number}")


def _decisions_range(name: str, bounds: Bounds, starts: Mapping[StartKey, StartFound]) -> Bounds:
    """From the first record of a start that is followed; the others are left out."""
    firsts = [each.places[name] for each in starts.values() if name in each.places]
    return Bounds(min(firsts, default=bounds.end), bounds.end, is_whole=False)


async def _facts_range(
    source: Source,
    name: str,
    bounds: Bounds,
    wanted: Wanted,
    starts: Mapping[StartKey, StartFound],
) -> tuple[Bounds, int | None, list[Gap]]:
    """What of a partition of facts is needed, where its resync begins, and what is lost."""
    resync, gaps = await _resync(source, name, bounds, wanted.since_s), []
    first = bounds.first if resync is None else resync
    if resync is None and bounds.first > 0:
        gaps.append(Gap(name, 0, bounds.first, LOST_RESYNC))
    read_from = [each.reading[name] for each in starts.values() if name in each.reading]
    lost = min(read_from, default=bounds.first)
    if lost < bounds.first:
        gaps.append(Gap(name, lost, bounds.first, LOST_READING))
    first = max(bounds.first, min([first, *read_from]))
    return Bounds(first, bounds.end, bounds.is_whole), resync, gaps


async def _resync(source: Source, name: str, bounds: Bounds, since_s: float) -> int | None:
    if since_s == -math.inf:
        return None
    at = await offset_at(source, name, bounds, since_s)
    newest = (await source.synced()).get(name)
    if newest is not None and bounds.first <= newest < at:
        return newest
    async with aclosing(entries_in(source, name, Bounds(bounds.first, at))) as entries:
        return await resync_before(entries, name, since_s)


async def _one_by_one(
    source: Source, ranges: Mapping[str, Bounds], progress: Progress
) -> AsyncIterator[Entry]:
    total, done = sum(each.end - each.first for each in ranges.values()), 0
    for name, range_ in ranges.items():
        async with aclosing(entries_in(source, name, range_)) as entries:
            async for entry in entries:
                yield entry
                progress("looking for starts", done + entry.place.offset - range_.first, total)
        done += range_.end - range_.first


# --------------------------------------------------------------------------- writing


@dataclass
class _Counted:
    """What is noted while records pass."""

    epochs: dict[str, Mapping[str, object]] = field(default_factory=dict)
    releases: set[str] = field(default_factory=set)
    gaps: list[Gap] = field(default_factory=list)


async def write_records(
    source: Source,
    wanted: Wanted,
    extent: Extent,
    writer: FramesWriter,
    *,
    made_at: float,
    made_by: str,
    change: Change | None = None,
    progress: Progress = lambda *_: None,
) -> Manifest:
    """Write the records of an extent, and give the manifest of them; `change` redacts each one."""
    total = sum(each.end - each.first for each in extent.ranges.values())
    kept, counted, done, kept_in = {}, _Counted(), 0, manifest_of(source)
    for name, range_ in extent.ranges.items():
        first = None
        async for record in _records(source, name, range_, extent, wanted, counted):
            writer.add(record if change is None else change(record))
            first = record.offset if first is None else first
            progress("recording", done + record.offset - range_.first, total)
        done += range_.end - range_.first
        frames = writer.end_partition()
        begin = range_.first if first is None else first
        kept[name] = PartitionKept(
            begin, range_.end, range_.is_whole, extent.resyncs.get(name), frames
        )
    return Manifest(
        source.layout,
        made_at,
        made_by,
        wanted.job or (),
        None if wanted.since_s == -math.inf else wanted.since_s,
        change is not None or (kept_in is not None and kept_in.redacted),
        tuple(sorted(counted.releases)),
        tuple(counted.epochs.values()),
        tuple(map(_kept_start, extent.starts.values())),
        kept,
        (*(kept_in.gaps if kept_in is not None else ()), *extent.gaps, *counted.gaps),
    )


def _kept_start(start: StartFound) -> StartKept:
    return StartKept(
        start.service,
        start.instance,
        start.start,
        start.release,
        start.settings,
        start.observations,
        start.decisions,
        start.reading,
    )


async def _records(
    source: Source,
    name: str,
    range_: Bounds,
    extent: Extent,
    wanted: Wanted,
    counted: _Counted,
) -> AsyncIterator[Record]:
    """The records of a range that are kept, and what they say for the manifest."""
    expected = range_.first
    async for batch in source.read(name, range_.first, range_.end):
        for record in batch:
            if record.offset > expected and range_.is_whole:
                counted.gaps.append(
                    Gap(name, expected, record.offset, "lost while it was recorded")
                )
            expected = record.offset + 1
            entry = next(entries_of(record, source.layout.prefix), None)
            if entry is not None and _is_kept(entry, extent, wanted):
                _count(entry, counted)
                yield record


def _is_kept(entry: Entry, extent: Extent, wanted: Wanted) -> bool:
    """Facts, observations of starts that are followed, and decisions that are wanted.

    A fact that nobody can read is kept: the services counted and passed it over.
    """
    if isinstance(entry, Observed):
        return (entry.service, entry.start) in extent.starts
    if isinstance(entry, Decided):
        partition, offset = entry.place.partition, entry.place.offset
        return offset < extent.decided[partition] and wanted.concerns(entry)
    return not _is_of_decisions(entry.place.partition)


def _count(entry: Entry, counted: _Counted) -> None:
    if isinstance(entry, Seen) and len(counted.epochs) < EPOCHS_MAX:
        epoch = epoch_to_json(entry.fact.epoch)
        counted.epochs.setdefault(str(epoch), epoch)
    elif isinstance(entry, Decided):
        counted.releases.add(entry.decision.release)
