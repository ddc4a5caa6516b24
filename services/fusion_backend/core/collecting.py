"""Planning without the collector of cyclic garbage.

A plan makes millions of small objects that live until it is done. Python's collector looks through
all of them again and again, which took more than half of the time. There is one cyclic structure,
the expanded graph, and it is taken apart where it ends (expansion.py).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
