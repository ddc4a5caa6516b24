"""What a PE asks of the place where it runs, and what this release cannot give yet.

`refuse_unsupported` is the one check to lift when placement under host constraints arrives; the
rest of the planner carries those constraints already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contracts.reasons import Reason
from services.fusion_backend.core.refusals import PlanRefused, shown
from services.fusion_backend.core.topology import Topology

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


@dataclass(frozen=True, slots=True)
class PePlace:
    """Where a PE may run."""

    host_pool: int | None
    host: str | None
    colocations: tuple[str, ...]
    exlocations: tuple[str, ...]
    isolation: bool


def place_of(topology: Topology, operators: Iterable[int]) -> PePlace:
    """The constraints of a PE: those of its operators together."""
    chosen = [topology.operators[index].constraints for index in operators]
    pools = {own.pool for own in chosen if own.pool is not None}
    named = [index for index in sorted(pools) if topology.pools[index].name != DEFAULT_POOL]
    hosts = sorted({own.host for own in chosen if own.host is not None})
    return PePlace(
        host_pool=named[0] if named else None,
        host=hosts[0] if hosts else None,
        colocations=tuple(sorted({item for own in chosen for item in own.host_colocations})),
        exlocations=tuple(sorted({item for own in chosen for item in own.host_exlocations})),
        isolation=any(own.host_isolation for own in chosen),
    )
