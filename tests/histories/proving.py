"""What a replay must show of systems on the real pair, too long or too large to be kept.

A bug is planted, recorded, and found by `millrace replay` with the code of then and of today; a
resize of hundreds of PEs with three kills is recorded and replays equal.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.showing import print_lines
from history.tallying import replay_file
from tests.e2e.examples import OUTSIDE, REGION, submit_example
from tests.e2e.watching import JobObjects
from tests.histories.making import make
from tests.histories.releases import Tree, here, with_bug
from tests.histories.scenes import BUG, WRONG_RULE, resized_with_kills
from tests.histories.staging import Scenario, Stage
from tests.histories.table import SCENARIOS
from tests.histories.wording import sentences_of
from tests.patience import patient

LARGE_PES = 500
LARGE_WAIT_S = patient(900.0)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed, and its exit code."""

    code: int
    lines: Sequence[str]


def replayed_in(tree: Tree, path: Path, *options: str) -> Ran:
    """`millrace replay` with the code of a tree."""
    command = [sys.executable, "-m", "cli", "replay", str(path), *options]
    found = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
    return Ran(found.returncode, [*found.stdout.splitlines(), *found.stderr.splitlines()])


def find_bug() -> bool:
    """Record a planted bug; whether both releases say of it what they should."""
    with tempfile.TemporaryDirectory(prefix="millrace-histories-") as name:
        path = Path(name) / "bug.recording"
        make(SCENARIOS["planted-bug"], path)
        with_it = with_bug(Path(name) / "tree", BUG)
        equal = replayed_in(with_it, path, "--diff")
        stopped = replayed_in(with_it, path, "--break", WRONG_RULE)
        differs = replayed_in(here(), path, "--diff")
    print_lines("with the bug, --diff:", *equal.lines)
    print_lines(f"with the bug, --break {WRONG_RULE}:", *stopped.lines)
    print_lines("without it, --diff:", *differs.lines)
    return is_found(equal, stopped, differs)


def is_found(equal: Ran, stopped: Ran, differs: Ran) -> bool:
    """Whether the bug is equal to itself, and both others name the same decision."""
    place = stopped.lines[0].split()[1]
    inputs = [line.split(":", 1)[1] for line in differs.lines if line.strip().startswith("inputs")]
    return (
        (equal.code, stopped.code, differs.code) == (0, 0, 1)
        and "the first decision that differs" in differs.lines[0]
        and place in differs.lines[0].split()
        and len(inputs) == len(set(inputs)) + 1
    )


# --------------------------------------------------------------------------- many PEs


async def large(stage: Stage) -> None:
    """A job of half as many PEs is resized, and three services are killed in the middle."""
    job = await stage.job("large")
    await submit_example(stage.cluster, job, LARGE_PES // 2 - OUTSIDE)
    await _until_running(job, LARGE_PES // 2)

    async def resize(resized: JobObjects, width: int) -> None:
        await stage.cluster.resize(resized, REGION, width)

    width = LARGE_PES - OUTSIDE
    await resized_with_kills(stage.cluster, job, resize, width, LARGE_PES)
    await _until_running(job, LARGE_PES)


async def _until_running(job: JobObjects, pes: int) -> None:
    await job.until(
        f"{pes} PEs",
        lambda: (
            job.width_in_force(REGION) == pes - OUTSIDE
            and len(job.of("pes")) == pes
            and job.is_settled()
        ),
        LARGE_WAIT_S,
    )


LARGE = Scenario("large", "a resize of many PEs with three kills", large, is_real=True)


def replay_large() -> bool:
    """Record a resize of many PEs, and say how it replays; whether it is equal."""
    with tempfile.TemporaryDirectory(prefix="millrace-histories-") as name:
        path = Path(name) / "large.recording"
        make(LARGE, path)
        began_s = time.monotonic()
        tally = asyncio.run(replay_file(path))
        took_s, size = time.monotonic() - began_s, path.stat().st_size
    print_lines(
        f"{LARGE_PES} PEs: {size} bytes of text, {tally.decisions} decisions of"
        f" {tally.starts.total()} starts, {tally.equal.total()} equal, in {took_s:.1f} s",
        *sentences_of(tally),
    )
    return tally.is_equal
