"""`make test-real`: a pair of its own is brought up, the tests marked `real` run on it, it ends.

They run in rounds, one pytest each: two systems on one cluster would act on the same objects, and
what hurts the pair comes last. Words on the command line go to every round (`-k`, `-x`, …). With
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
from pathlib import Path

from cli.failing import Failure
from cli.real.pair import BROKERS_SETTING, KUBECONFIG_SETTING, Pair, PairOptions, running_pair
from cli.real.progress import Progress
from tests.places import ROOT

STATE_SETTING = "MILLRACE_REAL_STATE"
"""Where the parts of the pair are known; the faults need it (conftest.py)."""

FAULTS = "tests/real/faults"
ROUNDS: tuple[tuple[str, ...], ...] = (
    ("tests/contract",),
    ("tests/real", f"--ignore={FAULTS}"),
    ("tests/e2e",),
    (FAULTS, "-rP"),
)
NOTHING_SELECTED = 5
TIMEOUT_S = 300


async def run_rounds(words: Sequence[str]) -> int:
    """The exit code: 0 where every round was green."""
    with (
        tempfile.TemporaryDirectory(prefix="millrace-test-real-") as folder,
        Progress() as progress,
    ):
        options = PairOptions(Path(folder) / "pair")
        async with running_pair(options, progress) as pair:
            codes = [await _run_round(pair, round_, words) for round_ in ROUNDS]
    return int(any(codes))


async def _run_round(pair: Pair, round_: Sequence[str], words: Sequence[str]) -> int:
    environment = dict(os.environ) | {
        KUBECONFIG_SETTING: str(pair.kubeconfig),
        BROKERS_SETTING: pair.bootstrap_servers,
    }
    if pair.folder is not None:
        environment[STATE_SETTING] = str(pair.folder.path)
    command = [sys.executable, "-m", "pytest", "-m", "real", f"--timeout={TIMEOUT_S}"]
    began_s = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *command, *round_, *words, env=environment, cwd=ROOT
    )
    try:
        code = await process.wait()
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise
    took_s = time.monotonic() - began_s
    sys.stderr.write(f"{round_[0]}: exit code {code} after {took_s:.0f} s\n")
    return 0 if words and code == NOTHING_SELECTED else code


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
        sys.stderr.write(f"make test-real: {failure}\n")
        return failure.exit_code
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130


if __name__ == "__main__":
    sys.exit(main())
