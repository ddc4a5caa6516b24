"""A round of `make test-real`: one pytest on a pair. How it ended, and what people read of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.places import ROOT
from tests.real.rerunning import FILE_SETTING, Rerun, reruns_in
from tools.real.pair import BROKERS_SETTING, KUBECONFIG_SETTING, Pair

STATE_SETTING = "MILLRACE_REAL_STATE"
"""Where the parts of the pair are known; the faults need it (conftest.py)."""

OPTIONS = (
    # Time limits of brokers and servers are not ours: a test that fails is tried once more. What
    # it failed with at first is reported after the last round: most often it is a defect of ours.
    "--reruns=1",
    "-rR",
    "-p",
    "tests.real.rerunning",
    # asyncio leaves a TLS connection that is cancelled in its handshake to the collector, aiokafka
    # one that is cancelled while it asks for the first metadata; which test the warning then hits
    # is chance. StreamWriter of newer Pythons warns with "loop is closed". Unit tests hold our own
    # clients to closing.
    "-W",
    "ignore:unclosed:ResourceWarning",
    "-W",
    "ignore:loop is closed:ResourceWarning",
)
NOTHING_SELECTED = 5
FAILED = 1
TIMEOUT_S = 300
"""Of a test; tests/conftest.py stretches it."""
_PYTEST = (sys.executable, "-m", "pytest", "-m", "real")


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


def lines_of(ends: Sequence[RoundEnd]) -> Sequence[str]:
    """What people read last: every round, and every test that was green at its second try only."""
    rounds = [end.sentence for end in ends]
    return [*rounds, *(rerun.sentence for end in ends for rerun in end.reruns)]


async def selects_nothing(folders: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the words on the command line select no test there. It takes no pair."""
    command = (*_PYTEST, "--collect-only", "-q", *folders, *words)
    process = await _started(command, None, subprocess.DEVNULL)
    return await _ended(process) == NOTHING_SELECTED


async def run_round(
    pair: Pair, round_: Sequence[str], words: Sequence[str], reruns: Path, output: Path | None
) -> RoundEnd:
    """Run one pytest to its end, its output in a file or, without one, where ours goes."""
    environment = {
        FILE_SETTING: str(reruns),
        KUBECONFIG_SETTING: str(pair.kubeconfig),
        BROKERS_SETTING: pair.bootstrap_servers,
    }
    if pair.folder is not None:
        environment[STATE_SETTING] = str(pair.folder.path)
    timeout = f"--timeout={TIMEOUT_S}"  # unstretched: tests/conftest.py does that
    command = (*_PYTEST, timeout, *OPTIONS, *round_, *words)
    began_s = time.monotonic()
    if output is None:
        process = await _started(command, environment, None)
    else:
        with output.open("ab") as file:
            process = await _started(command, environment, file.fileno())
    code = await _ended(process)
    return RoundEnd(round_[0], code, time.monotonic() - began_s, reruns_in(reruns))


async def _started(
    command: Sequence[str], settings: dict[str, str] | None, output: int | None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        env=dict(os.environ) | (settings or {}),
        cwd=ROOT,
        stdout=output,
        stderr=output if output is None else subprocess.STDOUT,
        preexec_fn=_hear_interrupts,
    )


async def _ended(process: asyncio.subprocess.Process) -> int:
    try:
        return await process.wait()
    except asyncio.CancelledError:
        # As Ctrl-C does: on SIGTERM pytest ends without its fixtures' ends, and leaves their pairs.
        process.send_signal(signal.SIGINT)
        await process.wait()
        raise


def _hear_interrupts() -> None:
    """Also where a shell that runs us in its background has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
