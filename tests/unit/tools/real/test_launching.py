"""A pair with a failing part leaves nothing running, and reports why."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.failing import Failure, Misused
from tests.patience import patient
from tools.real import pair as pairs
from tools.real.building import PROGRAMS, Build
from tools.real.launching import format_broker, stop_all
from tools.real.pair import PairOptions, existing_pair, pair_down, pair_status, pair_up, stop_part
from tools.real.parts import ETCD
from tools.real.pins import Pins, read_pins
from tools.real.processes import marked
from tools.real.progress import Progress
from tools.real.state import PairFolder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the real pair needs Linux")
SLEEPS = "exec sleep 1000"
FAILS = "echo the disk is full; exit 1"


class FakeBuild:
    """Programs that are shell scripts; each test writes them."""

    def __init__(self, folder: Path) -> None:
        self.build = Build(folder, str(folder / "bin" / "java"))
        self.build.programs.mkdir(parents=True)
        for name in (*PROGRAMS, "java"):
            self.make(name, SLEEPS)

    def make(self, name: str, does: str) -> None:
        file = self.build.programs / name
        file.write_text(f"#!/bin/sh\n{does}\n")
        file.chmod(0o755)

    async def build_of(self, pins: Pins, progress: Progress) -> Build:
        assert pins == read_pins()
        return self.build


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBuild:
    fake = FakeBuild(tmp_path / "build")
    monkeypatch.setattr(pairs, "build_of", fake.build_of)
    for name in (pairs.KUBECONFIG_SETTING, pairs.BROKERS_SETTING):
        monkeypatch.delenv(name, raising=False)
    assert existing_pair({}) is None
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PairFolder]:
    found = PairFolder(tmp_path / "pair")
    yield found
    stop_all(found)


def processes(folder: PairFolder) -> int:
    return len(marked(str(folder.path)))


async def up_until_etcd_runs(folder: PairFolder) -> asyncio.Task[pairs.Pair]:
    up = asyncio.create_task(pair_up(PairOptions(folder.path), Progress()))
    while True:
        await asyncio.sleep(0)
        if folder.running(ETCD) or up.done():
            return up


async def test_a_part_that_ends_at_once_is_reported_with_the_end_of_its_log(
    build: FakeBuild, folder: PairFolder
) -> None:
    build.make("server", FAILS)
    with pytest.raises(Failure, match="etcd ended; the end of its log:\nthe disk is full"):
        await pair_up(PairOptions(folder.path), Progress())
    assert processes(folder) == 0
    assert folder.log(ETCD).exists()  # kept for more details


async def test_an_interrupted_up_leaves_nothing(build: FakeBuild, folder: PairFolder) -> None:
    up = await up_until_etcd_runs(folder)
    assert processes(folder) >= 1
    up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await up
    assert processes(folder) == 0
    assert not folder.path.exists()


async def test_the_process_that_formats_the_folder_of_a_broker_is_ended_as_well(
    build: FakeBuild, folder: PairFolder
) -> None:
    """One left by a killed command wrote its cluster's id into the folder of the next pair."""
    plan = pairs.new_plan(PairOptions(folder.path), read_pins(), build.build)
    folder.prepare(plan)
    formatting = asyncio.create_task(format_broker(folder, plan, "kafka-1"))
    async with asyncio.timeout(patient(60)):
        while True:
            await asyncio.sleep(0)
            if processes(folder):
                break
    await asyncio.to_thread(stop_all, folder)
    assert processes(folder) == 0
    with pytest.raises(Failure, match="kafka-1 could not be formatted"):
        await formatting


async def test_the_next_up_ends_what_a_killed_one_left(
    build: FakeBuild, folder: PairFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that dies of SIGKILL cleans nothing up."""
    with monkeypatch.context() as killed:
        killed.setattr("tools.real.launching.stop_all", lambda folder: None)
        killed.setattr(PairFolder, "remove", lambda self: None)
        up = await up_until_etcd_runs(folder)
        up.cancel()
        await asyncio.gather(up, return_exceptions=True)
    left = folder.running(ETCD)
    assert left is not None
    build.make("server", FAILS)
    with pytest.raises(Failure, match="the disk is full"):
        await pair_up(PairOptions(folder.path), Progress())
    assert processes(folder) == 0


async def test_status_names_every_part_that_does_not_run(
    build: FakeBuild, folder: PairFolder
) -> None:
    build.make("server", FAILS)
    with pytest.raises(Failure):
        await pair_up(PairOptions(folder.path), Progress())
    pair, parts = await pair_status(PairOptions(folder.path))
    assert pair is not None
    assert len(parts) == 6
    assert {part.problem for part in parts} == {"does not run"}


async def test_down_removes_the_folder_and_returns_whether_there_was_one(
    build: FakeBuild, folder: PairFolder
) -> None:
    build.make("server", FAILS)
    with pytest.raises(Failure):
        await pair_up(PairOptions(folder.path), Progress())
    assert await pair_down(PairOptions(folder.path), Progress())
    assert not folder.path.exists()
    assert not await pair_down(PairOptions(folder.path), Progress())
    assert await pair_status(PairOptions(folder.path)) == (None, [])


async def test_up_refuses_a_folder_that_holds_something_else(
    build: FakeBuild, folder: PairFolder
) -> None:
    folder.path.mkdir()
    (folder.path / "thesis.tex").touch()
    with pytest.raises(Misused, match="holds no pair"):
        await pair_up(PairOptions(folder.path), Progress())
    assert (folder.path / "thesis.tex").exists()


async def test_parts_of_somebody_elses_pair_are_not_touched() -> None:
    with pytest.raises(Misused, match="a pair that we started"):
        await stop_part(pairs.Pair(Path("/kubeconfig"), "h:1"), ETCD)
