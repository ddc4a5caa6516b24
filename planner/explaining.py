"""Why operators of a draft met in a PE, and why neighbours did not: sentences for people.

Nothing is decided here. Together: shared ids of co-location, or hosts that are isolated with all
that must be on them; what is left was packed. Where it may run is beside it. Apart: the first
rule of profiles.py between a PE and one that it is connected with. Under legacy nothing is packed,
so what is apart is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.drafting import Draft
from planner.fusion.cohosting import Cohosting
from planner.fusion.constraints import Unit
from planner.fusion.placing import place_of
from planner.fusion.profiles import Profile, conflict
from planner.graph.topology import Operator
from planner.refusals import counted, shown

NAMED_MAX = 4
LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a PE holds what it holds, and which PEs beside it could not be the same one."""

    together: tuple[str, ...] = ()
    apart: tuple[tuple[int, str], ...] = ()


def explain(draft: Draft) -> dict[int, Explanation]:
    """The explanation of each PE."""
    units: dict[int, list[Unit]] = {}
    for unit in draft.units:
        units.setdefault(draft.pe_of[unit.operators[0]], []).append(unit)
    apart = {} if draft.fusion.scheme == LEGACY else _apart(draft, units)
    inside = Counter(
        draft.pe_of[edge.source]
        for edge in draft.topology.edges
        if draft.pe_of[edge.source] == draft.pe_of[edge.target]
    )
    found: dict[int, Explanation] = {}
    for pe in draft.placed:
        why, where = tuple(_together(draft, units[pe], inside[pe])), tuple(_where(draft, pe))
        if not why and (draft.fusion.scheme == LEGACY or not where):
            why = _alone(draft, apart.get(pe, ()))
        found[pe] = Explanation((*why, *where), apart.get(pe, ()))
    return found


def _where(draft: Draft, pe: int) -> Iterator[str]:
    """What the PE asks of the place where it runs."""
    place = place_of(draft.topology, draft.placed[pe])
    if place.host is not None:
        yield f"on the host {shown(place.host)!r}"
    if place.host_pool is not None:
        name = repr(shown(draft.topology.pools[place.host_pool].name))
        which = "in" if place.in_pool_index is None else f"at place {place.in_pool_index} of"
        yield f"{which} the host pool {name}"
    if place.colocations:
        yield f"on the host of all that have host co-location {_listed(place.colocations)}"
    if place.exlocations:
        yield f"on another host than all that have host ex-location {_listed(place.exlocations)}"
    if place.isolated:
        yield f"on a host of its own: {_listed(place.isolated)} asks for it"


def _alone(draft: Draft, apart: tuple[tuple[int, str], ...]) -> tuple[str, ...]:
    if draft.fusion.scheme == LEGACY:
        return ("legacy: no constraint joins it",)
    return () if apart else ("no constraint joins it, and it may have a PE of its own",)


def _together(draft: Draft, units: list[Unit], inside: int) -> Iterable[str]:
    for unit in units:
        members = [draft.topology.operators[index] for index in unit.operators]
        if len(members) > 1:
            yield from _joined(members)
            yield from _gathered(draft, unit)
        if unit.stands_alone:
            yield (
                "a PE of its own: it is isolated"
                if unit.profile.isolated
                else "a PE of its own: it is co-located inside of a consistent region"
            )
    if len(units) > 1:
        among = counted(inside, "connection") if inside else "no connections"
        yield f"{_packed(units)} packed together, with {among} among them"


def _packed(units: list[Unit]) -> str:
    """What was packed: operators, and groups of them that something joins."""
    groups = sum(len(unit.operators) > 1 for unit in units)
    operators = len(units) - groups
    found = (("group", groups), ("operator", operators))
    return " and ".join(counted(number, what) for what, number in found if number)


def _gathered(draft: Draft, unit: Unit) -> Iterable[str]:
    """The channel whose operators channelIsolation made one unit of."""
    (path, *more) = unit.profile.isolated_channels or ((),)
    if path and not more:
        names = {region.index: region.name for region in draft.request.application.regions}
        region, channel = path[0]
        yield f"channelIsolation joins channel {channel} of {shown(names[region])}"


def _joined(members: list[Operator]) -> Iterable[str]:
    by_id: dict[str, list[Operator]] = {}
    for operator in members:
        for identifier in operator.constraints.colocations:
            by_id.setdefault(identifier, []).append(operator)
    for identifier, joined in by_id.items():
        if len(joined) > 1:
            yield f"co-location {shown(identifier)!r} joins {_named(joined)}"
    isolated = [operator for operator in members if operator.constraints.host_isolation]
    if isolated:
        yield f"the host of {_named(isolated)} is isolated, with all that must be on it"


def _named(operators: list[Operator]) -> str:
    return _counted_list(
        [shown(operator.name) for operator in operators[:NAMED_MAX]], len(operators)
    )


def _listed(values: Sequence[str]) -> str:
    return _counted_list([repr(shown(value)) for value in values[:NAMED_MAX]], len(values))


def _counted_list(first: list[str], count: int) -> str:
    more = count - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def _apart(draft: Draft, units: Mapping[int, list[Unit]]) -> dict[int, tuple[tuple[int, str], ...]]:
    profiles = {pe: _profile(found) for pe, found in units.items()}
    cohosting = Cohosting(draft.topology, draft.units, draft.request.hosts_in_force)
    bound: dict[int, Unit | None] = {}
    for pe, found in units.items():
        for unit in found:
            bound[pe] = cohosting.joined(bound.get(pe), unit)
    beside: dict[int, set[int]] = {}
    for edge in draft.topology.edges:
        source, target = draft.pe_of[edge.source], draft.pe_of[edge.target]
        if source != target:
            beside.setdefault(source, set()).add(target)
            beside.setdefault(target, set()).add(source)

    def why(pe: int, other: int) -> str | None:
        found = conflict(profiles[pe], profiles[other])
        if found is None:
            return cohosting.refusal(bound[pe], bound[other])
        return found + (_shared(profiles[pe], profiles[other]) if "ex-located" in found else "")

    return {
        pe: tuple(
            (other, reason) for other in sorted(others) if (reason := why(pe, other)) is not None
        )
        for pe, others in beside.items()
    }


def _shared(one: Profile, other: Profile) -> str:
    """The ids of ex-location that two PEs share: the first, which is why."""
    for mine, theirs in (
        (one.exlocations, other.exlocations),
        (one.host_exlocations, other.host_exlocations),
    ):
        ids = {identifier for identifier, _ in mine} & {identifier for identifier, _ in theirs}
        if ids:
            return f": both have {shown(min(ids))!r}"
    return ""


def _profile(units: list[Unit]) -> Profile:
    first, *rest = units
    profile = first.profile
    for unit in rest:
        profile = profile.joined(unit.profile)
    return profile
