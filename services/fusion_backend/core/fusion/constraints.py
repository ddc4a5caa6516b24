"""Which operators must, and which may, share a PE.

`group` joins what must stay together into fusable units: operators that share a partition
co-location id, transitively, and the host co-location group of an operator with host isolation.
`conflict` says why two sides may not share a PE; the rules and their messages are the original's.

Rules on hosts look at each side extended by host co-location: operators that must be on the same
host inherit each other's host constraints, wherever they are placed.

The job spec's `fusion.type` adds a rule on the channels of parallel regions, in the words of the
seed: `channelIsolation`: operators in parallel regions are fused together per channel, so they
share a PE neither with another channel nor with what is in none; `channelExlocation`: operators of
different channels are not fused together. What must share a PE and must not is contradicting.py's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from contracts.reasons import Reason
from services.fusion_backend.core.application.model import Constraints
from services.fusion_backend.core.fusion.bicliques import Biclique
from services.fusion_backend.core.graph.topology import Operator, Topology
from services.fusion_backend.core.numbering.records import FusionType
from services.fusion_backend.core.refusals import PlanRefused

Ids = frozenset[str]
ChannelPath = tuple[tuple[int, int], ...]
"""(region, global channel) of each enclosing region, innermost first."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The constraints of a set of operators, aggregated. Host sets are those of the closure.

    `isolated_channels` is filled by channelIsolation only, `apart_channels` by channelExlocation.
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
            isolated_channels=self.isolated_channels | other.isolated_channels,
            apart_channels=self.apart_channels | other.apart_channels,
        )


@dataclass(slots=True, eq=False)
class Unit:
    """A fusable unit: operators that share a PE, ascending, and what connects them to others.

    Connections of many with many are in bicliques, all others counted by unit.
    """

    operators: tuple[int, ...]
    profile: Profile
    has_source: bool
    has_sink: bool
    stands_alone: bool
    successors: dict[Unit, int]
    predecessors: dict[Unit, int]
    bicliques: list[Biclique[Unit]] = field(default_factory=list)


def group(
    topology: Topology, consistent: Mapping[int, int], rule: FusionType = "noChannelInfluence"
) -> list[Unit]:
    """The fusable units, by smallest operator. `consistent`: region by operator index.

    They do not know their neighbours yet: see neighbouring.py.
    """
    hosts = host_groups(topology)
    together = Groups(topology.operators)
    for operator in topology.operators.values():
        for identifier in operator.constraints.colocations:
            together.join(operator.index, identifier)
        if operator.constraints.host_isolation:
            for other in hosts.members(operator.index):
                together.join(other, ("host isolation", hosts.root(operator.index)))
    profiles = _profiles(topology, hosts, consistent, rule)
    units = [_unit(topology, members, profiles, consistent) for members in together.all_members()]
    for unit in units:
        _check_jvm(topology, unit)
    return units


def host_groups(topology: Topology) -> Groups:
    """Operators that must be on the same host."""
    hosts = Groups(topology.operators)
    for operator in topology.operators.values():
        for identifier in _host_colocations(operator):
            hosts.join(operator.index, identifier)
    return hosts


def gathered(units: list[Unit]) -> list[Unit]:
    """The units of channelIsolation: those of a channel are one, as far as constraints allow."""
    found: list[Unit] = []
    gathering: dict[ChannelPath, list[Unit]] = {}
    for unit in units:
        path, *more = unit.profile.isolated_channels or ((),)
        pieces = gathering.setdefault(path, [])
        fitting = (piece for piece in pieces if conflict(unit.profile, piece.profile) is None)
        piece = next(fitting, None) if path and not more and not unit.stands_alone else None
        if piece is not None:
            _gather(piece, unit)
            continue
        found.append(unit)
        if not unit.stands_alone:
            pieces.append(unit)
    return sorted(found, key=lambda unit: unit.operators[0])


def _gather(piece: Unit, unit: Unit) -> None:
    piece.operators = tuple(sorted((*piece.operators, *unit.operators)))
    piece.profile = piece.profile.joined(unit.profile)
    piece.has_source |= unit.has_source
    piece.has_sink |= unit.has_sink


class Groups:
    """Operators joined by shared ids, transitively (union-find)."""

    def __init__(self, operators: Iterable[int]) -> None:
        self._parent = {index: index for index in operators}
        self._first: dict[object, int] = {}
        self._members: dict[int, tuple[int, ...]] | None = None

    def root(self, index: int) -> int:
        while (parent := self._parent[index]) != index:
            self._parent[index] = self._parent[parent]
            index = parent
        return index

    def join(self, index: int, identifier: object) -> None:
        left, right = self.root(index), self.root(self._first.setdefault(identifier, index))
        self._parent[max(left, right)] = min(left, right)
        self._members = None

    def members(self, index: int) -> tuple[int, ...]:
        return self._by_root()[self.root(index)]

    def all_members(self) -> list[tuple[int, ...]]:
        """By smallest operator, which is the root of its group."""
        return list(self._by_root().values())

    def _by_root(self) -> dict[int, tuple[int, ...]]:
        if self._members is None:
            found: dict[int, list[int]] = {}
            for each in sorted(self._parent):
                found.setdefault(self.root(each), []).append(each)
            self._members = {root: tuple(members) for root, members in found.items()}
        return self._members


def _host_colocations(operator: Operator) -> list[object]:
    """Declared ids, and those that follow from the same host or the same slot of a pool."""
    constraints = operator.constraints
    found: list[object] = list(constraints.host_colocations)
    if constraints.host is not None:
        found.append(("same host", constraints.host))
    if constraints.pool is not None and constraints.pool_slot is not None:
        found.append(("same slot", constraints.pool, constraints.pool_slot))
    return found


def _profiles(
    topology: Topology, hosts: Groups, consistent: Mapping[int, int], rule: FusionType
) -> dict[int, Profile]:
    """The profile of each operator; operators that ask for the same share one."""
    own: dict[int, Profile] = {}
    shared: dict[tuple[Constraints, int | None], Profile] = {}
    for index, operator in topology.operators.items():
        asked = operator.constraints, consistent.get(index)
        profile = shared.get(asked)
        if profile is None:
            profile = _own_profile(topology, operator, consistent.get(index))
            if not profile.exlocations and not profile.host_exlocations:
                shared[asked] = profile
        own[index] = _in_channels(profile, operator, rule)
    profiles = dict(own)
    for members in hosts.all_members():
        if len(members) == 1:
            continue
        closure = _all_of(own[member] for member in members)
        for member in members:
            profiles[member] = replace(
                own[member],
                host_exlocations=closure.host_exlocations,
                hosts=closure.hosts,
                tags=closure.tags,
                slots=closure.slots,
                pools=closure.pools,
            )
    return profiles


def _in_channels(profile: Profile, operator: Operator, rule: FusionType) -> Profile:
    if rule == "noChannelInfluence":
        return profile
    path = channel_path(operator)
    if rule == "channelIsolation":
        return replace(profile, isolated_channels=frozenset({path}))
    return replace(profile, apart_channels=frozenset(path)) if path else profile


def channel_path(operator: Operator) -> ChannelPath:
    """The channels that an operator is in, innermost first; () outside of every region."""
    return tuple((level.region, level.channel) for level in operator.levels)


def _own_profile(topology: Topology, operator: Operator, consistent: int | None) -> Profile:
    own = operator.constraints
    pool = None if own.pool is None else topology.pools[own.pool]
    jvm = own.jvm_arguments
    slotted = own.pool is not None and own.pool_slot is not None
    return Profile(
        jvm=frozenset() if jvm is None else frozenset({frozenset(jvm)}),
        restartable=frozenset({own.restartable}),
        relocatable=frozenset({own.relocatable}),
        exclusive=frozenset({pool is not None and pool.mode == "exclusive"}),
        consistent=frozenset({consistent}),
        isolated=own.isolation,
        exlocations=frozenset((item, operator.index) for item in own.exlocations),
        host_isolated=own.host_isolation,
        host_colocated=bool(_host_colocations(operator)),
        host_exlocations=frozenset((item, operator.index) for item in own.host_exlocations),
        hosts=frozenset() if own.host is None else frozenset({own.host}),
        tags=frozenset() if pool is None else frozenset((pool.index, tag) for tag in pool.tags),
        slots=frozenset({(own.pool or 0, own.pool_slot or 0)}) if slotted else frozenset(),
        pools=frozenset() if own.pool is None else frozenset({own.pool}),
    )


def _all_of(profiles: Iterable[Profile]) -> Profile:
    first, *rest = profiles
    for profile in rest:
        first = first.joined(profile)
    return first


def _unit(
    topology: Topology,
    members: tuple[int, ...],
    profiles: Mapping[int, Profile],
    consistent: Mapping[int, int],
) -> Unit:
    items = [topology.operators[member].item for member in members]
    profile = _all_of(profiles[member] for member in members)
    regions = {consistent[member] for member in members if member in consistent}
    # The original compares these numbers: what mixes members of as many regions needs no PE alone.
    soft = bool(regions) and len(regions) < len(members)
    return Unit(
        operators=members,
        profile=profile,
        has_source=any(not item.inputs for item in items),
        has_sink=any(not item.outputs for item in items),
        stands_alone=profile.isolated or soft,
        successors={},
        predecessors={},
    )


def _check_jvm(topology: Topology, unit: Unit) -> None:
    """The only contradiction that the original refuses; others it fuses, and so do we."""
    if len(unit.profile.jvm) < 2:
        return
    listed = "; ".join(
        f"{operator.name}: {' '.join(arguments) or '(none)'}"
        for operator in (topology.operators[index] for index in unit.operators)
        if (arguments := operator.constraints.jvm_arguments) is not None
    )
    raise PlanRefused(
        Reason.CONSTRAINTS_CONTRADICT,
        field="jvmArguments",
        value=listed,
        message=(
            "co-located operators must share a processing element but have different JVM "
            f"arguments (CDISR3200E, CDISR3216E): {listed}"
        ),
    )


def conflict(unit: Profile, others: Profile) -> str | None:
    """Why the unit may not join the others in a PE, or None. Rules in the original's order.

    Different host specifications include different declared hosts (rule 10 of the original).
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
