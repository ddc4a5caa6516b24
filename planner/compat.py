"""Compat: what the original does at a resize, where the default does better.

1. The topologies of the widths before and after are numbered from scratch, each on its own.
2. `transferred`: what both have keeps the number of the one before; what is new keeps its own, or
   goes above all where that is taken. So a second resize renumbers what the first one kept.
3. Fusion starts from scratch. `placed`: a PE keeps its id where the names of its operators, put in
   a row, are the same; the others go above the highest that runs, so an id may come back.
4. `widened`: an AADL says the position of its PE among all, and lists every pool, tuple type and
   toolkit of the job. A PE is therefore restarted for what happens elsewhere.

A fresh plan is the same in both modes, but for what the original cannot, `refuse_neighbours`, and
for an Import that a splitter divides, `undivided`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NoReturn, TypeVar

from contracts.reasons import Reason
from planner.application import model
from planner.description.meaning import PeMeaning, PoolMeaning, value
from planner.graph.topology import Topology
from planner.numbering.identity import Identities
from planner.numbering.records import OperatorKey, PoolRecord
from planner.numbering.splitters import SplitterKey
from planner.refusals import PlanRefused, shown

Key = TypeVar("Key")


# --------------------------------------------------------------------------- numbers


def transferred(prior: Identities, current: Identities, pes: Iterable[int]) -> Identities:
    """The numbers of a resize, from those of both topologies and the PEs that run."""
    operators = _transferred(prior.operators, current.operators)
    splitters: dict[SplitterKey, int] = {}
    before, after = _by_port(prior), _by_port(current)
    for place, numbers in after.items():
        key, port = place
        for path, number in _transferred(before.get(place, {}), numbers).items():
            splitters[SplitterKey(operators[key], port, path)] = number
    return Identities.given(
        operators=operators,
        splitters=splitters,
        pools=_transferred(prior.pools, current.pools),
        pe_high=max(pes, default=-1),
    )


def _transferred(prior: Mapping[Key, int], current: Mapping[Key, int]) -> dict[Key, int]:
    """Matched: the number before. New: its own, or one above all where that is taken."""
    taken = set(prior.values())
    highest = max([*taken, *current.values()], default=-1)
    found: dict[Key, int] = {}
    for key, number in sorted(current.items(), key=lambda item: item[1]):
        if key in prior:
            found[key] = prior[key]
        elif number not in taken:
            found[key] = number
        else:
            highest += 1
            found[key] = highest
    return found


_Port = tuple[OperatorKey, int]
_Path = tuple[tuple[int, int, int, int], ...]


def _by_port(identities: Identities) -> dict[_Port, dict[_Path, int]]:
    """Splitters of each output port, by what the operator is and not by its number."""
    keys = {number: key for key, number in identities.operators.items()}
    found: dict[_Port, dict[_Path, int]] = {}
    for splitter, number in identities.splitters.items():
        place = keys[splitter.operator], splitter.port
        found.setdefault(place, {})[splitter.path] = number
    return found


# --------------------------------------------------------------------------- processing elements


def placed(
    fused: Iterable[list[int]],
    topology: Topology,
    known: Iterable[tuple[int, tuple[str, ...]]],
    identities: Identities,
) -> dict[int, list[int]]:
    """The operators of each PE, by PE id. `known`: the PEs that run and their operators' names.

    Names of different operators may make the same row: an id goes to the first PE that has it.
    """
    ids = {_row_of(names): pe for pe, names in known}
    found: dict[int, list[int]] = {}
    for operators in sorted(fused, key=min):
        names = [topology.operators[index].name for index in operators]
        pe = ids.pop(_row_of(names), None)
        found[identities.next_pe() if pe is None else pe] = operators
    return found


def _row_of(names: Iterable[str]) -> str:
    """The original's key of a PE: nothing stands between two names."""
    return "".join(sorted(names))


def positions(operators: Mapping[int, list[int]]) -> dict[int, int]:
    """The place of each PE when they are ordered by their lowest operator."""
    ordered = sorted(operators, key=lambda pe: operators[pe][0])
    return {pe: position for position, pe in enumerate(ordered)}


@value
class PositionedMeaning(PeMeaning):
    """A meaning that says where among all PEs this one comes."""

    position: int

    @property
    def logical_index(self) -> int:
        """The position, as in the original."""
        return self.position


def widened(
    meaning: PeMeaning,
    position: int,
    application: model.Application,
    pools: Mapping[int, PoolRecord],
) -> PositionedMeaning:
    """The meaning with what only a position or another PE brings in."""
    fields = dict(vars(meaning))
    fields["pools"] = tuple(
        PoolMeaning(pool.index, pool.name, pool.size, pool.mode, pool.hosts, pool.tags)
        for _, pool in sorted(pools.items())
    )
    fields["tuple_types"] = tuple(sorted(application.tuple_types.items()))
    fields["toolkits"] = tuple(sorted(application.toolkits.items()))
    return PositionedMeaning(**fields, position=position)


# --------------------------------------------------------------------------- imports


def undivided(topology: Topology) -> None:
    """Every channel that an Import reaches gets all of it: the original takes no shares."""
    for port, found in topology.imports.items():
        whole = (replace(each, shares=()) for each in found)
        topology.imports[port] = list(dict.fromkeys(whole))


# --------------------------------------------------------------------------- refusals


def refuse_neighbours(application: model.Application) -> None:
    """Refuses an Import or Export that is connected directly to the root of a region beside it.

    Inside of a replicated composite they are like every other operator.
    """
    regions = {region.root: region for region in application.regions}
    for composite in _composites(application.main):
        pseudo = {
            member.index: member
            for member in composite.members
            if not isinstance(member, model.Primitive)
        }
        roots = {
            item.index: item
            for item in (*composite.members, *composite.composites)
            if item.index in regions
        }
        for index, item in roots.items():
            for end in _ends(item):
                if end.operator in pseudo:
                    _refuse_neighbour(pseudo[end.operator], regions[index])
        for member in pseudo.values():
            for end in _ends(member):
                if end.operator in roots:
                    _refuse_neighbour(member, regions[end.operator])


def _composites(composite: model.Composite) -> Iterator[model.Composite]:
    yield composite
    for inner in composite.composites:
        yield from _composites(inner)


def _ends(item: model.Member | model.Composite) -> Iterator[model.PortRef]:
    """The other ends of an item's connections, of a composite those outside of it."""
    match item:
        case model.Composite():
            yield from (end for port in item.inputs for end in port.incoming)
            yield from (end for port in item.outputs for end in port.outgoing)
        case model.Import():
            yield from (end for port in item.outputs for end in port.connections)
        case model.Export():
            yield from (end for port in item.inputs for end in port.connections)
        case model.Primitive():
            yield from (end for port in item.inputs for end in port.connections)
            yield from (end for port in item.outputs for end in port.connections)


def _refuse_neighbour(pseudo: model.Import | model.Export, region: model.Region) -> NoReturn:
    kind = "import" if isinstance(pseudo, model.Import) else "export"
    raise PlanRefused(
        Reason.NOT_SUPPORTED_YET,
        field=f"ADL {kind} operator",
        value=pseudo.own_name,
        message=(
            f"the {kind} operator {shown(pseudo.own_name)!r} is connected directly to the parallel "
            f"region {shown(region.name)!r}, where the original ends in an internal error "
            "(CDISR1358E); put an operator between them or move it into the region"
        ),
    )
