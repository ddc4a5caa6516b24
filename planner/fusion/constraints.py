"""Which operators must share a PE, and what each asks for.

`group` joins what must stay together into fusable units: operators that share a partition
co-location id, transitively, and the host co-location group of an operator with host isolation.
Why two units may not share a PE is profiles.py's question.

Rules on hosts look at each side extended by host co-location: operators that must be on the same
host inherit each other's host constraints, wherever they are placed. Where hosts are zones, they
inherit hosts and pools from those on their node, and ex-location from those in their zone. Where
co-location and its opposites are only preferred, nothing is inherited by it, host isolation joins
nobody, and ex-location keeps operators out of one PE all the same.

The job spec's `fusion.type` adds a rule on the channels of parallel regions, in the words of the
seed: `channelIsolation`: operators in parallel regions are fused together per channel, so they
share a PE neither with another channel nor with what is in none; `channelExlocation`: operators of
different channels are not fused together. What must share a PE and must not is contradicting.py's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from contracts.labels import HOSTNAME
from contracts.reasons import Reason
from planner.application.model import Constraints
from planner.fusion.bicliques import Biclique
from planner.fusion.placing import (
    DEFAULT_POOL,
    HostRules,
    on_one_host,
    on_one_node,
)
from planner.fusion.profiles import ChannelPath, Profile
from planner.fusion.tying import shortest_chain, ties_in_pe
from planner.graph.topology import Operator, Topology
from planner.numbering.records import FusionType
from planner.refusals import PlanRefused, shown


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
    topology: Topology, consistent: Mapping[int, int], rule: FusionType, in_force: HostRules
) -> list[Unit]:
    """The fusable units, by smallest operator. `consistent`: region by operator index.

    They do not know their neighbours yet: see neighbouring.py.
    """
    hosts = host_groups(topology, in_force)
    together = Groups(topology.operators)
    for operator in topology.operators.values():
        for identifier in operator.constraints.colocations:
            together.join(operator.index, identifier)
        if operator.constraints.host_isolation and in_force.required:
            for other in hosts.members(operator.index):
                together.join(other, ("host isolation", hosts.root(operator.index)))
    profiles = _profiles(topology, hosts, consistent, rule, in_force)
    units = [_unit(topology, members, profiles, consistent) for members in together.all_members()]
    for unit in units:
        _check_jvm(topology, unit, in_force)
    return units


def host_groups(topology: Topology, in_force: HostRules) -> Groups:
    """Operators that must be on the same host, whatever a host is."""
    hosts = Groups(topology.operators)
    for operator in topology.operators.values():
        own = operator.constraints
        if own.host_colocations or own.host is not None or own.pool_slot is not None:
            for identifier in on_one_host(operator, in_force):
                hosts.join(operator.index, identifier)
    return hosts


def node_groups(topology: Topology, in_force: HostRules) -> Groups:
    """Operators that must be on the same node."""
    if in_force.topology_key == HOSTNAME:
        return host_groups(topology, in_force)
    nodes = Groups(topology.operators)
    for operator in topology.operators.values():
        for identifier in on_one_node(operator, in_force):
            nodes.join(operator.index, identifier)
    return nodes


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


def _profiles(
    topology: Topology,
    hosts: Groups,
    consistent: Mapping[int, int],
    rule: FusionType,
    in_force: HostRules,
) -> dict[int, Profile]:
    """The profile of each operator; operators that ask for the same share one."""
    own: dict[int, Profile] = {}
    shared: dict[tuple[Constraints, int | None], Profile] = {}
    for index, operator in topology.operators.items():
        key = operator.constraints, consistent.get(index)
        profile = shared.get(key)
        if profile is None:
            profile = _own_profile(topology, operator, consistent.get(index), in_force)
            if not profile.exlocations and not profile.host_exlocations:
                shared[key] = profile
        own[index] = _in_channels(profile, operator, rule)
    if in_force.topology_key == HOSTNAME:
        return _inherited(own, hosts, (*_OF_NODES, *_OF_HOSTS))
    of_nodes = _inherited(own, node_groups(topology, in_force), _OF_NODES)
    return _inherited(of_nodes, hosts, _OF_HOSTS)


_OF_NODES = ("hosts", "tags", "slots", "pools")
_OF_HOSTS = ("host_exlocations",)


def _inherited(
    profiles: Mapping[int, Profile], groups: Groups, names: tuple[str, ...]
) -> dict[int, Profile]:
    """The profiles with what all of a group have together under these names."""
    found = dict(profiles)
    for members in groups.all_members():
        if len(members) == 1:
            continue
        closure = _all_of(profiles[member] for member in members)
        inherited: dict[str, Any] = {name: getattr(closure, name) for name in names}
        for member in members:
            found[member] = replace(profiles[member], **inherited)
    return found


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


def _own_profile(
    topology: Topology, operator: Operator, consistent: int | None, in_force: HostRules
) -> Profile:
    own = operator.constraints
    pool = None if own.pool is None else topology.pools[own.pool]
    jvm = own.jvm_arguments
    slotted = own.pool is not None and own.pool_slot is not None
    hosts = frozenset() if own.host is None else frozenset({in_force.named(own.host)})
    is_placed = not in_force.is_original and pool is not None and pool.name != DEFAULT_POOL
    return Profile(
        jvm=frozenset() if jvm is None else frozenset({frozenset(jvm)}),
        restartable=frozenset({own.restartable}),
        relocatable=frozenset({own.relocatable}),
        exclusive=frozenset({pool is not None and pool.mode == "exclusive"}),
        consistent=frozenset({consistent}),
        isolated=own.isolation,
        exlocations=frozenset((item, operator.index) for item in own.exlocations),
        host_isolated=own.host_isolation and in_force.required,
        host_colocated=bool(own.host_colocations or on_one_node(operator, in_force)),
        host_exlocations=frozenset((item, operator.index) for item in own.host_exlocations),
        hosts=hosts,
        tags=frozenset() if pool is None else frozenset((pool.index, tag) for tag in pool.tags),
        slots=frozenset({(own.pool or 0, own.pool_slot or 0)}) if slotted else frozenset(),
        pools=frozenset() if own.pool is None else frozenset({own.pool}),
        own_hosts=frozenset() if in_force.is_original else hosts,
        own_pools=frozenset({pool.index}) if pool is not None and is_placed else frozenset(),
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


def _check_jvm(topology: Topology, unit: Unit, in_force: HostRules) -> None:
    """The only contradiction that the original refuses; others it fuses, and so do we."""
    if len(unit.profile.jvm) < 2:
        return
    members = [topology.operators[index] for index in unit.operators]
    first: dict[frozenset[str], Operator] = {}
    for operator in members:
        if operator.constraints.jvm_arguments is not None:
            first.setdefault(frozenset(operator.constraints.jvm_arguments), operator)
    one, other, *_ = first.values()
    ties = shortest_chain(ties_in_pe(topology, members, in_force), one, other)
    listed = "; ".join(
        f"{operator.name}: {' '.join(operator.constraints.jvm_arguments or ()) or '(none)'}"
        for operator in first.values()
    )
    raise PlanRefused(
        Reason.CONSTRAINTS_CONTRADICT,
        field="jvmArguments",
        value=listed,
        message=(
            f"the operators {shown(one.name)!r} and {shown(other.name)!r} must share a processing"
            f" element ({ties}) but have different JVM arguments (CDISR3200E, CDISR3216E): {listed}"
        ),
    )
