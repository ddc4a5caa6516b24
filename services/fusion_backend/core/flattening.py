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
from services.fusion_backend.core import model
from services.fusion_backend.core.expansion import Vertex, expand, primitives
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.intrinsics import Membership, substituted
from services.fusion_backend.core.naming import chain, levels_of, names_of, stream_name
from services.fusion_backend.core.records import OperatorKey, PoolRecord
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.submission import RegionWidths
from services.fusion_backend.core.topology import Operator, Topology
from services.fusion_backend.core.walking import Walk


def build_topology(
    application: model.Application,
    widths: RegionWidths,
    identities: Identities,
    *,
    operators_max: int,
    connections_max: int,
) -> Topology:
    """The topology for these widths . Refuses PLAN_TOO_LARGE."""
    _check_size(application, widths, operators_max)
    main = expand(application, widths.by_region)
    members = list(primitives(main))
    vertices = [vertex for vertex in members if vertex.kind == "primitive"]
    vertices.sort(key=lambda vertex: vertex.physical)
    keys = {vertex: _key(vertex) for vertex in vertices}
    identities.number_operators([keys[vertex] for vertex in vertices])
    numbers = {vertex: identities.operators[keys[vertex]] for vertex in vertices}
    pools = _Pools(application, identities)
    found = {
        numbers[vertex]: _operator(vertex, keys[vertex], numbers[vertex], application, pools)
        for vertex in vertices
    }
    walk = Walk(numbers, identities, connections_max, widths)
    for vertex in vertices:
        walk.follow_operator(vertex)
    for vertex in members:
        if vertex.kind == "import":
            walk.follow_import(vertex)
    return Topology(
        operators={index: found[index] for index in sorted(found)},
        edges=walk.edges,
        outlets=walk.outlets,
        imports=walk.imports,
        exports=walk.exports,
        pools=pools.all,
    )


def _check_size(application: model.Application, widths: RegionWidths, operators_max: int) -> None:
    """Counts before anything is copied: widths multiply, and they come from outside."""
    by_root = {region.root: widths.by_region[region.index] for region in application.regions}

    def count(composite: model.Composite) -> int:
        inside = sum(by_root.get(member.index, 1) for member in composite.members)
        inside += sum(map(count, composite.composites))
        return inside * by_root.get(composite.index, 1)

    operators = count(application.main)
    if operators > operators_max:
        raise PlanRefused(
            Reason.PLAN_TOO_LARGE,
            field=widths.widest_field,
            value=operators,
            message=(
                f"the widths ({widths.told}) make {operators} operators; at most {operators_max} "
                "are allowed"
            ),
        )


def _key(vertex: Vertex) -> OperatorKey:
    assert isinstance(vertex.item, model.Primitive)
    channels = tuple(item.channel for item in chain(vertex) if item.region is not None)
    return OperatorKey(vertex.item.index, channels)


def _operator(
    vertex: Vertex, key: OperatorKey, index: int, application: model.Application, pools: _Pools
) -> Operator:
    item = vertex.item
    assert isinstance(item, model.Primitive)
    levels = levels_of(vertex)
    logical, physical = names_of(vertex)
    constraints = item.constraints
    if application.regions:  # the original leaves the text alone in applications without regions
        constraints = _substituted(constraints, levels)
    parent = vertex.parent
    prefix = names_of(parent)[1] if parent is not None else ""
    return Operator(
        index=index,
        key=key,
        item=item,
        name=physical,
        logical_name=logical,
        prefix=f"{prefix}." if prefix else "",
        levels=levels,
        constraints=replace(constraints, pool=pools.of(constraints.pool, levels)),
        enclosing=tuple(_enclosing(vertex)),
        stream_names=tuple(stream_name(vertex, port.stream_name) for port in item.outputs),
    )


def _enclosing(vertex: Vertex) -> Iterator[model.Composite]:
    current = vertex.parent
    while current is not None:
        assert isinstance(current.item, model.Composite)
        yield current.item
        current = current.parent


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
