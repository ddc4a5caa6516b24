"""What a PE asks of the place where it runs, and what this release cannot give yet.

`refuse_unsupported` is the one check to lift when placement under host constraints arrives; the
rest of the planner carries those constraints already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from contracts.reasons import Reason
from services.fusion_backend.core.graph.topology import Topology
from services.fusion_backend.core.refusals import PlanRefused, shown

DEFAULT_POOL = "$default"


def refuse_unsupported(topology: Topology) -> None:
    """Refuses particular hosts and exclusive pools with NOT_SUPPORTED_YET."""
    for operator in topology.operators.values():
        own = operator.constraints
        if own.host is not None:
            _refuse(operator.name, f"the particular host {shown(own.host)!r}", "host", own.host)
        pool = None if own.pool is None else topology.pools[own.pool]
        if pool is None:
            continue
        if pool.hosts:
            what = f"particular hosts, those of the host pool {shown(pool.name)!r}"
            _refuse(operator.name, what, f"host pool {pool.name}", ", ".join(pool.hosts))
        if pool.mode == "exclusive":
            what = f"the exclusive host pool {shown(pool.name)!r}"
            _refuse(operator.name, what, f"host pool {pool.name}", pool.mode)


def _refuse(operator: str, what: str, field: str, value: object) -> None:
    raise PlanRefused(
        Reason.NOT_SUPPORTED_YET,
        field=f"ADL {field}",
        value=value,
        message=f"the operator {shown(operator)!r} asks for {what}, which is not supported yet",
    )


class PePlace(NamedTuple):
    """Where a PE may run."""

    host_pool: int | None
    host: str | None
    colocations: tuple[str, ...]
    exlocations: tuple[str, ...]
    isolation: bool
    in_pool_index: int | None
    isolated: tuple[str, ...]


def place_of(topology: Topology, operators: Iterable[int]) -> PePlace:
    """The constraints of a PE: those of its operators together."""
    pools: set[int] = set()
    hosts: set[str] = set()
    colocations: set[str] = set()
    exlocations: set[str] = set()
    places: set[tuple[int, int]] = set()
    isolated: list[str] = []
    for index in operators:
        own = topology.operators[index].constraints
        if own.pool is not None and topology.pools[own.pool].name != DEFAULT_POOL:
            pools.add(own.pool)
            if own.pool_slot is not None:
                places.add((own.pool, own.pool_slot))
        if own.host is not None:
            hosts.add(own.host)
        colocations.update(own.host_colocations)
        exlocations.update(own.host_exlocations)
        if own.host_isolation:
            isolated.append(topology.operators[index].name)
    host_pool = min(pools, default=None)
    return PePlace(
        host_pool=host_pool,
        host=min(hosts, default=None),
        colocations=tuple(sorted(colocations)),
        exlocations=tuple(sorted(exlocations)),
        isolation=bool(isolated),
        in_pool_index=min((slot for pool, slot in places if pool == host_pool), default=None),
        isolated=tuple(isolated),
    )
