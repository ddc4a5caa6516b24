"""`make test-real`: pairs of its own are brought up, the tests marked `real` run on them, they end.

They run in rounds, one pytest each, one after another on one pair. With `--two-tracks` comparisons
and then faults run beside the other rounds, each on a pair of their own (tracks.py). Words on the
command line go to every round (`-k`, `-x`, …), and a share (tests/pieces) selects, too. A pair on
which nothing is selected does not come up, and some round has to select something. With
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
from cli.showing import print_lines
from tests.pieces.selecting import selection
from tests.real.tracks import Run, exit_code_of, lines_of, run_tracks, tracks_of
from tools.real.pair import existing_pair
from tools.real.progress import Progress

TWO_TRACKS = "--two-tracks"


async def run_rounds(given: Sequence[str]) -> int:
    """Run every round in its track; the exit code of all."""
    words = [word for word in given if word != TWO_TRACKS]
    selecting = bool(words) or selection() is not None
    own_pairs = existing_pair(os.environ) is None
    tracks = tracks_of(own_pairs=own_pairs, two_tracks=TWO_TRACKS in given)
    began_s = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="millrace-test-real-") as folder,
        Progress() as progress,
    ):
        run = Run(Path(folder), words, progress, asyncio.Lock(), selecting)
        ends = await run_tracks(tracks, run)
    print_lines(*lines_of(ends), f"{time.monotonic() - began_s:.0f} s in all")
    return exit_code_of(ends, selecting=selecting)


def main() -> int:
    """Run to an exit code; an interrupt takes the pairs down too."""

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
