"""`python -m tests.fuzz --real`: brings the pair up where none is named, floods it, tells.

What is sent and held is `pair_flood.py`'s business.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import tempfile
from pathlib import Path

from cli.failing import Failure
from cli.showing import answer, print_failure
from tests.fuzz.pair_flood import flood_pair
from tests.fuzz.pair_report import FAULTS, FloodRequest, PairReport
from tools.real.pair import BROKERS_SETTING, KUBECONFIG_SETTING, PairOptions, running_pair
from tools.real.progress import Progress

OBJECTS = 2_000


def run_real(options: argparse.Namespace) -> int:
    """Run one flood on the pair; the exit code."""
    wish = wish_of(options)
    try:
        report = asyncio.run(_interruptible(wish))
    except Failure as failure:
        print_failure(failure)
        return failure.exit_code
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    _tell(report, wish, options)
    return 1 if report.problems else 0


def wish_of(options: argparse.Namespace) -> FloodRequest:
    """What the words of the command line mean."""
    count = options.count or OBJECTS
    return FloodRequest(
        objects=count if options.side in ("both", "objects") else 0,
        records=count if options.side in ("both", "records") else 0,
        seed=options.seed,
        rounds=options.rounds,
        faults=() if options.no_faults else FAULTS,
        slower_max=options.slower_max,
        only=frozenset(options.only),
    )


async def _interruptible(wish: FloodRequest) -> PairReport:
    """SIGTERM ends it as Ctrl-C does: definitions and objects are put back."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await _flooded(wish)


async def _flooded(wish: FloodRequest) -> PairReport:
    with (
        tempfile.TemporaryDirectory(prefix="millrace-fuzz-") as folder,
        Progress() as progress,
    ):
        async with running_pair(PairOptions(Path(folder) / "pair"), progress) as pair:
            os.environ[KUBECONFIG_SETTING] = str(pair.kubeconfig)
            os.environ[BROKERS_SETTING] = pair.bootstrap_servers
            return await flood_pair(Path(folder), wish, _say)


def _say(line: str) -> None:
    answer(line)


def _tell(report: PairReport, wish: FloodRequest, options: argparse.Namespace) -> None:
    for problem in report.problems:
        _say(f"WRONG: {problem}")
    if report.problems:
        only = "".join(f" --only {each}" for each in options.only)
        words = f"--side {options.side} --count {max(wish.objects, wish.records)}"
        _say(f"again: python -m tests.fuzz --real {words} --seed {wish.seed}{only}")
    _say(f"seed {wish.seed}: {report.text()}")
