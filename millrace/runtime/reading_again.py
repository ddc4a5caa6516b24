"""Which sources of a launch may give tuples again, as a PE reports and logs at its start.

A source that is killed, or late for a hand-over, goes on from the position that was saved last.
What it gave since then comes once more, and nobody can count it: the launch that gave it is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from millrace.protocol import SOURCES_MAX, ReadsAgain, Started
from millrace.runtime.assembling import Placed
from millrace.runtime.launch import Launch
from millrace.runtime.loading import Loaded
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.states import SavedPe, numbers_of

LOG = logging.getLogger("millrace.runtime.pe")


def started(launch: Launch, placed: Iterable[Placed], loaded: Loaded) -> Started:
    """The report of a launch that begins; a warning in the log, if sources may give again."""
    reading = tuple(each for each in placed if _reads(each, loaded))
    again = reads_again(reading, loaded, launch.number)
    if again is not None:
        state = f"the state that launch {again.launch} saved, and went on after it"
        if again.launch is None:
            state = "no state of the launches before it, which may have given tuples"
        LOG.warning("this launch begins with %s: %s may come again", state, _named(again.sources))
    names = tuple(each.instance.name for each in reading)[:SOURCES_MAX]
    return Started(launch.version, launch.hands_over, names, again)


def reads_again(reading: Iterable[Placed], loaded: Loaded, launch: int) -> ReadsAgain | None:
    """The sources that may give tuples again, of those that have not ended; None: each is exact.

    A first launch without a state has given nothing before. Whether an earlier launch has is not
    known here where none saved anything: pe-gateway knows whether one has reported its start.
    """
    reading = tuple(reading)
    found = [(each, saved) for each in reading if (saved := _inexact(each, loaded)) is not None]
    if found:
        names = tuple(each.instance.name for each, _ in found)
        return ReadsAgain(names[:SOURCES_MAX], min(saved.launch for _, saved in found))
    if loaded.own is None and launch > 1 and not any(_holder(e, loaded) for e in reading):
        names = tuple(each.instance.name for each in reading)
        return ReadsAgain(names[:SOURCES_MAX], None) if names else None
    return None


def _reads(placed: Placed, loaded: Loaded) -> bool:
    """Whether it is a source that was not read to its end."""
    if not isinstance(placed.node, SourceNode):
        return False
    holder = _holder(placed, loaded)
    of_path = holder[0].operators.get(placed.instance.path, {}) if holder else {}
    saved = of_path.get(placed.channels)
    return saved is None or not saved.ended


def _inexact(placed: Placed, loaded: Loaded) -> SavedPe | None:
    """The state that a source begins with, if its launch went on after it saved it."""
    holder = _holder(placed, loaded)
    return holder[0] if holder is not None and holder[0].pe not in holder[1].exact else None


def _holder(placed: Placed, loaded: Loaded) -> tuple[SavedPe, Loaded] | None:
    """The state that has a source, and where it was loaded."""
    for level in _levels(loaded):
        for state in (*level.states, *level.fallbacks):
            if _has(state, placed):
                return state, level
    return None


def _levels(loaded: Loaded | None) -> Iterator[Loaded]:
    while loaded is not None:
        yield loaded
        loaded = loaded.former


def _has(state: SavedPe, placed: Placed) -> bool:
    path = placed.instance.path
    if placed.channels in state.operators.get(path, {}):
        return True
    now = numbers_of(tuple(placed.instance.channels.values()))
    return now in map(numbers_of, (state.instances or {}).get(path, ()))


def _named(sources: tuple[str, ...]) -> str:
    word = "source" if len(sources) == 1 else "sources"
    return f"what {word} {', '.join(sources)} gave since then"
