"""How the command fails: an exception for each meaning, an exit code for each exception.

Failure           1   the cluster refused the request, or a job failed
├── Misused       2   an argument or option of the command cannot be used
├── CannotReach   3   a server does not answer
└── TimedOut      4   the time limit passed before the work was done
    └── NotBegun  4   and nothing was written before
"""

from __future__ import annotations

from contracts.showing import one_line


class Failure(Exception):
    """The cluster refused the request, or a job failed: what happened, why, and what to do.

    `below` are lines under the sentence, such as the end of a log. Each passes `one_line`: quoted
    names and messages are text of others and must not add lines.
    """

    exit_code = 1

    def __init__(self, sentence: str, *below: str) -> None:
        """A failure with the lines that people see."""
        super().__init__("\n".join(map(one_line, (sentence, *below))))


class Misused(Failure):
    """An argument or option of the command cannot be used."""

    exit_code = 2


class CannotReach(Failure):
    """A server does not answer."""

    exit_code = 3


class TimedOut(Failure):
    """The time limit passed before the work was done."""

    exit_code = 4


class NotBegun(TimedOut):
    """The time limit passed before anything was written: no request stands."""
