"""`millrace replay --step`: reads a key in each line, and shows the decision where it leads."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from cli.replay_views import lines_of
from cli.showing import answer, print_lines
from contracts.showing import counted
from history.breaking import names_of, why_not_met
from history.replaying import Replay, Step
from history.stepping import Stepping
from history.targets import Target, target_of

KEYS: Final = (
    "n or Enter: the next decision; p: the one before; g WHERE: the decision there"
    " (number, PARTITION@OFFSET, time); b RULE: on to the next one with this rule or reason; q: end"
)
_END: Final = "there is no decision behind this one"
_BEGIN: Final = "there is no decision before this one"


async def step_through(replay: Replay, until: Target | None) -> None:
    """Step through a replay until q, or the end of standard input."""
    stepping = Stepping(replay)
    print_lines(f"{counted(replay.count, 'decision')}. {KEYS}")
    try:
        _show(await (stepping.to(until.is_reached) if until else stepping.forth()), _END)
        while (line := await asyncio.to_thread(_read)) is not None:
            if line in ("q", "quit"):
                return
            await _obey(stepping, line)
    finally:
        await stepping.close()


def _read() -> str | None:
    """The next line; None at the end of the input."""
    line = sys.stdin.readline()
    return line.strip() if line else None


async def _obey(stepping: Stepping, line: str) -> None:
    key, _, rest = line.partition(" ")
    match key, rest.strip():
        case ("n" | "", ""):
            _show(await stepping.forth(), _END)
        case ("p", ""):
            _show(await stepping.back(), _BEGIN)
        case ("g", where) if where:
            await _go(stepping, where)
        case ("b", name) if name:
            await _break(stepping, name)
        case _:
            print_lines(KEYS)


async def _go(stepping: Stepping, where: str) -> None:
    try:
        target = target_of(where)
    except ValueError as problem:
        print_lines(str(problem))
        return
    _show(await stepping.to(target.is_reached), f"no decision is at {where} or behind it")


async def _break(stepping: Stepping, name: str) -> None:
    met: set[str] = set()

    def has_it(step: Step) -> bool:
        names = names_of(step)
        met.update(names)
        return name in names

    found = await stepping.on_to(has_it)
    _show(found, "" if found else f"from here on, {why_not_met(name, met)}")


def _show(step: Step | None, otherwise: str) -> None:
    if step is None:
        print_lines(otherwise)
        return
    for line in lines_of(step):
        answer(line)
