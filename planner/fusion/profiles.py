"""What a set of operators asks for in sum, and why two sets may not share a PE.

`conflict` has the rules and the messages of the original. What an operator asks for, and who must
share a PE, is in constraints.py.
"""

from __future__ import annotations

from dataclasses import dataclass

Ids = frozenset[str]
ChannelPath = tuple[tuple[int, int], ...]
"""(region, global channel) of each enclosing region, innermost first."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The constraints of a set of operators, aggregated. Host sets are those of the closure.

    `own_hosts` and `own_pools` are those of the operators themselves, but for the pool of those
    without one. `isolated_channels` is filled by channelIsolation only, `apart_channels` by
    channelExlocation.
    """

    jvm: frozenset[frozenset[str]]
    restartable: frozenset[bool]
    relocatable: frozenset[bool]
    exclusive: frozenset[bool]
    consistent: frozenset[int | None]
    isolated: bool
    exlocations: frozenset[tuple[str, int]]
    host_isolated: bool
    host_colocated: bool
    host_exlocations: frozenset[tuple[str, int]]
    hosts: Ids
    tags: frozenset[tuple[int, str]]
    slots: frozenset[tuple[int, int]]
    pools: frozenset[int]
    own_hosts: Ids = frozenset()
    own_pools: frozenset[int] = frozenset()
    isolated_channels: frozenset[ChannelPath] = frozenset()
    apart_channels: frozenset[tuple[int, int]] = frozenset()

    @property
    def is_plain(self) -> bool:
        """Whether it may join all that has the same `fusion_class`, and closes it to nothing."""
        is_one = all(
            len(values) <= 1
            for values in (self.restartable, self.relocatable, self.exclusive, self.consistent)
        )
        return is_one and not (
            self.jvm
            or self.isolated
            or self.exlocations
            or self.host_isolated
            or self.host_colocated
            or self.host_exlocations
            or self.apart_channels
            or len(self.isolated_channels) > 1
        )

    @property
    def fusion_class(self) -> tuple[object, ...]:
        """What must be equal in a PE; what else keeps operators apart, `is_plain` says."""
        return (
            self.restartable,
            self.relocatable,
            self.exclusive,
            self.consistent,
            self.host_spec,
            self.isolated_channels,
        )

    @property
    def host_spec(self) -> tuple[object, ...]:
        """Where the operators may run."""
        return self.hosts, self.tags, self.slots, self.pools

    def joined(self, other: Profile) -> Profile:
        """The profile of both sides together."""
        if self is other:
            return self
        return Profile(
            jvm=self.jvm | other.jvm,
            restartable=self.restartable | other.restartable,
            relocatable=self.relocatable | other.relocatable,
            exclusive=self.exclusive | other.exclusive,
            consistent=self.consistent | other.consistent,
            isolated=self.isolated or other.isolated,
            exlocations=self.exlocations | other.exlocations,
            host_isolated=self.host_isolated or other.host_isolated,
            host_colocated=self.host_colocated or other.host_colocated,
            host_exlocations=self.host_exlocations | other.host_exlocations,
            hosts=self.hosts | other.hosts,
            tags=self.tags | other.tags,
            slots=self.slots | other.slots,
            pools=self.pools | other.pools,
            own_hosts=self.own_hosts | other.own_hosts,
            own_pools=self.own_pools | other.own_pools,
            isolated_channels=self.isolated_channels | other.isolated_channels,
            apart_channels=self.apart_channels | other.apart_channels,
        )


def conflict(unit: Profile, others: Profile) -> str | None:
    """Why the unit may not join the others in a PE, or None. Rules in the original's order.

    Different host specifications include different declared hosts (rule 10 of the original). It
    lets operators of different hosts or pools share a PE where they must be on one host; a PE has
    one place, so we do not.
    """
    if unit is others and unit.is_plain:
        return None
    checks = (
        (len(unit.jvm | others.jvm) > 1, "JVM arguments differ (CDISR3206E)"),
        (len(unit.restartable | others.restartable) > 1, "restartable differs (CDISR3201E)"),
        (len(unit.relocatable | others.relocatable) > 1, "relocatable differs (CDISR3202E)"),
        (unit.isolated or others.isolated, "a partition is isolated (CDISR3203E)"),
        (_apart(unit.exlocations, others.exlocations), "partitions are ex-located (CDISR3204E)"),
        (_host_isolation(unit, others), "a host is isolated (CDISR3231E)"),
        (len(unit.exclusive | others.exclusive) > 1, "an exclusive pool is mixed (CDISR3205E)"),
        (len(unit.consistent | others.consistent) > 1, "consistent regions differ (CDISR3207E)"),
        (
            _apart(unit.host_exlocations, others.host_exlocations),
            "hosts are ex-located (CDISR3211E)",
        ),
        (unit.host_spec != others.host_spec, "host specifications differ (CDISR3209E)"),
        (_differ(unit.slots | others.slots), "slots of a host pool differ (CDISR3210E)"),
        (len(unit.own_hosts | others.own_hosts) > 1, "hosts differ"),
        (len(unit.own_pools | others.own_pools) > 1, "host pools differ"),
        (len(unit.isolated_channels | others.isolated_channels) > 1, "channels are isolated"),
        (_differ(unit.apart_channels | others.apart_channels), "channels are ex-located"),
    )
    return next((why for fails, why in checks if fails), None)


def _host_isolation(unit: Profile, others: Profile) -> bool:
    return (unit.host_isolated and others.host_colocated) or (
        others.host_isolated and unit.host_colocated
    )


def _apart(unit: frozenset[tuple[str, int]], others: frozenset[tuple[str, int]]) -> bool:
    """Whether an id belongs to two operators, on whichever sides they are."""
    both = unit | others
    return len({identifier for identifier, _ in both}) < len(both)


def _differ(both: frozenset[tuple[int, int]]) -> bool:
    """Whether something (a pool, a region) has two values."""
    return len({owner for owner, _ in both}) < len(both)
