"""Flattening: from the expanded graph to the topology.

1. refuse widths that make too many operators, before anything is copied;
2. expand (expansion.py) and number the operators for life (identity.py);
3. give each operator its names, its channels and its constraints with intrinsics replaced;
4. follow every port to the operators that it reaches (walking.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from contracts.reasons import Reason
from planner.application import model
from planner.application.submission import RegionWidths
from planner.graph.expansion import Vertex, dissolve, expand, primitives
from planner.graph.intrinsics import Membership, substituted
from planner.graph.naming import Naming, VertexPath
from planner.graph.topology import Operator, Topology
from planner.graph.walking import Walk
from planner.numbering.identity import Identities
from planner.numbering.records import OperatorKey, PoolRecord
from planner.refusals import PlanRefused

PARTS_PER_OPERATOR_MAX = 20


def build_topology(
    application: model.Application,
    widths: RegionWidths,
    identities: Identities,
    *,
    operators_max: int,
    connections_max: int,
) -> Topology:
    """The topology for these widths. Refuses PLAN_TOO_LARGE."""
    _check_size(application, widths, operators_max)
    main = expand(application, widths.by_region)
    naming = Naming()
    members = list(primitives(main))
    vertices = sorted(
        (vertex for vertex in members if vertex.kind == "primitive"),
        key=lambda vertex: vertex.physical,
    )
    places = [naming.place_of(vertex) for vertex in vertices]
    keys = [_key(vertex, place) for vertex, place in zip(vertices, places, strict=True)]
    numbers = identities.number_operators(keys)
    pools = _Pools(application, identities)
    operators = _Operators(application, naming, pools)
    found = {
        number: operators.made(vertex, place, key, number)
        for vertex, place, key, number in zip(vertices, places, keys, numbers, strict=True)
    }
    walk = Walk(
        dict(zip(vertices, numbers, strict=True)), identities, naming, connections_max, widths
    )
    for vertex in vertices:
        walk.follow_operator(vertex)
    for vertex in members:
        if vertex.kind == "import":
            walk.follow_import(vertex)
    dissolve(main)
    return Topology(
        operators={index: found[index] for index in sorted(found)},
        outlets=walk.outlets,
        inlets=walk.inlets,
        imports=walk.imports,
        exports=walk.exports,
        pools=pools.all,
    )


def _check_size(application: model.Application, widths: RegionWidths, operators_max: int) -> None:
    """Counts before anything is copied: widths multiply, and they come from outside.

    Parts are what an operator or a composite is copied with: itself, its ports and connections.
    """
    by_root = {region.root: widths.by_region[region.index] for region in application.regions}

    def count(composite: model.Composite) -> tuple[int, int]:
        operators, parts = 0, 1 + _ports_and_connections(composite)
        for member in composite.members:
            width = by_root.get(member.index, 1)
            operators += width
            parts += width * (1 + _ports_and_connections(member))
        for inner in composite.composites:
            inside = count(inner)
            operators += inside[0]
            parts += inside[1]
        width = by_root.get(composite.index, 1)
        return operators * width, parts * width

    operators, parts = count(application.main)
    if operators > operators_max:
        raise _too_large(widths, operators, "operators", operators_max)
    if parts > operators_max * PARTS_PER_OPERATOR_MAX:
        what = "operators, composites, ports and connections"
        raise _too_large(widths, parts, what, operators_max * PARTS_PER_OPERATOR_MAX)


def _ports_and_connections(item: model.Composite | model.Member) -> int:
    if isinstance(item, model.Composite):
        ports = (*item.inputs, *item.outputs)
        return sum(1 + len(port.incoming) + len(port.outgoing) for port in ports)
    inputs = () if isinstance(item, model.Import) else item.inputs
    outputs = () if isinstance(item, model.Export) else item.outputs
    return sum(1 + len(port.connections) for port in inputs) + sum(
        1 + len(port.connections) for port in outputs
    )


def _too_large(widths: RegionWidths, count: int, what: str, count_max: int) -> PlanRefused:
    return PlanRefused(
        Reason.PLAN_TOO_LARGE,
        field=widths.widest_field,
        value=count,
        message=f"the widths ({widths.sources}) make {count} {what};"
        f" at most {count_max} are allowed",
    )


def _key(vertex: Vertex, place: VertexPath) -> OperatorKey:
    assert isinstance(vertex.item, model.Primitive)
    return OperatorKey(vertex.item.index, tuple([level.local for level in place.levels]))


class _Operators:
    """Makes physical operators of vertices."""

    def __init__(self, application: model.Application, naming: Naming, pools: _Pools) -> None:
        self._has_regions = bool(application.regions)
        self._naming = naming
        self._pools = pools
        self._intrinsic: dict[int, bool] = {}

    def made(self, vertex: Vertex, place: VertexPath, key: OperatorKey, index: int) -> Operator:
        """One of them."""
        item = vertex.item
        assert isinstance(item, model.Primitive)
        assert vertex.parent is not None
        prefix = self._naming.place_of(vertex.parent).physical
        return Operator(
            index=index,
            key=key,
            item=item,
            name=place.physical,
            logical_name=place.logical,
            prefix=f"{prefix}." if prefix else "",
            levels=place.levels,
            constraints=self._constraints(item, place.levels),
            enclosing=place.enclosing,
            stream_names=tuple(
                [self._naming.stream_name(vertex, port.stream_name) for port in item.outputs]
            ),
        )

    def _constraints(
        self, item: model.Primitive, levels: tuple[Membership, ...]
    ) -> model.Constraints:
        found = item.constraints
        # The original leaves the text alone in applications without regions.
        if self._has_regions and self._has_intrinsics(item):
            found = _substituted(found, levels)
        pool = self._pools.of(found.pool, levels)
        return found if pool == found.pool else replace(found, pool=pool)

    def _has_intrinsics(self, item: model.Primitive) -> bool:
        found = self._intrinsic.get(item.index)
        if found is None:
            found = any("(" in text for text in _texts(item.constraints))
            self._intrinsic[item.index] = found
        return found


def _texts(constraints: model.Constraints) -> Iterator[str]:
    """What may hold intrinsics."""
    if constraints.host is not None:
        yield constraints.host
    yield from constraints.host_colocations
    yield from constraints.host_exlocations
    yield from constraints.colocations
    yield from constraints.exlocations


def _substituted(
    constraints: model.Constraints, levels: tuple[Membership, ...]
) -> model.Constraints:
    def each(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(substituted(item, levels) for item in ids))

    host = constraints.host
    return replace(
        constraints,
        host=None if host is None else substituted(host, levels),
        host_colocations=each(constraints.host_colocations),
        host_exlocations=each(constraints.host_exlocations),
        colocations=each(constraints.colocations),
        exlocations=each(constraints.exlocations),
    )


class _Pools:
    """Host pools, with the replicas that `replicateHostTag` makes of them."""

    def __init__(self, application: model.Application, identities: Identities) -> None:
        self._identities = identities
        self._tags = {region.index: set(region.host_tags) for region in application.regions}
        self.all = {
            pool.index: PoolRecord(
                pool.index, pool.name, pool.size, pool.mode, pool.hosts, pool.tags
            )
            for pool in application.pools
        }
        identities.reserve_pools(self.all)

    def of(self, index: int | None, levels: tuple[Membership, ...]) -> int | None:
        """The pool for an operator: the declared one or its replica for the innermost region."""
        if index is None or not levels:
            return index
        pool = self.all[index]
        replicated = self._tags[levels[0].region] & set(pool.tags)
        if not replicated:
            return index
        suffix = "_" + "_".join(str(level.channel) for level in levels)
        name = f"{pool.name}_{levels[0].region}{suffix}"
        number = self._identities.number_pool(name)
        tags = tuple(tag + suffix if tag in replicated else tag for tag in pool.tags)
        self.all.setdefault(
            number, PoolRecord(number, name, pool.size, pool.mode, pool.hosts, tags)
        )
        return number
