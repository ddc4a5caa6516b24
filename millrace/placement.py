"""Where operators run: on which hosts, and with which others in one processing element (PE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["pe", "host"]


@dataclass(frozen=True, slots=True)
class HostPool:
    """A set of hosts, chosen by tags; `App.host_pool` makes one.

    `size`: how many hosts it has, None for all with the tags. An exclusive pool shares no host.
    """

    name: str
    tags: tuple[str, ...] = ()
    size: int | None = None
    exclusive: bool = False


@dataclass(slots=True)
class Placement:
    """What an author says about the place of an operator. Ids may contain `byChannel(…)`."""

    host: str | None = None
    pool: HostPool | None = None
    pe_colocations: tuple[str, ...] = ()
    pe_exlocations: tuple[str, ...] = ()
    pe_isolated: bool = False
    host_colocations: tuple[str, ...] = ()
    host_exlocations: tuple[str, ...] = ()
    host_isolated: bool = False
