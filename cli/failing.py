"""How the command fails: one exception a meaning, one exit code an exception.

Failure           1   the cluster or a job said no
├── Misused       2   the words of the command cannot be used
├── CannotReach   3   nobody answers
└── TimedOut      4   it did not come to pass in time
"""

from __future__ import annotations


class Failure(Exception):
    """The cluster or a job said no; the message says what, why and what to do."""

    exit_code = 1


class Misused(Failure):
    """The words of the command cannot be used."""

    exit_code = 2


class CannotReach(Failure):
    """Nobody answers."""

    exit_code = 3


class TimedOut(Failure):
    """It did not come to pass in time."""

    exit_code = 4
