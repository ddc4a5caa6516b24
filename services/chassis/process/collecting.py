"""Keeps Python's collector of cyclic garbage from looking through what lives long.

A process that does one large thing at a time pauses it: where millions of small objects live until
it is done, the collector looks through all of them again and again, which took more than half of
the time. What makes such objects has no cycles, or takes them apart. A service freezes what it
keeps, a little at a time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

FROZEN_AT_ONCE: Final = 1_000
"""Objects of a table or a view, of some 30 Python objects each: the collector takes some
milliseconds for them."""


class Freezing:
    """Freezes what a service keeps, again and again, so that no collection takes long.

    A collection of all that 50,000 pods leave in a table takes 150 ms, in which the event loop does
    not turn. What is frozen still goes when nothing refers to it any more. `at_once`: how many are
    kept before the next time.
    """

    def __init__(self, freeze: Callable[[], None], at_once: int = FROZEN_AT_ONCE) -> None:
        self._freeze, self._at_once = freeze, at_once
        self._kept = 0

    def note_kept(self, count: int) -> None:
        """Take in that so many more objects are kept, or replaced."""
        self._kept += count
        if self._kept >= self._at_once:
            self._kept = 0
            self._freeze()


def freeze() -> None:
    """Take all objects out of the collector's sight. Garbage goes first: it would stay for ever."""
    gc.collect()
    gc.freeze()


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collection meanwhile, where there would be one."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
