"""`make test-real`: a pair of its own is brought up, the tests marked `real` run on it, it ends.

They run in rounds, one pytest each: two systems on one cluster would act on the same objects, and
what hurts the pair comes last. Words on the command line go to every round (`-k`, `-x`, …); a
round in which they select nothing is left out, and one of them has to select something. With
MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS that cluster and those brokers are used, and the
faults, which stop parts of a pair, are left out.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cli.failing import Failure
from cli.real.pair import BROKERS_SETTING, KUBECONFIG_SETTING, Pair, PairOptions, running_pair
from cli.real.progress import Progress
from cli.showing import print_lines
from tests.places import ROOT
from tests.real.rerunning import FILE_SETTING, Rerun, reruns_in

STATE_SETTING = "MILLRACE_REAL_STATE"
"""Where the parts of the pair are known; the faults need it (conftest.py)."""

FAULTS = "tests/real/faults"
ROUNDS: tuple[tuple[str, ...], ...] = (
    ("tests/contract",),
    ("tests/real", f"--ignore={FAULTS}"),
    ("tests/e2e",),
    (FAULTS, "-rPR"),
)
OPTIONS = (
    # Time limits of brokers and servers are not ours: a test that fails is tried once more. What
    # it failed with at first is reported after the last round: most often it is a defect of ours.
    "--reruns=1",
    "-rR",
    "-p",
    "tests.real.rerunning",
    # asyncio leaves a TLS connection that is cancelled in its handshake to the collector; which
    # test the warning then hits is chance. Unit tests hold our own clients to closing.
    "-W",
    "ignore:unclosed:ResourceWarning",
)
NOTHING_SELECTED = 5
FAILED = 1
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """How a round of tests ended: pytest's exit code, and the seconds that it took."""

    folder: str
    code: int
    took_s: float
    reruns: Sequence[Rerun] = ()

    @property
    def sentence(self) -> str:
        """What people read of it."""
        words = {0: "green", NOTHING_SELECTED: "nothing selected"}
        outcome = words.get(self.code, f"failed (exit code {self.code})")
        if self.reruns:
            outcome += f", {len(self.reruns)} tried twice"
        return f"{self.folder:<16} {self.took_s:6.0f} s  {outcome}"


def exit_code_of(ends: Sequence[RoundEnd], *, selecting: bool) -> int:
    """0 where every round was green; `selecting`: whether words chose among the tests."""
    if all(end.code == NOTHING_SELECTED for end in ends):
        return NOTHING_SELECTED
    passing = {0, NOTHING_SELECTED} if selecting else {0}
    return 0 if all(end.code in passing for end in ends) else FAILED


async def run_rounds(words: Sequence[str]) -> int:
    """Bring the pair up, run every round on it; the exit code of all."""
    with (
        tempfile.TemporaryDirectory(prefix="millrace-test-real-") as folder,
        Progress() as progress,
    ):
        options = PairOptions(Path(folder) / "pair")
        async with running_pair(options, progress) as pair:
            ends = [
                await _run_round(pair, round_, words, Path(folder) / f"reruns-{number}.jsonl")
                for number, round_ in enumerate(ROUNDS)
            ]
    print_lines(*told_of(ends))
    return exit_code_of(ends, selecting=bool(words))


def told_of(ends: Sequence[RoundEnd]) -> Sequence[str]:
    """What people read last: every round, and every test that was green at its second try only."""
    rounds = [end.sentence for end in ends]
    return [*rounds, *(rerun.sentence for end in ends for rerun in end.reruns)]


async def _run_round(
    pair: Pair, round_: Sequence[str], words: Sequence[str], reruns: Path
) -> RoundEnd:
    environment = dict(os.environ) | {
        FILE_SETTING: str(reruns),
        KUBECONFIG_SETTING: str(pair.kubeconfig),
        BROKERS_SETTING: pair.bootstrap_servers,
    }
    if pair.folder is not None:
        environment[STATE_SETTING] = str(pair.folder.path)
    command = [sys.executable, "-m", "pytest", "-m", "real", f"--timeout={TIMEOUT_S}", *OPTIONS]
    began_s = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command, *round_, *words, env=environment, cwd=ROOT, preexec_fn=_hear_interrupts
    )
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        # As Ctrl-C does: on SIGTERM pytest ends without its fixtures' ends, and leaves their pairs.
        process.send_signal(signal.SIGINT)
        await process.wait()
        raise
    return RoundEnd(round_[0], code, time.monotonic() - began_s, reruns_in(reruns))


def _hear_interrupts() -> None:
    """Also where a shell that runs us in its background has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run to an exit code; an interrupt takes the pair down too."""

    async def interruptible() -> int:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await run_rounds(sys.argv[1:])

    try:
        return asyncio.run(interruptible())
    except Failure as failure:
        print_lines(f"make test-real: {failure}")
        return failure.exit_code
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130


if __name__ == "__main__":
    sys.exit(main())
