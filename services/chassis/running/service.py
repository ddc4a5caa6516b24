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

    `number` is the port in a container. A port with a `switch` is closed unless this value of an
    installation is true. `given_as` is the environment variable that gives pods the port's URL.
    `gives` is the name of the mount without which it has nothing to give.
    """

    name: str
    setting: str
    number: int
    host_setting: str = ""
    switch: str = ""
    given_as: str = ""
    gives: str = ""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder that the service is given: its name, and the setting that takes its path.

    A service does without an `optional` one where a volume cannot be on several nodes.
    """

    name: str
    setting: str
    read_only: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """What a service reaches beside the log, the API server, the DNS and the collector of spans.

    `name` is the section of an installation's values about it, which gives the `settings`; it is
    the value of the network's peers, too, and `ports` is the value of their ports.
    """

    name: str
    ports: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """A setting that an installation gives from one of its values, which `value` is the path of.

    Without more it is given always, and nobody else gives it. With `if_set` an empty value gives
    nothing. With `instead` the setting has this text where the value is false, and else its own.
    """

    setting: str
    value: str
    if_set: bool = False
    instead: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether nobody else gives the setting."""
        return not (self.if_set or self.instead)


@dataclass(frozen=True, slots=True)
class Alias:
    """The name under which pods look for the service in their own namespace.

    `namespaces` and `domain` are the paths of values: where it is, and what its target ends with.
    """

    name: str
    namespaces: str
    domain: str


@dataclass(frozen=True, slots=True)
class Resources:
    """What one instance requests, and its limits: in a cluster, and in Compose."""

    cpu: str = "100m"
    memory: str = "192Mi"
    memory_max: str = "1Gi"
    compose_memory_max: str = "512M"
    compose_cpus_max: str = "1.0"


@dataclass(frozen=True, slots=True)
class Probes:
    """After how many seconds a start has failed, a process is dead, and a pod is not ready."""

    start_s: int = 90
    dead_s: int = 60
    unready_s: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The row of one service.

    `stage` makes the factory of its stage of its settings, with nothing around it, as a replay
    needs it; empty: the service decides nothing. `main` makes its coroutine; empty: the chassis
    runs the stage, under the Lease of `leadership` if that is there. Instances share the
    partitions of the topics under `shares`. `objects` are the kinds that it decides on; a key that
    names no kind is one of the first. `awaited` names what waits for it, in the words of those who
    ask why something waits. `without_dns` has settings for a machine without the DNS of a cluster,
    `defaults` those that fit `resources`. An installation leaves the service out where its value
    `enabled` is false. `everywhere` names permissions that it needs in all namespaces although it
    serves some. `compose_port` is that of its metrics where Compose uses the network of the
    machine. A file `policies.yaml` in its folder says what its account may write of what RBAC
    allows.
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
    needs: tuple[Need, ...] = ()
    given: tuple[Given, ...] = ()
    defaults: Mapping[str, int] = field(default_factory=dict)
    resources: Resources = Resources()
    probes: Probes = Probes()
    enabled: str = ""
    alias: Alias | None = None
    everywhere: str = ""
    compose_port: int

    @property
    def folder(self) -> str:
        """The name of its package."""
        return self.name.replace("-", "_")

    def keeps(self, mount: str) -> bool:
        """Whether it writes to this mount."""
        return any(each.name == mount and not each.read_only for each in self.mounts)


def loaded(part: str) -> Any:
    """What a row names as `MODULE:ATTRIBUTE`. Raises ImportError or AttributeError."""
    return resolve_name(part)
