"""Work without the collector of cyclic garbage, for a process that does one large thing at a time.

Where millions of small objects live until it is done, Python's collector looks through all of them
again and again, which took more than half of the time. What makes such objects has no cycles, or
takes them apart; the process that runs it says when the collector rests.
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
