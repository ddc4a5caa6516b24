"""How answers are printed: pictures for people at a terminal, JSON for programs behind a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import orjson
import typer
from rich.console import Console

from cli.failing import Failure

PIPED_COLUMNS: Final = 200
"""Without a terminal nobody can widen the window: lines are long enough for a sentence."""


def answers() -> Console:
    """The console that answers go to."""
    return Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS)


def print_json(document: object) -> None:
    """A document for programs, that people can read, too."""
    print(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())


@contextmanager
def failures_told() -> Iterator[None]:
    """A Failure becomes one sentence on stderr and its exit code."""
    try:
        yield
    except Failure as failure:
        print(f"millrace: {failure}", file=sys.stderr)
        raise typer.Exit(failure.exit_code) from None
