"""The tree of what can go wrong when an effect meets the world, caught by meaning.

ChassisError
├── Transient          try again later (time-out, 429, 5xx, connection lost)
│   ├── Away           nobody listens there: the request was never sent
│   └── Garbled        an answer, or an event of a watch, that nobody can read
├── TooLarge           an answer has more bytes than anybody takes: ask for less
├── Superseded         the input is newer than the decision: stop and decide again
├── Misconfigured      a setting, or a file that it names, cannot be used
├── LogRefused         the log refused for good: a record too large, no right to write
│   └── TopicDiffers   a topic is missing, or is not what the catalogue says
└── Rejected           refused for good as long as nothing changes
    ├── NotAllowed     401, 403: rights and quotas change without the object
    ├── NotFound       404
    ├── AlreadyExists  409 on a create
    ├── Conflict       409: the version or uid that was decided on is not the object's
    ├── NameTaken      the deterministic name belongs to somebody else's object
    └── Expired        410: a watch or list cannot go on from there
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.showing import readable


class ChassisError(Exception):
    """The root of the tree."""


class Transient(ChassisError):
    """Try again later; `retry_after_s` is what the server demanded, if anything.

    After an unknown outcome (time-out, reset) a write may have happened: it is re-read.
    """

    def __init__(
        self, message: str, *, retry_after_s: float | None = None, outcome_unknown: bool = True
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.outcome_unknown = outcome_unknown


class Away(Transient):
    """Nobody listens there: the request was never sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, outcome_unknown=False)


class Garbled(Transient):
    """An answer, or an event of a watch, that is no Kubernetes object: what it says is unknown."""


class TooLarge(ChassisError):
    """An answer has more bytes than anybody takes: ask for less."""


class Superseded(ChassisError):
    """The input is newer than the decision: stop and decide again."""


class Misconfigured(ChassisError):
    """A setting, or a file that it names, cannot be used; the message is for people."""


class LogRefused(ChassisError):
    """The log refused for good as long as nobody changes it; the message is for people."""


class TopicDiffers(LogRefused):
    """A topic is missing or not what the catalogue says; the message names it and the field."""


class Rejected(ChassisError):
    """Refused for good as long as nothing changes; carries the Status that the server sent.

    `message` is that of the Status for people: it becomes part of a status or of an answer.
    """

    def __init__(self, code: int, reason: str, message: str, status: Mapping[str, Any]) -> None:
        message = readable(message)
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message
        self.status = status


class NotAllowed(Rejected):
    """Not allowed as things are: rights and quotas change without the object.

    An API server that has just started says so to everybody until it has read its roles.
    """


class NotFound(Rejected):
    """The object does not exist."""


class AlreadyExists(Rejected):
    """An object of that name exists."""


class Conflict(Rejected):
    """The version or uid that was decided on is not the object's."""


class Expired(Rejected):
    """A watch or list cannot go on from the version that it requested."""


class NameTaken(Rejected):
    """The deterministic name belongs to an object that somebody else controls."""
