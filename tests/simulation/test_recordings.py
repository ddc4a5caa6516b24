"""A recording of a simulated run has what a replay needs, and no byte of a secret."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
import zstandard

from contracts.topics import TopicLayout
from history.comparing import Verdict
from history.concerning import Concerning
from history.entries import Decided, Observed, Seen
from history.merging import by_time, history, merged, ranges_of
from history.recording import LOST_READING, LOST_RESYNC, Wanted, extent_of, write_records
from history.recordings import RecordingSource, new_recording
from history.redacting import Redactor
from history.replaying import Wanted as Replayed
from history.replaying import replayed
from history.sources import Bounds, LogSource, Source
from services.chassis.log.bus import Record
from tests.simulation.applications import submit_example
from tests.simulation.test_bundles import BY_GITHUB, TOKEN, serve
from tests.simulation.test_provisions import ENCRYPTED, secret
from tests.simulation.test_replaying import _eventful
from tests.simulation.world import World, simulate


async def nothing() -> None:
    """A log that nobody writes to any more has settled."""


async def recorded(
    source: Source, path: Path, wanted: Wanted | None = None, *, redact: bool = False
) -> RecordingSource:
    """A recording of a source, read again."""
    wanted = wanted or Wanted()
    with new_recording(path) as (writer, finish):
        extent = await extent_of(source, wanted, settle=nothing)
        redactor = Redactor()
        if redact:
            await redactor.learn(source, extent.ranges, lambda *_: None)
        change = redactor.redacted if redact else None
        manifest = await write_records(
            source, wanted, extent, writer, made_at=1.0, made_by="test", change=change
        )
        finish(redactor.of_manifest(manifest) if redact else manifest)
    return RecordingSource(path)


def a_file_of(folder: Path, test: Callable[[World], Awaitable[None]]) -> Path:
    """A whole recording of a run."""

    async def whole(world: World) -> None:
        await test(world)
        await recorded(LogSource(world.log, TopicLayout()), folder / "whole.zst")

    simulate(folder, whole)
    return folder / "whole.zst"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_file_of(tmp_path_factory.mktemp("recorded"), _eventful)


async def verdicts(source: Source) -> list[Verdict]:
    """What comes of each decision of a source that is made again."""
    async with replayed(source, Replayed(has_changes=False)) as replay:
        return [step.compared.verdict async for step in replay.steps()]


def texts_of(path: Path) -> bytes:
    """All text of a recording."""
    packed = path.read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    return reader.read()


def test_every_decision_of_a_recording_comes_out_as_it_was_made(path: Path) -> None:
    found = asyncio.run(verdicts(RecordingSource(path)))
    assert len(found) > 50
    assert set(found) == {Verdict.EQUAL}


def test_the_manifest_names_starts_epochs_and_no_gap_of_a_log_that_has_all(path: Path) -> None:
    manifest = RecordingSource(path).manifest
    assert manifest.gaps == ()
    assert [each.observations[0] for each in manifest.starts] == [1] * 8
    assert all(each.decisions and each.reading for each in manifest.starts)
    assert len({each["incarnation"] for each in manifest.epochs}) == 2


def test_a_recording_of_one_job_has_its_partitions_and_its_decisions(
    path: Path, tmp_path: Path
) -> None:
    async def test() -> None:
        source = RecordingSource(path)
        wanted = Wanted(("default", "j"))
        found = await recorded(source, tmp_path / "job.zst", wanted)
        assert {name.partition("/")[0] for name in found.manifest.partitions} == {
            "resources",
            "cluster",
            "decisions",
        }
        facts = [name for name in found.manifest.partitions if name.startswith("resources")]
        assert len(facts) == 1
        decided = [each async for each in history(found) if isinstance(each, Decided)]
        assert {each.job for each in decided} == {"j", "j-0", "j-1"}
        assert await words_of(found) == await words_of(source)
        other = await recorded(source, tmp_path / "none.zst", Wanted(("default", "other")))
        assert other.manifest.starts == ()

    async def words_of(source: Source) -> list[str]:
        """What the services of launches and plans decided about the job, in words."""
        services = frozenset({"fusion-backend", "pod-state-machine"})
        concerning = Concerning("default", "j", services=services)
        ranges = await ranges_of(source)
        lines: list[str] = []
        async with aclosing(by_time(merged(source, ranges))) as entries:
            async for entry in entries:
                lines += [words.line for _, words in concerning.take(entry)]
        return lines

    asyncio.run(test())


def test_a_recording_begins_at_the_resync_before_its_time_and_where_an_instance_began(
    path: Path, tmp_path: Path
) -> None:
    """The second watch-ingest published everything again; the services read from the first."""

    async def test() -> None:
        source = RecordingSource(path)
        facts = [each async for each in history(source) if isinstance(each, Seen)]
        again = [
            each for each in facts if each.fact.epoch.incarnation != facts[0].fact.epoch.incarnation
        ]
        since = again[-1].time_s
        found = await recorded(source, tmp_path / "late.zst", Wanted(since_s=since))
        for name, kept in found.manifest.partitions.items():
            if name.startswith("decisions"):
                continue
            (first, *_) = [each for each in again if each.place.partition == name]
            assert kept.resync == first.place.offset
            assert kept.first == 0
        assert found.manifest.gaps == ()
        assert {each.decision.now >= since for each in await decided(found)} == {True}

    async def decided(source: Source) -> list[Decided]:
        return [each async for each in history(source) if isinstance(each, Decided)]

    asyncio.run(test())


class Retired:
    """A source whose partitions of facts have lost their first records."""

    def __init__(self, source: Source, lost: int) -> None:
        self._source = source
        self._lost = lost
        self.layout = source.layout
        self.synced = source.synced

    async def bounds(self) -> Mapping[str, Bounds]:
        return {
            name: each if name.startswith("decisions") else Bounds(self._lost, each.end)
            for name, each in (await self._source.bounds()).items()
        }

    def read(
        self, partition: str, first: int, end: int | None = None
    ) -> AsyncIterator[Sequence[Record]]:
        return self._source.read(partition, first, end)


def test_what_the_log_has_no_more_is_a_gap_of_the_manifest(path: Path, tmp_path: Path) -> None:
    async def test() -> None:
        source = Retired(RecordingSource(path), 3)
        found = await recorded(source, tmp_path / "gaps.zst", Wanted(("default", "j")))
        gaps = found.manifest.gaps
        assert {gap.why for gap in gaps} == {LOST_RESYNC, LOST_READING}
        assert {(gap.first, gap.end) for gap in gaps} == {(0, 3)}

    asyncio.run(test())


def test_a_redacted_recording_has_no_name_of_the_job_and_reads_as_before(
    path: Path, tmp_path: Path
) -> None:
    """Names are replaced consistently: kinds, reasons, times and the order of entries stay."""

    async def test() -> None:
        source = RecordingSource(path)
        found = await recorded(source, tmp_path / "redacted.zst", redact=True)
        assert found.manifest.redacted
        before = [shape(each) async for each in history(source)]
        after = [shape(each) async for each in history(found)]
        assert after == before
        names = [each.fact.key async for each in history(source) if isinstance(each, Seen)]
        others = [each.fact.key async for each in history(found) if isinstance(each, Seen)]
        assert len(set(others)) == len(set(names))
        pairs = set(zip(names, others, strict=True))
        assert len(pairs) == len(set(names))
        pods = sorted(pair for pair in pairs if pair[0].startswith("Pod/"))
        assert pods == sorted(pods, key=lambda pair: pair[1])

    def shape(entry: object) -> tuple[object, ...]:
        match entry:
            case Seen():
                return type(entry), entry.time_s, getattr(entry.fact, "kind", "")
            case Decided():
                effects = tuple((each.name, each.outcome) for each in entry.decision.effects)
                rules = tuple(entry.decision.rules.values())
                return type(entry), entry.time_s, entry.decision.reason, rules, effects
            case Observed():
                return type(entry), entry.time_s, entry.observation.what, entry.observation.number
            case _:
                return (type(entry),)

    asyncio.run(test())
    text = texts_of(tmp_path / "redacted.zst")
    for name in (b"app.sab", b"j-0-", b"172.", b"/default/", b"demo", b"gold"):
        assert name in texts_of(path)
        assert name not in text


def test_a_recording_of_a_job_with_secrets_has_no_byte_of_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A private key, a token of a bundle's host: neither in topics, nor recordings, nor logs."""
    secrets: list[bytes] = [TOKEN.encode()]

    async def test(world: World) -> None:
        serve(world)
        world.start()
        token = {"token": base64.b64encode(TOKEN.encode()).decode()}
        hub = {"metadata": {"name": "hub", "namespace": "default"}, "data": token}
        kind = {"apiVersion": "v1", "kind": "Secret"}
        world.store.create(world.kind("secrets"), "default", {**kind, **hub})
        submit_example(world, "j", width=2, more={**BY_GITHUB, **ENCRYPTED})
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        key = base64.b64decode(secret(world)["data"]["transport.key"])
        assert b"PRIVATE KEY" in key
        secrets.extend(line for line in key.splitlines() if b"-----" not in line)
        for record in await all_records(world):
            assert_no_secret(record.key + record.value + repr(record.headers).encode())

    async def all_records(world: World) -> list[Record]:
        source = LogSource(world.log, TopicLayout())
        found: list[Record] = []
        for name, bounds in (await source.bounds()).items():
            async for batch in source.read(name, bounds.first, bounds.end):
                found += batch
        return found

    def assert_no_secret(text: bytes) -> None:
        for each in secrets:
            assert each not in text
            assert base64.b64encode(each) not in text

    text = texts_of(a_file_of(tmp_path, test))
    assert b"j.transport" in text
    assert_no_secret(text)
    captured = capfd.readouterr()
    assert_no_secret((captured.out + captured.err).encode())
