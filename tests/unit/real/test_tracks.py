"""The tracks of `make test-real`: side by side, each to its end, each on a pair of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cli.failing import Failure
from tests.patience import patient
from tests.places import ROOT
from tests.real import tracks as tested
from tests.real.rounds import FAILED, NOTHING_SELECTED, RoundEnd, selects_nothing
from tests.real.tracks import (
    COMPARISONS,
    FAULT_ROUNDS,
    SUITES,
    Run,
    Track,
    TrackEnd,
    exit_code_of,
    lines_of,
    progress_line,
    run_tracks,
    tracks_of,
)
from tools.real.pair import Pair, PairOptions
from tools.real.progress import Progress

TRACKS = (Track("suites", (("a",), ("b",))), Track("faults", (("c",),)))


class Stage:
    """Pairs and rounds of a test: what came up, ran and went down, in that order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.codes: dict[str, int] = {}
        self.waits_for: dict[str, asyncio.Event] = {}
        self.began = {name: asyncio.Event() for name in "abc"}
        self.ended = {name: asyncio.Event() for name in "abc"}
        self.broken = ""
        self.empty: tuple[str, ...] = ()
        self.looked: list[tuple[str, ...]] = []

    @asynccontextmanager
    async def running_pair(self, options: PairOptions, _: Progress) -> AsyncIterator[Pair]:
        """A pair that is only a name."""
        name = options.folder.path.name
        self.seen.append(f"starting {name}")
        await asyncio.sleep(0)
        if name == self.broken:
            raise Failure(f"{name} does not start")
        self.seen.append(f"up {name}")
        try:
            yield Pair(Path(name), name)
        finally:
            self.seen.append(f"down {name}")

    async def run_round(
        self, pair: Pair, round_: Sequence[str], words: Sequence[str], _: Path, output: Path | None
    ) -> RoundEnd:
        """A round that waits for another where the test says so."""
        (name,) = round_
        self.seen.append(" ".join((name, "on", pair.bootstrap_servers, *words)))
        if output is not None:
            _write(output, f"output of {name}\n")
        self.began[name].set()
        if name in self.waits_for:
            await self.waits_for[name].wait()
        self.ended[name].set()
        return RoundEnd(name, self.codes.get(name, 0), 1.0)

    async def selects_nothing(self, folders: Sequence[str], _: Sequence[str]) -> bool:
        """As the test says."""
        self.looked.append(tuple(folders))
        return all(folder in self.empty for folder in folders)


def _write(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Instead of real pairs and of pytest."""
    stage = Stage()
    for name in ("running_pair", "run_round", "selects_nothing"):
        monkeypatch.setattr(tested, name, getattr(stage, name))
    return stage


async def run(folder: Path, *words: str) -> Sequence[TrackEnd]:
    """Both tracks to their ends."""
    return await run_tracks(TRACKS, Run(folder, words, Progress(), asyncio.Lock(), bool(words)))


def test_faults_are_left_out_on_a_cluster_of_others() -> None:
    """Faults stop parts of a pair, which a cluster of somebody else must not see."""
    (all_,) = tracks_of(own_pairs=True, two_tracks=False)
    assert all_.rounds == SUITES + FAULT_ROUNDS
    assert [track.rounds for track in tracks_of(own_pairs=False, two_tracks=False)] == [SUITES]
    assert [track.rounds for track in tracks_of(own_pairs=False, two_tracks=True)] == [SUITES]


def test_of_two_tracks_each_file_runs_in_one_and_faults_come_last() -> None:
    """What a fault stopped is in nobody's way then."""
    both = tracks_of(own_pairs=True, two_tracks=True)
    assert [track.rounds[-1] for track in both] == [SUITES[-1], FAULT_ROUNDS[-1]]
    found = [file for track in both for round_ in track.rounds for file in _files_of(round_)]
    wanted = [file for round_ in SUITES + FAULT_ROUNDS for file in _files_of(round_)]
    assert len(wanted) > 50
    assert sorted(found) == sorted(wanted)
    assert len(set(found)) == len(found)


def _files_of(round_: Sequence[str]) -> set[Path]:
    """The files of its folders, less those of the folders that it ignores."""
    folders = [ROOT / word for word in round_ if not word.startswith("-")]
    ignored = {ROOT / word.removeprefix("--ignore=") for word in round_ if "--ignore" in word}
    assert all(folder.is_dir() for folder in (*folders, *ignored))
    found = {file for folder in folders for file in folder.rglob("test_*.py")}
    return {file for file in found if not ignored & set(file.parents)}


async def test_tracks_run_side_by_side_and_the_rounds_of_a_track_one_after_another(
    stage: Stage, tmp_path: Path
) -> None:
    """The first track cannot end here before the second has run."""
    stage.waits_for = {"a": stage.ended["c"]}
    await asyncio.wait_for(run(tmp_path), patient(5))
    seen = stage.seen
    assert seen.index("a on suites") < seen.index("c on faults") < seen.index("b on suites")
    assert {"down suites", "down faults"} <= set(seen)


async def test_a_round_that_leaves_work_to_its_cluster_does_not_meet_the_next_one(
    stage: Stage, tmp_path: Path
) -> None:
    """Each round of such a track has a pair that comes up for it and goes down after it."""
    track = Track("faults", (("a",), ("b",)), pair_each_round=True)
    everything = Run(tmp_path, (), Progress(), asyncio.Lock())
    (end,) = await run_tracks([track], everything)
    assert [each.folder for each in end.rounds] == ["a", "b"]
    assert [each for each in stage.seen if not each.startswith("starting")] == [
        *("up faults-1", "a on faults-1", "down faults-1"),
        *("up faults-2", "b on faults-2", "down faults-2"),
    ]
    stage.seen.clear()
    stage.empty = ("a",)
    (end,) = await run_tracks([track], replace(everything, selecting=True))
    assert [each.code for each in end.rounds] == [NOTHING_SELECTED, 0]
    assert "up faults-1" not in stage.seen
    tracks = tracks_of(own_pairs=True, two_tracks=True)
    (faults,) = (each for each in tracks if each.pair_each_round)
    assert faults.rounds == ((COMPARISONS,), *FAULT_ROUNDS)


async def test_pairs_come_up_one_at_a_time(stage: Stage, tmp_path: Path) -> None:
    """Ports are free until a part listens there: two pairs at once could choose the same."""
    await run(tmp_path)
    starts = [each for each in stage.seen if each.startswith(("starting", "up"))]
    assert starts == ["starting suites", "up suites", "starting faults", "up faults"]


async def test_a_track_that_fails_leaves_the_other_to_its_end(stage: Stage, tmp_path: Path) -> None:
    """Also where its pair does not come up."""
    stage.broken = "suites"
    stage.codes = {"c": 1}
    ends = await run(tmp_path)
    assert "c on faults" in stage.seen
    assert exit_code_of(ends, selecting=False) == FAILED
    assert any("suites does not start" in line for line in lines_of(ends))
    assert any(line.startswith("c ") and "exit code 1" in line for line in lines_of(ends))


async def test_a_pair_that_does_not_come_up_is_a_failure_although_all_rounds_are_green(
    stage: Stage, tmp_path: Path
) -> None:
    """Its rounds did not run, and what did run is no excuse."""
    stage.broken = "faults"
    assert exit_code_of(await run(tmp_path), selecting=True) == FAILED


async def test_a_track_in_which_nothing_is_selected_brings_up_no_pair(
    stage: Stage, tmp_path: Path
) -> None:
    """Words go to every round of the others."""
    stage.empty = ("a", "b")
    ends = await run(tmp_path, "-k", "x")
    assert stage.seen == ["starting faults", "up faults", "c on faults -k x", "down faults"]
    assert exit_code_of(ends, selecting=True) == 0
    stage.empty = ("a", "b", "c")
    assert exit_code_of(await run(tmp_path, "-k", "y"), selecting=True) == NOTHING_SELECTED


async def test_without_words_every_track_runs(stage: Stage, tmp_path: Path) -> None:
    """A folder without tests is a mistake that its round reports."""
    stage.empty = ("c",)
    await run(tmp_path)
    assert "c on faults" in stage.seen


async def test_the_output_of_the_second_track_is_printed_whole_when_it_ends(
    stage: Stage, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The first track writes where we do."""
    await run(tmp_path)
    assert b"track faults =====\noutput of c\n" in capfdbinary.readouterr().out


async def test_an_interrupt_takes_both_pairs_down_and_shows_what_there_was(
    stage: Stage, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Nobody takes them down later."""
    stage.waits_for = {"a": asyncio.Event(), "c": asyncio.Event()}
    running = asyncio.create_task(run(tmp_path))
    await stage.began["c"].wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert {"down suites", "down faults"} <= set(stage.seen)
    assert b"output of c" in capfdbinary.readouterr().out


def test_a_line_says_how_far_a_track_is_by_the_last_line_of_its_output() -> None:
    """A minute of silence could be a hang."""
    track = TRACKS[1]
    assert progress_line(track, 60.2, b"first\ntest_outages.py ..\n\n").endswith(
        "track faults, 60 s: test_outages.py .."
    )
    assert progress_line(track, 60.0, b"").endswith("no test has ended")


async def test_words_are_looked_for_in_each_round_alone(stage: Stage, tmp_path: Path) -> None:
    """What one round ignores another has: in one track no test of faults was found."""
    stage.empty = ("a", "b")
    await run(tmp_path, "-k", "word")
    assert sorted(stage.looked) == [("a",), ("b",), ("c",)]


async def test_what_words_select_is_found_out_without_a_pair(tmp_path: Path) -> None:
    """By the collection of pytest itself, so that `-k` means what it does in the rounds."""
    marked = "import pytest\n\n@pytest.mark.real\ndef test_one(): ...\n\ndef test_unmarked(): ...\n"
    _write(tmp_path / "test_kube.py", marked)
    there, nowhere = await asyncio.gather(
        selects_nothing([str(tmp_path)], ["-k", "test_kube"]),
        selects_nothing([str(tmp_path)], ["-k", "test_unmarked"]),
    )
    assert (there, nowhere) == (False, True)
