"""How the command fails: one exception a meaning, one exit code an exception.

Failure           1   the cluster or a job said no
├── Misused       2   the words of the command cannot be used
├── CannotReach   3   nobody answers
└── TimedOut      4   it did not come to pass in time
"""

from __future__ import annotations

from contracts.showing import one_line


class Failure(Exception):
    """The cluster or a job said no; the sentence says what, why and what to do.

    `below` are lines under it, such as the end of a log. Nothing else begins a line: sentences
    quote names and messages of others, who would write lines of their own.
    """

    exit_code = 1

    def __init__(self, sentence: str, *below: str) -> None:
        """A failure with the lines that people see."""
        super().__init__("\n".join(map(one_line, (sentence, *below))))


class Misused(Failure):
    """The words of the command cannot be used."""

    exit_code = 2


class CannotReach(Failure):
    """Nobody answers."""

    exit_code = 3


class TimedOut(Failure):
    """It did not come to pass in time."""

    exit_code = 4
