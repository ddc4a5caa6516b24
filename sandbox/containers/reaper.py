"""Ends what a sandbox leaves when it is killed: `python -m sandbox.containers.reaper FOLDER`.

A process beside the sandbox, which tells it by lines which process groups there are: `+ID` and
`-ID`. When the pipe ends, what is left of them is killed, and the folders of pods are removed.
The kernel kills the first process of a container anyway (children.py), but not what that started.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

PARTS = ("pods", "nodes", "claims")
"""The folders below FOLDER that are removed."""


def main() -> int:
    """Follow the lines of standard input to their end; returns the exit code."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for group in followed(sys.stdin):
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    for name in PARTS:
        shutil.rmtree(Path(sys.argv[1]) / name, ignore_errors=True)
    return 0


def followed(lines: Iterable[str]) -> set[int]:
    """The groups that are left after the last line."""
    groups: set[int] = set()
    for line in lines:
        with contextlib.suppress(ValueError):
            group = int(line[1:])
            (groups.add if line[0] == "+" else groups.discard)(group)
    return groups


if __name__ == "__main__":
    sys.exit(main())
