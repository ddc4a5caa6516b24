"""Prints answers: tables for people at a terminal, JSON for programs behind a pipe."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from cli.failing import Failure
from cli.showing import Screen, answer_lines, print_failure, print_lines
from contracts.showing import json_text

PIPED_COLUMNS: Final = 200
"""Without a terminal there is no window to widen: lines are long enough for a sentence."""


def answers() -> Screen:
    """The console for answers. Characters that its encoding lacks are escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return Screen(width=None if is_terminal() else PIPED_COLUMNS)


def is_terminal() -> bool:
    """Whether standard output is a terminal; False if it is closed."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_json(document: object, *, is_indented: bool = True) -> None:
    """Print a document as JSON; control characters are escaped."""
    answer_lines(json_text(document, is_indented=is_indented))


def print_answers_only() -> None:
    """From now on only Python writes to standard output.

    METIS prints notes there, and the buffer of a C library is flushed when the process ends, after
    the JSON.
    """
    stdout = sys.__stdout__
    if stdout is None or stdout is not sys.stdout:
        return  # captured, such as by a test
    stdout.flush()
    answers_to = os.dup(stdout.fileno())
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stdout.fileno())
    sys.stdout = open(  # noqa: SIM115 - open until the process ends
        answers_to, "w", encoding=stdout.encoding, errors=stdout.errors, buffering=1
    )


@contextmanager
def failures_printed() -> Iterator[None]:
    """Print a Failure as one sentence on stderr, and exit with its code.

    An answer that cannot be written is a failure, too. A closed pipe (`| head`) is not.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.filename is not None:
            raise
        print_lines(f"millrace: the answer cannot be written: {problem.strerror}")
        raise typer.Exit(Failure.exit_code) from None
    except Failure as failure:
        print_failure(failure)
        raise typer.Exit(failure.exit_code) from None


@contextmanager
def terminated_by_exit() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does: incomplete output is removed."""

    def leave(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
