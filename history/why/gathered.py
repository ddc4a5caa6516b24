"""What was gathered about one object: the frozen input of the rules.

`cli/why_gathering.py` makes it with the rights of the person who asks. What may not be read is
named here, so that an answer says on what it does not rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from history.entries import Entry
from history.why.things import Obj


@dataclass(frozen=True, slots=True)
class ServiceSeen:
    """A service of millrace as `up`, or the Deployment of an installation, reports it.

    `name` is that of its folder with hyphens. `problem` is a predicate, such as "is stopped"; empty
    if it runs and is ready. `since_s` (unix seconds) is None where it is not known. `remedy` is a
    sentence with the command that starts it, or shows why it does not run.
    """

    name: str
    problem: str = ""
    since_s: float | None = None
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class LogSeen:
    """What of the log was read.

    `entries` are those of the job, in the order of the log. `absent` is why there is no entry:
    no log was found, or it was not read; empty if it was. `away` is the address of a log that is
    there and does not answer. `since_s` is how far back it was read (unix seconds; None: all).
    """

    entries: tuple[Entry, ...] = ()
    absent: str = ""
    away: str = ""
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """All about the object `kind` `name`; the namespace of a node is empty.

    `objects` has what there is, by kind: of the job of the object, nodes, and Events about these.
    `missing` are `KIND/NAME` that something names and that do not exist. `unread` has, by kind, why
    it could not be read, and `partly` how many of it were read where there are more.
    `last_lines` has the end of the logs of pods that failed, by pod.
    `services` is None where nothing reports on them, and `services_unread` says why.
    """

    kind: str
    namespace: str
    name: str
    now_s: float
    objects: Mapping[str, tuple[Obj, ...]] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    unread: Mapping[str, str] = field(default_factory=dict)
    partly: Mapping[str, int] = field(default_factory=dict)
    services: tuple[ServiceSeen, ...] | None = None
    services_unread: str = ""
    log: LogSeen = field(default_factory=LogSeen)
    last_lines: Mapping[str, str] = field(default_factory=dict)
