"""Imports a library without an optional part of it that no service uses.

A service is ready at the earliest when its imports are done, and they are most of its start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def absent(*packages: str) -> Iterator[None]:
    """What is imported meanwhile takes these packages for not installed, unless they are imported.

    For packages that a library can do without; another import finds them afterwards.
    """
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type] # None: not installed
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
