"""Writes a recording of a log: to a file that appears when it is complete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.failing import CannotReach, Failure, Misused
from cli.history_logs import HistoryOptions, history_source, since_of
from cli.showing import PLAIN_BOX, Rows, Screen, answer, print_lines
from contracts.showing import counted, shown
from history.manifests import Manifest
from history.recording import Extent, Progress, Wanted, extent_of, write_records
from history.recordings import FramesWriter, new_recording
from history.redacting import Redactor, TooManyNames
from history.sources import Source
from services.chassis.process.release import release

SETTLE_S = 1.0
"""Older releases published observations this much behind decisions that rest on them, or sooner."""
SHOW_EVERY = 500
GAPS_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class RecordOptions:
    """What `millrace record` records, and where; `job` is (namespace, name), None: all jobs."""

    out: Path
    log: HistoryOptions
    job: tuple[str, str] | None = None
    since: str = ""
    redact: bool = False

    def __post_init__(self) -> None:
        since_of(self.since, 0.0)


async def record_history(options: RecordOptions, kubeconfig: Path | None, console: Screen) -> None:
    """Write a recording and show what is in it. Raises Failure."""
    async with history_source(options.log, kubeconfig) as found:
        if found.source is None:
            raise CannotReach(found.why)
        is_live = options.log.recording is None
        wanted = Wanted(options.job, since_of(options.since, found.now or time.time()))
        with _file(options.out) as (writer, finish), _progress() as progress:
            extent = await extent_of(
                found.source,
                wanted,
                settle=lambda: asyncio.sleep(SETTLE_S if is_live else 0),
                progress=progress,
            )
            if options.job is not None and not extent.starts:
                about = f"job {options.job[1]} in namespace {options.job[0]}"
                raise Failure(f"{found.name} has no decision about {about}: nothing is recorded")
            manifest = await _written(found.source, wanted, extent, writer, progress, options)
            size = finish(manifest)
    _show(manifest, size, options.out, console)


async def _written(
    source: Source,
    wanted: Wanted,
    extent: Extent,
    writer: FramesWriter,
    progress: Progress,
    options: RecordOptions,
) -> Manifest:
    redactor = None
    if options.redact:
        redactor = Redactor()
        try:
            await redactor.learn(source, extent.ranges, progress)
        except TooManyNames as problem:
            raise Failure(
                f"{problem}. Record one job, or a shorter time (--job, --since)"
            ) from None
    manifest = await write_records(
        source,
        wanted,
        extent,
        writer,
        made_at=time.time(),
        made_by=release(),
        change=redactor.redacted if redactor else None,
        progress=progress,
    )
    return redactor.of_manifest(manifest) if redactor else manifest


@contextmanager
def _file(path: Path) -> Iterator[tuple[FramesWriter, Callable[[Manifest], int]]]:
    """The file to write. Raises Misused where it exists or cannot be written."""
    try:
        with new_recording(path) as (writer, finish):
            yield writer, finish
    except FileExistsError:
        raise Misused(f"{path} exists and is not replaced: name another file") from None
    except OSError as problem:
        raise Failure(f"{path} cannot be written: {problem.strerror or problem}") from None


@contextmanager
def _progress() -> Iterator[Progress]:
    """A line on standard error that says how far it is, where that is a terminal."""
    with Screen(stderr=True).status("looking at the log") as status:
        count = 0

        def show(what: str, done: int, total: int) -> None:
            nonlocal count
            count += 1
            if count % SHOW_EVERY == 0:
                status.update(f"{what}: {done * 100 // max(1, total)} % of {total} records")

        yield show


def _show(manifest: Manifest, size: int, path: Path, console: Screen) -> None:
    table = Rows("partition", "from", "to", "records", "bytes", box=PLAIN_BOX)
    for name, kept in manifest.partitions.items():
        packed = sum(frame.size for frame in kept.frames)
        table.add_row(name, str(kept.first), str(kept.end), str(kept.records), str(packed))
    console.print(table)
    starts = Rows("service", "start", "observations", "decisions", "release", box=PLAIN_BOX)
    for each in manifest.starts:
        numbers = f"{each.observations[0]} to {each.observations[1]}"
        starts.add_row(each.service, each.start, numbers, str(each.decisions), each.release)
    console.print(starts)
    for gap in manifest.gaps[:GAPS_SHOWN_MAX]:
        where = f" from {gap.first} to {gap.end - 1}" if gap.end > gap.first else ""
        print_lines(f"gap in {gap.partition}{where}: {shown(gap.why)}")
    more = len(manifest.gaps) - GAPS_SHOWN_MAX
    if more > 0:
        print_lines(f"{more} more gaps: they are in the first line of the file")
    records = sum(kept.records for kept in manifest.partitions.values())
    decisions = sum(each.decisions for each in manifest.starts)
    if not decisions:
        print_lines("millrace: it has no decision, so there is nothing to replay; begin earlier")
    answer(
        f"{path}: {counted(records, 'record')} of"
        f" {counted(len(manifest.partitions), 'partition')}, {counted(decisions, 'decision')} of"
        f" {counted(len(manifest.starts), 'start')}, {counted(len(manifest.gaps), 'gap')},"
        f" {size} bytes"
    )
