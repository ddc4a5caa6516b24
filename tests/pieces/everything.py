"""`make everything`: all tests there are, in parts. It goes on where it was interrupted.

All but what has a command of its own: all mutants (`make mutants`), all plans of the simulation
(`make sim`), and processes of PEs that are killed (`make crash`). The parts that passed for a
commit are kept in ~/.cache/millrace/everything, with what each test took. A long suite is played a
quarter at a time, so most parts take some minutes.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.pieces import environment, noting
from tests.pieces.choosing import QUARTERS, deal
from tests.pieces.noting import Durations
from tests.pieces.suites import SUITE, Piece

PASSED, FAILED, LEFT_OUT = "passed", "FAILED", "LEFT OUT"
NOT_INHERITED = ("MAKEFLAGS", "MFLAGS", "PYTEST_ADDOPTS")
"""By these a caller of `make everything` would select among the tests of a part."""
EXACTNESS = ("TUPLES", "RATE", "SCHEDULES", "SEED", "ROUNDS")
"""Likewise, what `make exact` plays."""
SHOWN_LINES = 40
SHOWN_TESTS = 20


@dataclass(frozen=True, slots=True)
class Part:
    """A part of everything: a target of `make`, the pieces it plays, and whether also the rest."""

    name: str
    target: str
    args: str = ""
    pieces: tuple[str, ...] = ()
    always: bool = False

    @property
    def slug(self) -> str:
        """Its name as that of a file."""
        return self.name.replace(" ", "-").replace("/", "-of-")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a part ended, and what its tests took."""

    part: str
    target: str
    result: str
    took_s: float
    durations: Durations = field(default_factory=Durations)


def parts_of(found: Sequence[Piece], seconds: Mapping[str, float]) -> tuple[Part, ...]:
    """All parts, the quick ones first."""
    dealt = deal(found, seconds)

    def quarters(name: str, target: str, args: str = "") -> list[Part]:
        dealt_to = [_of_stage(found, dealt, target, number) for number in range(QUARTERS)]
        chosen = [each for each in dealt_to if each]
        return [
            Part(f"{name} {number}/{len(chosen)}" if chosen[1:] else name, target, args, each)
            for number, each in enumerate(chosen, start=1)
        ]

    return (
        Part("checks", "check"),
        Part("wheel", "test-wheel", always=True),
        Part("tests", "test", always=True),
        *quarters("long tests", "test", "tests/e2e tests/simulation"),
        *quarters("exactness", "exact"),
        Part("contracts on the pair", "test-real", always=True),
        *quarters("pair", "test-real", "--two-tracks"),
        *quarters("compose", "test-compose"),
        *quarters("node", "test-node", "--all"),
    )


def _of_stage(
    found: Sequence[Piece], dealt: Mapping[str, int], target: str, number: int
) -> tuple[str, ...]:
    return tuple(
        each.name
        for each in found
        if SUITE[each.suite].target == target and dealt[each.name] == number
    )


class NotKept(Exception):
    """Why what a part found cannot be kept for the commit."""


class Results:
    """What ended for one commit, in a folder of its own: a file of outcomes and a log a part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / "outcomes.json"
        self.lock: int | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For one run alone: two would write the same logs. Raises NotKept while another runs."""
        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise NotKept("another make everything runs for this commit") from None
            self.lock = file.fileno()
            yield

    def log_of(self, part: Part) -> Path:
        """The output of a part."""
        return self.folder / f"{part.slug}.log"

    def outcomes(self) -> dict[str, Outcome]:
        """The newest outcome of each part by its name; none of a file that is damaged."""
        if not self._file.exists():
            return {}
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            return {
                each["part"]: Outcome(**{**each, "durations": Durations(**each["durations"])})
                for each in content
            }
        except (ValueError, TypeError, KeyError) as damage:
            print_line(f"{self._file} cannot be read, so every part is played: {damage!r}")
            return {}

    def keep(self, outcome: Outcome) -> None:
        """Keep it in the place of the one before; an interruption leaves the file whole."""
        content = {**self.outcomes(), outcome.part: outcome}
        whole = self._file.with_suffix(".new")
        whole.write_text(json.dumps([asdict(each) for each in content.values()]), "utf-8")
        whole.replace(self._file)


def play(part: Part, results: Results, root: Path) -> Outcome:
    """Run a part to its end; its output goes into a log of its own."""
    share = results.folder / f"{part.slug}.share"
    durations = results.folder / f"{part.slug}.durations"
    share.write_text(json.dumps({"pieces": part.pieces, "always": part.always}), "utf-8")
    durations.unlink(missing_ok=True)
    settings = {environment.SHARE: str(share), environment.DURATIONS: str(durations)}
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in (*NOT_INHERITED, *EXACTNESS)
    }
    began_s = time.monotonic()
    with (
        results.log_of(part).open("wb") as file,
        subprocess.Popen(
            ["make", part.target, f"ARGS={part.args}"],
            cwd=root,
            env={**inherited, **settings},
            stdout=file,
            stderr=subprocess.STDOUT,
            # Where we are killed, the part still runs, and no second run may begin beside it.
            pass_fds=[] if results.lock is None else [results.lock],
        ) as process,
    ):
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()  # Ctrl-C interrupts it, too, and it takes its pair or node down first
            raise
    found = noting.read(durations)
    result = FAILED if code else LEFT_OUT if found.not_played(part.pieces) else PASSED
    return Outcome(part.name, part.target, result, time.monotonic() - began_s, found)


def play_all(
    parts: Sequence[Part],
    results: Results,
    root: Path,
    is_unchanged: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    """Play what has not passed yet, one after another.

    Raises NotKept where the checkout is another one after a part than it was before.
    """
    for part in parts:
        done = results.outcomes().get(part.name)
        if done is not None and done.result == PASSED:
            say(f"{part.name}: passed before")
            continue
        say(f"{part.name} …")
        outcome = play(part, results, root)
        if not is_unchanged():
            raise NotKept(f"{part.name} is not kept: the checkout has changed meanwhile")
        results.keep(outcome)
        say(line_of(outcome))
        for piece in outcome.durations.not_played(part.pieces):
            say(f"  no test of {piece} was played")
        if outcome.result != PASSED:
            text = results.log_of(part).read_text(encoding="utf-8", errors="replace")
            say("\n".join(text.splitlines()[-SHOWN_LINES:]))


def slowest(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The tests that took longest, a line each: what is read first where time is lost."""
    took_s = [each for outcome in outcomes for each in outcome.durations.tests.items()]
    for test, seconds in sorted(took_s, key=lambda each: -each[1])[:SHOWN_TESTS]:
        yield f"{seconds:6.1f} s  {test}"


def line_of(outcome: Outcome) -> str:
    """A row of the table: part, seconds, result, tests."""
    counts = outcome.durations.outcomes
    tests = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
    return f"{outcome.part:<24} {outcome.took_s:6.0f} s  {outcome.result:<7} {tests}"


def measured(outcomes: Sequence[Outcome]) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of folders, suites and targets of make, and those of pieces."""
    of_folders = defaultdict[str, float](float)
    of_pieces = defaultdict[str, float](float)
    for outcome in outcomes:
        of_folders[f"make {outcome.target}"] += outcome.took_s
        for folder, takes_s in outcome.durations.folders.items():
            of_folders[folder] += takes_s
        for piece, takes_s in outcome.durations.pieces.items():
            of_folders[f"suite {piece.partition('/')[0]}"] += takes_s
            of_pieces[piece] += takes_s
    return of_folders, of_pieces


def print_line(line: str) -> None:
    """At once, since a part takes minutes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
