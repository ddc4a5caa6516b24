"""How answers are printed: pictures for people at a terminal, JSON for programs behind a pipe."""

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
"""Without a terminal nobody can widen the window: lines are long enough for a sentence."""


def answers() -> Screen:
    """The console that answers go to. What its encoding lacks is escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return Screen(width=None if is_terminal() else PIPED_COLUMNS)


def is_terminal() -> bool:
    """Whether a person looks at the answers. Without a standard output nobody does."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_json(document: object, *, is_indented: bool = True) -> None:
    """A document for programs, that people can read, too: exact, and obeyed by no terminal."""
    answer_lines(json_text(document, is_indented=is_indented))


def print_answers_only() -> None:
    """From now on nothing but what Python prints is on standard output.

    METIS prints notes of its own there, and a C library's buffer is written when the process ends:
    behind the JSON.
    """
    said = sys.__stdout__
    if said is None or said is not sys.stdout:
        return  # somebody captures it
    said.flush()
    answers_to = os.dup(said.fileno())
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), said.fileno())
    sys.stdout = open(  # noqa: SIM115 - as long as the process
        answers_to, "w", encoding=said.encoding, errors=said.errors, buffering=1
    )


@contextmanager
def failures_printed() -> Iterator[None]:
    """A Failure becomes one sentence on stderr and its exit code.

    So does an answer that cannot be written; a reader that has enough (`| head`) is none.
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
    """SIGTERM ends the command as Ctrl-C does: what it began to write is removed."""

    def leave(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
