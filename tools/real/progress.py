"""Shows the progress of long steps: bars on a terminal, lines elsewhere.

Everything goes to stderr; stdout is only for the line that `eval` reads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from cli.showing import Bars, Screen, bars, print_lines

LINE_EVERY_S = 20.0


class Step:
    """One running step; `advance` may be called more often than `total`."""

    def __init__(self, name: str, total: int | None, bar: Bars | None) -> None:
        self._name = name
        self._total = total
        self._bar = bar
        self._task = bar.add_task(name, total=total) if bar else None
        self._count = 0
        self._began_s = self._printed_s = time.monotonic()

    def advance(self) -> None:
        """Count one of `total` as done."""
        self._count += 1
        if self._bar and self._task is not None:
            self._bar.advance(self._task)
        elif time.monotonic() - self._printed_s > LINE_EVERY_S:
            self._printed_s = time.monotonic()
            print_lines(f"{self._name}: {self._count} of {self._total}")

    def finish(self) -> None:
        """Show the step as done, even if `advance` was not called for every part."""
        took_s = time.monotonic() - self._began_s
        if self._bar and self._task is not None:
            total = self._total or 1
            self._bar.update(self._task, total=total, completed=total)
        else:
            print_lines(f"{self._name}: done in {took_s:.1f} s")


class Progress:
    """The progress display of one command; a context manager that restores the terminal."""

    def __init__(self) -> None:
        screen = Screen(stderr=True)
        self._bar: Bars | None = bars(screen) if screen.is_terminal else None

    def __enter__(self) -> Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def say(self, line: str) -> None:
        """Print a sentence beside the bars."""
        if self._bar:
            self._bar.console.print(line)
        else:
            print_lines(line)

    @contextmanager
    def step(self, name: str, *, total: int | None) -> Iterator[Step]:
        """Show a step inside of the block; `total` None: of unknown size."""
        if self._bar is None:
            print_lines(f"{name} …")
        step = Step(name, total, self._bar)
        yield step
        step.finish()
