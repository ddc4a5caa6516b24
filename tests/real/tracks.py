"""The tracks of `make test-real`: rounds on a pair of their own, beside the rounds of other tracks.

Rounds of one track run one after another: two systems on one cluster would act on the same
objects. Tests of faults mostly wait, so they have a track, and a pair whose parts they may stop.
Comparisons with the sandbox need only an API server. They run before the faults, on a pair that is
down before the pair of the faults comes up. A pair on which nothing is selected does not come up.
The first track writes where we do. What another track writes is kept in a file and printed when
the track ends; a line a minute says how far it is.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.failing import Failure
from tests.real.rounds import FAILED, NOTHING_SELECTED, RoundEnd, run_round, selects_nothing
from tests.real.rounds import exit_code_of as exit_code_of_rounds
from tests.real.rounds import lines_of as lines_of_rounds
from tools.real.pair import PairOptions, running_pair
from tools.real.progress import Progress

Rounds = tuple[tuple[str, ...], ...]
FAULTS = "tests/real/faults"
COMPARISONS = "tests/real/differential"
SUITES: Rounds = (
    ("tests/contract",),
    ("tests/real", f"--ignore={FAULTS}"),
    ("tests/e2e",),
)
FAULT_ROUNDS: Rounds = ((FAULTS, "-rPR"),)
OTHER_SUITES: Rounds = (
    ("tests/contract",),
    ("tests/real", f"--ignore={FAULTS}", f"--ignore={COMPARISONS}"),
    ("tests/e2e",),
)
PROGRESS_EVERY_S = 60.0
LINE_CHARS_MAX = 80


@dataclass(frozen=True, slots=True)
class Track:
    """Rounds that run one after another on one pair."""

    name: str
    rounds: Rounds
    pair_each_round: bool = False
    """Whether each round has a pair for itself, one after another."""


@dataclass(frozen=True, slots=True)
class TrackEnd:
    """How a track ended: its rounds, and the failure of a pair that did not come up or go down."""

    rounds: Sequence[RoundEnd]
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What the tracks of one command share; pairs come up one at a time, so ports differ.

    `selecting`: whether some tests are selected, by the words or by a share.
    """

    folder: Path
    words: Sequence[str]
    progress: Progress
    starting: asyncio.Lock
    selecting: bool = False


def tracks_of(*, own_pairs: bool, two_tracks: bool) -> tuple[Track, ...]:
    """The tracks of a run; on a cluster of somebody else there are no faults."""
    if not own_pairs:
        return (Track("suites", SUITES),)
    if two_tracks:
        # A cluster ends the namespaces of the comparisons, more than a thousand, for minutes, and
        # serves others late meanwhile: faults would be judged by that.
        faults = Track("faults", ((COMPARISONS,), *FAULT_ROUNDS), pair_each_round=True)
        return (Track("suites", OTHER_SUITES), faults)
    return (Track("all", SUITES + FAULT_ROUNDS),)


async def run_tracks(tracks: Sequence[Track], run: Run) -> Sequence[TrackEnd]:
    """Run all tracks at once, each to its end whatever becomes of the others."""
    outputs = [None, *(run.folder / f"{track.name}.out" for track in tracks[1:])]
    work = [_run_track(track, output, run) for track, output in zip(tracks, outputs, strict=True)]
    # With exceptions returned, an interrupt waits until every track has taken its pair down.
    ends = await asyncio.gather(*work, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if isinstance(end, TrackEnd)]


async def _run_track(track: Track, output: Path | None, run: Run) -> TrackEnd:
    ends: list[RoundEnd] = []
    try:
        async with AsyncExitStack() as stack:
            if output is not None:
                await stack.enter_async_context(_kept(track, output, run.progress))
            for name, rounds in _on_one_pair(track):
                if run.selecting and await _selects_nothing(rounds, run.words):
                    ends += [RoundEnd(round_[0], NOTHING_SELECTED, 0.0) for round_ in rounds]
                else:
                    await _run_rounds(name, rounds, output, run, ends)
    except Failure as failure:
        return TrackEnd(ends, failure)
    return TrackEnd(ends)


def _on_one_pair(track: Track) -> Iterator[tuple[str, Rounds]]:
    """The rounds of a track, those together that share a pair, each with a name for the pair."""
    if not track.pair_each_round:
        yield track.name, track.rounds
        return
    for number, each in enumerate(track.rounds, start=1):
        yield f"{track.name}-{number}", (each,)


async def _run_rounds(
    name: str, rounds: Rounds, output: Path | None, run: Run, ends: list[RoundEnd]
) -> None:
    """Run rounds on a pair that comes up for them and goes down after them; adds their ends."""
    async with AsyncExitStack() as stack:
        async with run.starting:
            options = PairOptions(run.folder / name)
            pair = await stack.enter_async_context(running_pair(options, run.progress))
        for place, round_ in enumerate(rounds):
            reruns = run.folder / f"reruns-{name}-{place}.jsonl"
            ends.append(await run_round(pair, round_, run.words, reruns, output))


async def _selects_nothing(rounds: Rounds, words: Sequence[str]) -> bool:
    """Round by round: what one ignores, another may have."""
    for round_ in rounds:
        if not await selects_nothing(round_, words):
            return False
    return True


@asynccontextmanager
async def _kept(track: Track, output: Path, progress: Progress) -> AsyncIterator[None]:
    """Say how far a track is inside of the block, and print its output at the end, also a part."""
    telling = asyncio.create_task(_tell(track, output, progress))
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
        _print_kept(track, output)


def _print_kept(track: Track, output: Path) -> None:
    """As bytes, as they came."""
    sys.stdout.flush()
    sys.stdout.buffer.write(f"\n===== the output of track {track.name} =====\n".encode())
    sys.stdout.buffer.write(_written(output))
    sys.stdout.buffer.write(f"===== end of track {track.name} =====\n".encode())
    sys.stdout.buffer.flush()


def _written(output: Path) -> bytes:
    return output.read_bytes() if output.exists() else b""


async def _tell(track: Track, output: Path, progress: Progress) -> None:
    began_s = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_EVERY_S)
        progress.say(progress_line(track, time.monotonic() - began_s, _written(output)))


def progress_line(track: Track, since_s: float, output: bytes) -> str:
    """How far a track is: the last line of its output, whose length pytest keeps short."""
    lines = output.decode(errors="replace").splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "no test has ended")
    return f"track {track.name}, {since_s:.0f} s: {last[:LINE_CHARS_MAX]}"


def exit_code_of(ends: Sequence[TrackEnd], *, selecting: bool) -> int:
    """0 where every round of every track was green, and every pair came up and went down."""
    if any(end.failure for end in ends):
        return FAILED
    return exit_code_of_rounds([one for end in ends for one in end.rounds], selecting=selecting)


def lines_of(ends: Sequence[TrackEnd]) -> Sequence[str]:
    """What people read last: every round, what was tried twice, and what became of a pair."""
    rounds = lines_of_rounds([one for end in ends for one in end.rounds])
    return [*rounds, *(f"make test-real: {end.failure}" for end in ends if end.failure)]
