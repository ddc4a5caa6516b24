"""Makes the recordings of this folder again: `make histories ARGS="record NAME …"`.

`record` without names makes all of them, which takes some minutes. `list` names them, and `table`
writes the table of README.md again. `bug` and `large` show on the real pair what a replay is for.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from cli.failing import Failure
from cli.showing import print_lines
from history.tallying import replay_file
from services.chassis.process.release import release
from tests.histories.listing import write_table
from tests.histories.making import make, pair_for
from tests.histories.proving import LARGE, find_bug, replay_large
from tests.histories.releases import version
from tests.histories.table import SCENARIOS, path_of
from tests.histories.wording import sentences_of

DONE, WRONG, MISUSED = 0, 1, 2


def main(words: Sequence[str]) -> int:
    """Do what the words say; the exit code."""
    match words:
        case ["list"]:
            print_lines(*(f"{each.name}: {each.what}" for each in SCENARIOS.values()))
        case ["table"]:
            write_table()
        case ["record", *names]:
            return _record(names)
        case ["bug"]:
            with pair_for([SCENARIOS["planted-bug"]]):
                return DONE if find_bug() else WRONG
        case ["large"]:
            with pair_for([LARGE]):
                return DONE if replay_large() else WRONG
        case _:
            print_lines("say: record [NAME …], list, table, bug, or large")
            return MISUSED
    return DONE


def _record(names: Sequence[str]) -> int:
    """Make recordings, and say what a replay makes of each."""
    if unknown := sorted(set(names) - SCENARIOS.keys()):
        print_lines(f"no scenario is {', '.join(unknown)}; `list` names them")
        return MISUSED
    if release() != version():
        print_lines(f"release {release()} is installed, and not {version()}: run `make venv`")
        return MISUSED
    scenarios = [SCENARIOS[name] for name in names or SCENARIOS]
    wrong = 0
    with pair_for(scenarios):
        for scenario in scenarios:
            began_s, path = time.monotonic(), path_of(scenario)
            make(scenario, path)
            wrong += not _is_well(path, time.monotonic() - began_s)
    write_table()
    return WRONG if wrong else DONE


def _is_well(path: Path, took_s: float) -> bool:
    """Say what came of a recording; whether it replays equal."""
    tally = asyncio.run(replay_file(path))
    print_lines(
        f"{path.name}: {path.stat().st_size} bytes, {took_s:.0f} s, {tally.decisions} decisions,"
        f" {tally.equal.total()} equal, {tally.different.total()} different,"
        f" {tally.meant.total()} different and accepted, {tally.unknown.total()} unknown",
        *sentences_of(tally),
    )
    return tally.is_equal


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        print_lines(f"make histories: {failure}")
        sys.exit(failure.exit_code)
