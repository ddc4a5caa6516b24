"""The pieces of the long suites: which of them CI plays for a commit, and `make everything`.

    python -m tests.pieces share [--file FILE] [--head HASH]  the share of HEAD; SHARE=all: all
    python -m tests.pieces suites FILE                        the suites that a share plays some of
    python -m tests.pieces left-out FILE                      what a share leaves out
    python -m tests.pieces everything [WORD …] [--list] [--record]

docs/adr/0077 says how a share is chosen.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from subprocess import CalledProcessError

from tests import patience
from tests.pieces import seconds
from tests.pieces.choosing import COMMITS, NoHash
from tests.pieces.commits import head_of, is_clean, is_cut_off
from tests.pieces.covering import Unreadable
from tests.pieces.everything import (
    PASSED,
    NotKept,
    Part,
    Results,
    line_of,
    measured,
    parts_of,
    play_all,
    print_line,
    slowest,
)
from tests.pieces.share_file import (
    counts_of,
    lines_left_out,
    lines_of_share,
    read_share,
    share_of,
    write,
)
from tests.pieces.suites import pieces
from tests.places import ROOT

SETTING = "SHARE"
ALL = "all"
MISUSED = 2


def main(arguments: list[str]) -> int:
    """What was requested; the exit code."""
    options = _read(arguments)
    if options.command == "share":
        return _share(options)
    if options.command == "everything":
        return _everything(options)
    share = read_share(options.file)
    if options.command == "suites":
        print_line(" ".join(counts_of(share)))
        return 0
    _print(lines_left_out(share))
    return 0


def _share(options: argparse.Namespace) -> int:
    wanted = os.environ.get(SETTING, "")
    if wanted not in ("", ALL):
        return _misused(f"{SETTING} is {wanted!r}; it may be {ALL}, or is not set")
    try:
        share = share_of(ROOT, everything_wanted=wanted == ALL, head=options.head)
    except (Unreadable, NoHash) as refused:
        return _misused(str(refused))
    if is_cut_off(ROOT, COMMITS):
        sys.stderr.write(
            f"this clone is shallow: its oldest commit counts as one that touched every file;"
            f" git fetch --deepen={COMMITS} gets what the share looks at\n"
        )
    if options.file is not None:
        write(share, options.file)
    _print(lines_of_share(share))
    return 0


def _everything(options: argparse.Namespace) -> int:
    before = seconds.read()
    every = parts_of(pieces(ROOT), before.pieces)
    parts = [each for each in every if _is_wanted(each, options.words)]
    if options.list:
        _print(f"{each.name:<24} make {each.target} {each.args}".rstrip() for each in parts)
        return 0
    if not parts:
        return _misused(f"no part has one of these words in its name: {' '.join(options.words)}")
    if not is_clean(ROOT):
        return _misused("commit first: what passes is kept for a commit, and this tree has changes")
    from tools.real.building import cache_folder  # the other commands need no environment

    head = head_of(ROOT)
    results = Results(cache_folder() / "everything" / head)
    if not os.environ.get(patience.SETTING):
        os.environ[patience.SETTING] = f"{patience.measured()}"
    try:
        with results.locked():
            play_all(
                parts, results, ROOT, lambda: head_of(ROOT) == head and is_clean(ROOT), print_line
            )
    except NotKept as not_kept:
        return _misused(str(not_kept))
    outcomes = [results.outcomes()[each.name] for each in parts]
    _print(["", "the slowest tests:", *slowest(outcomes)])
    _print(["", *map(line_of, outcomes)])
    failed = [each.part for each in outcomes if each.result != PASSED]
    took_s = sum(each.took_s for each in outcomes)
    print_line(f"{len(outcomes)} parts, {len(failed)} failed, {took_s / 60:.0f} minutes")
    if len(parts) == len(every) and not failed:
        measurement = measured(outcomes)
        if other := seconds.unlike(patience.known_s()):
            return _misused(other) if options.record else _noted(other)
        _print(seconds.grown(before, measurement[0]))
        if options.record:
            seconds.write(seconds.recorded(*measurement))
    elif options.record:
        return _misused("nothing is recorded: only a whole run that passed says what tests take")
    return 1 if failed else 0


def _is_wanted(part: Part, words: list[str]) -> bool:
    return not words or any(word in part.name for word in words)


def _noted(sentence: str) -> int:
    print_line(sentence)
    return 0


def _misused(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return MISUSED


def _read(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.pieces",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    share = commands.add_parser("share", help="choose and show the share of HEAD")
    share.add_argument("--file", type=Path, help="write it here, for MILLRACE_SHARE")
    share.add_argument("--head", default="", metavar="HASH", help="the share of another hash")
    suites = commands.add_parser("suites", help="the suites that a share plays some of")
    suites.add_argument("file", type=Path)
    out = commands.add_parser("left-out", help="what a share leaves out")
    out.add_argument("file", type=Path)
    everything = commands.add_parser("everything", help="all tests, in parts")
    everything.add_argument("words", nargs="*", help="only parts with one of them in their name")
    everything.add_argument("--list", action="store_true", help="only say which parts there are")
    everything.add_argument("--record", action="store_true", help="write seconds.json")
    return parser.parse_args(arguments)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print_line(line)


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except BrokenPipeError:  # `make share | head` has read enough; parts have not been played
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = int("everything" in sys.argv)
    except (CalledProcessError, FileNotFoundError) as no_git:
        code = _misused(f"git does not tell what is checked out here: {no_git}")
    sys.exit(code)
