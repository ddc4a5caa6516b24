"""The border to the terminal: everything that the command prints passes through this module.

Names, values and messages are text of others: of the authors of a Job, a pod or a bundle, and of
the API server that quotes them. Such text is never markup, and control characters in it are escaped
(`contracts/showing.py` defines which). Only this module imports rich, calls `print` or writes to
standard output (tests/architecture/test_border.py).

    Screen         the one console: strings are never markup, emoji or highlighted; every rendered
                   segment is escaped once more
    cell, joined   one line with a style of ours; no other text has a style
    Rows           a table of such cells
    answer         one line on standard output; `answer_lines` a document with our line ends
    print_lines    lines on standard error
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from typing import IO, Any, Final

from rich.box import SIMPLE, Box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
from rich.progress import TimeElapsedColumn as ElapsedColumn
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from cli.failing import Failure
from contracts.showing import one_line, printable

__all__ = [
    "PLAIN_BOX",
    "Bars",
    "Line",
    "Renderable",
    "Rows",
    "Screen",
    "answer",
    "answer_lines",
    "bars",
    "cell",
    "joined",
    "live",
    "print_crash",
    "print_failure",
    "print_lines",
    "stacked",
]

Renderable = RenderableType
Bars = Progress
Line = Text
"""One line, made by `cell` or `joined`."""
PLAIN_BOX: Final[Box] = SIMPLE
CELL_CHARS_MAX: Final = 1_000
"""Of a cell of a table: a longer one would push its neighbours off the screen."""


class Screen(Console):
    """The console of the command; `width` None: the width of the terminal."""

    def __init__(
        self,
        *,
        file: IO[str] | None = None,
        stderr: bool = False,
        quiet: bool = False,
        width: int | None = None,
    ) -> None:
        super().__init__(
            file=file,
            stderr=stderr,
            quiet=quiet,
            width=width,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def render_str(self, text: str, **options: Any) -> Text:
        """A string as printable text, never as markup."""
        known = {
            name: options[name] for name in ("style", "justify", "overflow") if name in options
        }
        return Text(printable(text), **known)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments to draw, escaped: a renderable made elsewhere may hold raw text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def status(self, status: RenderableType, **options: Any) -> Status:
        """A spinner beside a text; rich itself would read a string as markup."""
        return super().status(cell(status) if isinstance(status, str) else status, **options)


class Rows(Table):
    """A table whose cells are one line each, limited in length, wrapped at the column's end."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """A row; strings are cells without a style."""
        super().add_row(*(_within_table(each) for each in cells), **options)


def _within_table(each: RenderableType | None) -> RenderableType | None:
    if isinstance(each, Text):
        return Text(one_line(each.plain, CELL_CHARS_MAX), style=each.style)
    return cell(one_line(each, CELL_CHARS_MAX)) if isinstance(each, str) else each


def cell(text: object, style: str = "") -> Line:
    """Text of others as one line, in a style of ours."""
    return Text(one_line(text), style=style)


def joined(*parts: str | Line) -> Line:
    """Parts side by side in one line; strings are cells without a style."""
    return Text.assemble(*(cell(each) if isinstance(each, str) else each for each in parts))


def stacked(*parts: RenderableType) -> RenderableType:
    """Parts below each other."""
    return Group(*parts)


def live(screen: Screen) -> Live:
    """A live display that is only redrawn when it is updated."""
    return Live(console=screen, auto_refresh=False, transient=False)


def bars(screen: Screen) -> Bars:
    """Progress bars of running steps."""
    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        ElapsedColumn(),
        console=screen,
    )


def answer(sentence: object) -> None:
    """Print one line on standard output and flush: a program may wait for it behind a pipe."""
    _print(one_line(sentence), sys.stdout)


def answer_lines(document: str, *, end: str = "\n") -> None:
    """Print a document on standard output; lines may have any length."""
    _print(printable(document), sys.stdout, end)


def print_lines(*sentences: object) -> None:
    """Print sentences on standard error, one line each."""
    for sentence in sentences:
        _print(one_line(sentence), sys.stderr)


def print_failure(failure: Failure) -> None:
    """Print a failure on standard error, with the lines below its sentence."""
    print_lines(*f"millrace: {failure}".split("\n"))


def print_crash(defect: BaseException) -> None:
    """Print a traceback, escaped: it may quote text of others."""
    for part in traceback.format_exception(defect):
        print_lines(*part.rstrip("\n").split("\n"))


def _print(text: str, stream: IO[str] | None, end: str = "\n") -> None:
    if stream is not None:  # closed by the parent process
        print(text, end=end, file=stream, flush=True)
