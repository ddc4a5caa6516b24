"""Constraints that nothing can satisfy: what must share a PE, or a host, and must not.

The original fuses such operators without a word; that is what `compat` asks for. Otherwise they are
refused, by the names of two operators that cannot both have their way:

* operators of one unit (constraints.py) that a rule of `conflict` keeps apart. An operator without
  a host or pool of its own goes where the other one must be, and one that is in a consistent region
  may be fused with one that is not if people say so: neither is a contradiction;
* operators that must be on the same host, maybe because those that share a PE with them must, and
  are ex-located there or name different hosts;
* an operator with host isolation in a PE that must be on the host of another PE.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from contracts.reasons import Reason
from services.fusion_backend.core.fusion.constraints import Groups, Unit, channel_path, host_groups
from services.fusion_backend.core.fusion.placing import DEFAULT_POOL
from services.fusion_backend.core.graph.topology import Operator, Topology
from services.fusion_backend.core.numbering.records import FusionType
from services.fusion_backend.core.refusals import PlanRefused, shown

Trait = Callable[[Operator], Hashable | None]
"""What must not differ within a group; None says nothing."""


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
    running: frozenset[int] = frozenset(),
) -> None:
    """Refuses CONSTRAINTS_CONTRADICT by the first operators that clash.

    Those that run already (indices) were accepted, maybe by a release that did not look: they stay.
    """
    for clash, why in _clashes(topology, units, rule):
        if not {clash.one.index, clash.other.index} <= running:
            raise _refusal(clash, why)


def _clashes(
    topology: Topology, units: Sequence[Unit], rule: FusionType
) -> Iterator[tuple[_Clash, str]]:
    hosts = host_groups(topology)
    for unit in units:
        if len(unit.operators) == 1:
            continue
        for index in unit.operators:  # who shares a PE shares its host
            hosts.join(index, ("unit", unit.operators[0]))
    for unit in units:
        if len(unit.operators) == 1 and not unit.profile.host_isolated:
            continue
        members = [topology.operators[index] for index in unit.operators]
        for clash in _in_unit(topology, members, rule):
            yield clash, "must share a processing element"
        for clash in _beyond_unit(topology, unit, hosts):
            yield clash, "must be on the same host"
    for indices in hosts.all_members():
        members = [topology.operators[index] for index in indices]
        for clash in _on_host(topology, members):
            yield clash, "must be on the same host"


def _in_unit(topology: Topology, members: list[Operator], rule: FusionType) -> Iterator[_Clash]:
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
    yield from _on_host(topology, members)
    if rule == "channelIsolation":
        yield from _differing(members, "fusion.type channelIsolation", _channel_text, "")
    elif rule == "channelExlocation":
        yield from _in_other_channels(members)


def _on_host(topology: Topology, members: list[Operator]) -> Iterator[_Clash]:
    """What keeps operators apart that must be on one host."""
    if len(members) < 2:
        return
    yield from _sharing(
        members, "host exLocation", lambda each: each.constraints.host_exlocations, "3211"
    )
    yield from _differing(members, "host", lambda each: each.constraints.host, "3209")
    yield from _differing(members, "host pool", lambda each: _pool(topology, each), "3209")
    slots: dict[int, tuple[int, Operator]] = {}
    for each in members:
        pool, slot = each.constraints.pool, each.constraints.pool_slot
        if pool is None or slot is None:
            continue
        before, other = slots.setdefault(pool, (slot, each))
        if before != slot:
            why = f"they ask for the places {before} and {slot} of one host pool (CDISR3210E)"
            yield _Clash(other, each, "poolLocation", why)


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


def _differing(members: list[Operator], field: str, trait: Trait, code: str) -> Iterator[_Clash]:
    """Two operators whose trait differs."""
    first: tuple[Operator, Hashable] | None = None
    for each in members:
        value = trait(each)
        if value is None:
            continue
        if first is None:
            first = each, value
        elif first[1] != value:
            why = f"their {field} differs: {_said(first[1])} and {_said(value)}{_code(code)}"
            yield _Clash(first[0], each, field, why)
            return


def _sharing(
    members: list[Operator], field: str, ids: Callable[[Operator], Iterable[str]], code: str
) -> Iterator[_Clash]:
    """Two operators that have an id which may occur once."""
    seen: dict[str, Operator] = {}
    for each in members:
        for identifier in dict.fromkeys(ids(each)):
            other = seen.setdefault(identifier, each)
            if other is not each:
                why = f"both have the {field} {shown(identifier)!r}{_code(code)}"
                yield _Clash(other, each, field, why)


def _in_other_channels(members: list[Operator]) -> Iterator[_Clash]:
    seen: dict[int, tuple[int, Operator]] = {}
    for each in members:
        for level in each.levels:
            channel, other = seen.setdefault(level.region, (level.channel, each))
            if channel != level.channel:
                why = "fusion.type is channelExlocation and their channels differ"
                yield _Clash(other, each, "fusion.type", why)


def _channel_text(operator: Operator) -> str:
    channels = [str(channel) for _, channel in channel_path(operator)]
    return f"channel {'.'.join(channels)}" if channels else "no channel"


def _is_exclusive(topology: Topology, operator: Operator) -> bool:
    pool = operator.constraints.pool
    return pool is not None and topology.pools[pool].mode == "exclusive"


def _pool(topology: Topology, operator: Operator) -> str | None:
    pool = operator.constraints.pool
    name = None if pool is None else topology.pools[pool].name
    return None if name == DEFAULT_POOL else name


def _code(code: str) -> str:
    return f" (CDISR{code}E)" if code else ""


def _said(value: Hashable) -> str:
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
