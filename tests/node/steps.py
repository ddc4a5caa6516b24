"""The times of the steps of a long test: printed as they end, whatever becomes of the test."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class Steps:
    """Prints a line for each step."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._began_s = time.monotonic()
        self._open_s: dict[str, float] = {}

    def began(self, what: str) -> None:
        """A step begins that ends elsewhere: `passed` with the same words."""
        self._open_s[what] = time.monotonic()

    def passed(self, what: str) -> None:
        """A step has ended; one that never began counts from the start of all."""
        self._print(what, self._open_s.get(what, self._began_s))

    def took(self, what: str, took_s: float) -> None:
        """A step that ended before."""
        self._print(what, time.monotonic() - took_s)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Time what happens inside of the block."""
        began_s = time.monotonic()
        try:
            yield
        except BaseException:
            self._print(f"{what}: FAILED", began_s)
            raise
        self._print(what, began_s)

    def _print(self, what: str, began_s: float) -> None:
        now_s = time.monotonic()
        with self._capsys.disabled():
            sys.stdout.write(f"\n  {now_s - self._began_s:6.1f} s  {what}: {now_s - began_s:.1f} s")
            sys.stdout.flush()
