"""One service as a row: what it runs, reads, writes and decides, and what it needs around it.

The row of a service is in its `service.py`, and `services/roster.py` lists the rows. Everything
that lists services reads them there. A row names its parts as `MODULE:ATTRIBUTE`: they are imported
when somebody uses them, so that a command that needs only names starts quickly. Everything here is
domain-free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from contracts.topics import DECISIONS, Topic


@dataclass(frozen=True, slots=True)
class Decides:
    """One tuple of ordered rules: what it decides on, as in records, and where the rules are.

    `title` and `about` introduce the rules on the page of life cycles.
    """

    subject: str
    rules: str
    title: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Port:
    """A port beside that of metrics: its name, the settings that take its number and its host.

    `number` is the port in a container. A port that is `optional` is closed unless its setting says
    otherwise. `given_as` is the environment variable that gives pods the port's URL.
    """

    name: str
    setting: str
    number: int
    host_setting: str = ""
    optional: bool = False
    given_as: str = ""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder that the service is given: its name, and the setting that takes its path."""

    name: str
    setting: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The row of one service.

    `stage` makes the factory of its stage of its settings, with nothing around it, as a replay
    needs it; empty: the service decides nothing. `main` makes its coroutine; empty: the chassis
    runs the stage, under the Lease of `leadership` if that is there. Instances share the
    partitions of the topics under `shares`. `objects` are the kinds that it decides on, and
    `awaited` names what waits for it, in the words of those who ask why something waits.
    `without_dns` has settings for a machine without the DNS of a cluster.
    """

    name: str
    settings: str
    permissions: str
    stage: str = ""
    main: str = ""
    leadership: str = ""
    reads: tuple[Topic, ...] = ()
    shares: tuple[Topic, ...] = ()
    writes: tuple[Topic, ...] = (DECISIONS,)
    decides: tuple[Decides, ...] = ()
    objects: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    mounts: tuple[Mount, ...] = ()
    without_dns: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The name of its package."""
        return self.name.replace("-", "_")


def loaded(part: str) -> Any:
    """What a row names as `MODULE:ATTRIBUTE`. Raises ImportError or AttributeError."""
    return resolve_name(part)
