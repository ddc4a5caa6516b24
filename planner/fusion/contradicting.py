"""Constraints that nothing can satisfy: what must share a PE, or a host, and must not.

The original fuses such operators without a word; that is what `compat` asks for. Otherwise they are
refused, by the names of two operators that cannot both have their way, by what holds them together
and by what keeps them apart:

* operators of one unit (constraints.py) that a rule of `conflict` keeps apart. An operator without
  a host or pool of its own goes where the other one must be, and one that is in a consistent region
  may be fused with one that is not if people say so: neither is a contradiction;
* operators that must share a host, directly or through their PEs, and are ex-located there;
* operators that must be on the same node, and name different ones;
* an operator with host isolation in a PE that must be on the host of another PE.

Only what no cluster could give is refused here. Whether a name and an address are one node, or a
node is in two shared pools, nobody knows here; where hosts are zones, one zone may have all of the
nodes; and where co-location and its opposites are only preferred, they contradict nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from contracts.labels import HOSTNAME
from contracts.reasons import Reason
from planner.fusion.constraints import (
    Groups,
    Unit,
    channel_path,
    host_groups,
    node_groups,
)
from planner.fusion.placing import DEFAULT_POOL, HostRules, is_address
from planner.fusion.tying import Tied, shortest_chain, ties_in_pe, ties_on_host
from planner.graph.topology import Operator, Topology
from planner.numbering.records import FusionType
from planner.refusals import PlanRefused, counted, shown

Trait = Callable[[Operator], Hashable | None]
"""A value that must be equal in a group; None: any value."""
Members = Sequence[Operator]


@dataclass(frozen=True, slots=True)
class _Clash:
    """Two operators, and why they may not be where they must."""

    one: Operator
    other: Operator
    field: str
    why: str


def refuse_contradictions(
    topology: Topology,
    units: Sequence[Unit],
    rule: FusionType,
    in_force: HostRules,
    running: frozenset[int] = frozenset(),
) -> None:
    """Refuses CONSTRAINTS_CONTRADICT by the first operators that clash.

    Those that run already (indices) were accepted, maybe by a release that did not look: they stay.
    """
    for operator in topology.operators.values():
        if operator.constraints.pool_slot is not None and operator.index not in running:
            _check_place(topology, operator)
    for clash, what, tied in _Search(topology, units, rule, in_force).clashes():
        if not {clash.one.index, clash.other.index} <= running:
            raise _refusal(clash, f"{what} ({shortest_chain(tied(), clash.one, clash.other)})")


def pes_contradict(
    topology: Topology,
    pes: Iterable[Unit],
    rule: FusionType,
    in_force: HostRules,
    running: frozenset[int],
) -> bool:
    """Whether two operators, at least one new, share a PE or a host although they must not.

    `pes` are the units that each PE became. If `refuse_contradictions` accepted the units that went
    in, there is a way to join them into PEs without a contradiction.
    """
    clashes = _Search(topology, list(pes), rule, in_force).clashes()
    return any(not {clash.one.index, clash.other.index} <= running for clash, _, _ in clashes)


def _check_place(topology: Topology, operator: Operator) -> None:
    """Refuses a place that the operator's host pool does not have."""
    pool, place = operator.constraints.pool, operator.constraints.pool_slot
    if pool is None or place is None:
        return
    declared = topology.pools[pool]
    sizes = [len(declared.hosts)] if declared.hosts else []
    sizes += [declared.size] if declared.size is not None else []
    if not sizes or place < min(sizes):
        return
    raise PlanRefused(
        Reason.CONSTRAINTS_CONTRADICT,
        field="ADL poolLocation@inpoolIndex",
        value=place,
        message=(
            f"the operator {_name(operator)} asks for place {place} of the host pool"
            f" {shown(declared.name)!r}, which has {counted(min(sizes), 'host')}, from place 0 on"
        ),
    )


_Found = tuple[_Clash, str, Callable[[], list[Tied]]]
"""A clash, what both operators must do, and a getter of what ties them."""


class _Search:
    """One look at everything that must be together."""

    def __init__(
        self, topology: Topology, units: Sequence[Unit], rule: FusionType, in_force: HostRules
    ) -> None:
        self._topology = topology
        self._units = units
        self._rule = rule
        self._in_force = in_force
        self._hosts = host_groups(topology, in_force)
        _join_units(self._hosts, units)
        self._nodes = self._hosts
        if in_force.topology_key != HOSTNAME:
            self._nodes = node_groups(topology, in_force)
            _join_units(self._nodes, units)

    def clashes(self) -> Iterator[_Found]:
        """All of them, those within PEs first."""
        for unit in self._units:
            if len(unit.operators) == 1 and not unit.profile.host_isolated:
                continue
            members = self._operators(unit.operators)
            for clash in _in_unit(self._topology, members, self._rule, self._in_force):
                yield (
                    clash,
                    "must share a processing element",
                    partial(ties_in_pe, self._topology, members, self._in_force),
                )
            yield from self._apart(self._hosts, _beyond_unit(self._topology, unit, self._hosts))
        for members in self._together(self._nodes):
            yield from self._apart(self._nodes, _on_node(self._topology, members))
        for members in self._together(self._hosts) if self._in_force.required else ():
            yield from self._apart(self._hosts, _ex_located(members))

    def _together(self, groups: Groups) -> Iterator[list[Operator]]:
        return (self._operators(each) for each in groups.all_members() if len(each) > 1)

    def _operators(self, indices: Iterable[int]) -> list[Operator]:
        return [self._topology.operators[index] for index in indices]

    def _apart(self, groups: Groups, clashes: Iterable[_Clash]) -> Iterator[_Found]:
        """Clashes of operators that must be on the same host."""
        in_force = self._in_force if groups is self._hosts else NODES_ALONE
        for clash in clashes:
            members = self._operators(groups.members(clash.one.index))
            yield (
                clash,
                "must be on the same host",
                partial(ties_on_host, self._topology, members, in_force),
            )


NODES_ALONE: Final = HostRules(required=False)
"""What puts operators on one node where co-location is of zones."""


def _join_units(groups: Groups, units: Iterable[Unit]) -> None:
    """Who shares a PE shares its host."""
    for unit in units:
        if len(unit.operators) > 1:
            for index in unit.operators:
                groups.join(index, ("unit", unit.operators[0]))


def _in_unit(
    topology: Topology, members: Members, rule: FusionType, in_force: HostRules
) -> Iterator[_Clash]:
    if len(members) < 2:
        return
    isolated = next((each for each in members if each.constraints.isolation), None)
    if isolated is not None:
        other = next(each for each in members if each is not isolated)
        yield _Clash(
            isolated, other, "isolation", f"{_name(isolated)} asks for a PE of its own (CDISR3203E)"
        )
    yield from _differing(members, "restartable", lambda each: each.constraints.restartable, "3201")
    yield from _differing(members, "relocatable", lambda each: each.constraints.relocatable, "3202")
    yield from _sharing(
        members, "partition exLocation", lambda each: each.constraints.exlocations, "3204"
    )
    yield from _differing(
        members, "exclusive host pool", lambda each: _is_exclusive(topology, each), "3205"
    )
    yield from _in_other_places(topology, members, in_force)
    if rule == "channelIsolation":
        yield from _differing(members, "channel (fusion.type channelIsolation)", _channel_text, "")
    elif rule == "channelExlocation":
        yield from _in_other_channels(members)


def _in_other_places(topology: Topology, members: Members, in_force: HostRules) -> Iterator[_Clash]:
    """What keeps operators apart that share a PE: it has one host and one pool."""
    if in_force.required:
        yield from _ex_located(members)

    def host(each: Operator) -> str | None:
        own = each.constraints.host
        return None if own is None else in_force.named(own)

    yield from _differing(members, "host", host, "3209")
    yield from _differing(members, "host pool", lambda each: _pool(topology, each), "3209")
    yield from _on_node(topology, members)


def _on_node(topology: Topology, members: Members) -> Iterator[_Clash]:
    """What keeps operators apart that must be on one node."""
    yield from _on_other_names(topology, members)
    yield from _beside_exclusive(topology, members)
    slots: dict[int, tuple[int, Operator]] = {}
    for each in members:
        pool, slot = each.constraints.pool, each.constraints.pool_slot
        if pool is None or slot is None:
            continue
        before, other = slots.setdefault(pool, (slot, each))
        if before != slot:
            why = (
                f"{_name(other)} asks for place {before} and {_name(each)} for place {slot} of the"
                f" host pool {shown(topology.pools[pool].name)!r} (CDISR3210E)"
            )
            yield _Clash(other, each, "poolLocation", why)


def _on_other_names(topology: Topology, members: Members) -> Iterator[_Clash]:
    """Two operators that each name nodes that the other does not name."""
    seen: dict[frozenset[str], Operator] = {}
    for each in members:
        names = _node_names(topology, each)
        if not names or names in seen:
            continue
        for others, other in seen.items():
            if not names & others:
                differing = (
                    f"{_name(other)} may run on {_shown_value(_listed(others))} and"
                    f" {_name(each)} on {_shown_value(_listed(names))}"
                )
                yield _Clash(other, each, "host", f"their hosts differ: {differing} (CDISR3209E)")
                return
        seen[names] = each


def _node_names(topology: Topology, operator: Operator) -> frozenset[str]:
    """The nodes that an operator may run on, where it gives them by names alone."""
    own = operator.constraints
    hosts = () if own.pool is None else topology.pools[own.pool].hosts
    named = (own.host,) if own.host is not None else hosts
    return frozenset() if any(map(is_address, named)) else frozenset(named)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _beside_exclusive(topology: Topology, members: Members) -> Iterator[_Clash]:
    """An operator in an exclusive pool, and one that is not in it: no node takes both."""
    inside = next((each for each in members if _is_exclusive(topology, each)), None)
    if inside is None:
        return
    pool = inside.constraints.pool
    for each in members:
        if each.constraints.pool != pool:
            name = repr(shown(topology.pools[pool or 0].name))
            why = f"only {_name(inside)} is in the exclusive host pool {name} (CDISR3205E)"
            yield _Clash(inside, each, "exclusive host pool", why)
            return


def _ex_located(members: Members) -> Iterator[_Clash]:
    yield from _sharing(
        members, "host exLocation", lambda each: each.constraints.host_exlocations, "3211"
    )


def _beyond_unit(topology: Topology, unit: Unit, hosts: Groups) -> Iterator[_Clash]:
    """A host-isolated operator whose PE must be on the host of another PE."""
    if not unit.profile.host_isolated:
        return
    inside = set(unit.operators)
    isolated = next(
        index for index in unit.operators if topology.operators[index].constraints.host_isolation
    )
    for index in unit.operators:
        for other in hosts.members(index):
            if other not in inside:
                one = topology.operators[isolated]
                why = f"{_name(one)} asks for a host of its own (CDISR3231E)"
                yield _Clash(one, topology.operators[other], "host isolation", why)


def _differing(members: Members, field: str, trait: Trait, code: str) -> Iterator[_Clash]:
    """Two operators whose trait differs."""
    first: tuple[Operator, Hashable] | None = None
    for each in members:
        value = trait(each)
        if value is None:
            continue
        if first is None:
            first = each, value
        elif first[1] != value:
            why = (
                f"their {field} differs: {_shown_value(first[1])} of {_name(first[0])} and"
                f" {_shown_value(value)} of {_name(each)}{_code(code)}"
            )
            yield _Clash(first[0], each, field, why)
            return


def _sharing(
    members: Members, field: str, ids: Callable[[Operator], Iterable[str]], code: str
) -> Iterator[_Clash]:
    """Two operators that have an id which may occur once."""
    seen: dict[str, Operator] = {}
    for each in members:
        for identifier in dict.fromkeys(ids(each)):
            other = seen.setdefault(identifier, each)
            if other is not each:
                why = f"both have the {field} {shown(identifier)!r}{_code(code)}"
                yield _Clash(other, each, field, why)


def _in_other_channels(members: Members) -> Iterator[_Clash]:
    seen: dict[int, tuple[int, Operator]] = {}
    for each in members:
        for level in each.levels:
            channel, other = seen.setdefault(level.region, (level.channel, each))
            if channel != level.channel:
                why = (
                    f"fusion.type is channelExlocation, {_name(other)} is in channel {channel} of a"
                    f" region and {_name(each)} in channel {level.channel}"
                )
                yield _Clash(other, each, "fusion.type", why)


def _channel_text(operator: Operator) -> str:
    channels = [str(channel) for _, channel in channel_path(operator)]
    return f"channel {'.'.join(channels)}" if channels else "none"


def _is_exclusive(topology: Topology, operator: Operator) -> bool:
    pool = operator.constraints.pool
    return pool is not None and topology.pools[pool].mode == "exclusive"


def _pool(topology: Topology, operator: Operator) -> str | None:
    pool = operator.constraints.pool
    name = None if pool is None else topology.pools[pool].name
    return None if name == DEFAULT_POOL else name


def _code(code: str) -> str:
    return f" (CDISR{code}E)" if code else ""


def _shown_value(value: Hashable) -> str:
    return str(value).lower() if isinstance(value, bool) else shown(value)


def _name(operator: Operator) -> str:
    return repr(shown(operator.name))


def _refusal(clash: _Clash, what: str) -> PlanRefused:
    return PlanRefused(
        Reason.CONSTRAINTS_CONTRADICT,
        field=clash.field,
        value=f"{shown(clash.one.name)}, {shown(clash.other.name)}",
        message=(
            f"the job cannot be fused (CDISR3200E): the operators {_name(clash.one)} and "
            f"{_name(clash.other)} {what} and must not: {clash.why}"
        ),
    )
