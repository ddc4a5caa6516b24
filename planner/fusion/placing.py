"""How host constraints are read: which hosts are the same, and what a PE asks of its place.

A host is a node, but for co-location, ex-location and isolation where `spec.placement.topologyKey`
of the Job makes it a zone or a rack: operators with one hostColocation are in one zone then, maybe
on nodes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, NamedTuple

from contracts.labels import HOSTNAME
from planner.graph.topology import Operator, Topology

DEFAULT_POOL = "$default"


@dataclass(frozen=True, slots=True)
class HostRules:
    """How a job puts host constraints into force; `is_original`: as the original did.

    `topology_key`: the node label whose values are the hosts of hostColocation, hostExlocation and
    hostIsolation. `required`: whether these three must hold.
    """

    topology_key: str = HOSTNAME
    required: bool = True
    is_original: bool = False

    def named(self, host: str) -> str:
        """A host as it is compared: an address may be written in several ways."""
        return host if self.is_original else one_form(host)


USUAL: Final = HostRules()
ORIGINAL: Final = HostRules(is_original=True)


def one_form(host: str) -> str:
    """A host name, or the one form of an address."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host


def is_address(host: str) -> bool:
    """Whether a host is named by an IPv4 or IPv6 address."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def on_one_node(operator: Operator, in_force: HostRules) -> list[object]:
    """What puts operators on one node: the same host, and the same place of a host pool."""
    own = operator.constraints
    found: list[object] = []
    if own.host is not None:
        found.append(("same host", in_force.named(own.host)))
    if own.pool is not None and own.pool_slot is not None:
        found.append(("same slot", own.pool, own.pool_slot))
    return found


def on_one_host(operator: Operator, in_force: HostRules) -> list[object]:
    """What puts operators on one host: ids of co-location, and what puts them on one node."""
    declared = operator.constraints.host_colocations if in_force.required else ()
    return [*declared, *on_one_node(operator, in_force)]


class PeHost(NamedTuple):
    """Where a PE may run."""

    host_pool: int | None
    host: str | None
    colocations: tuple[str, ...]
    exlocations: tuple[str, ...]
    isolation: bool
    in_pool_index: int | None
    isolated: tuple[str, ...]


def place_of(topology: Topology, operators: Iterable[int]) -> PeHost:
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
    return PeHost(
        host_pool=host_pool,
        host=min(hosts, default=None),
        colocations=tuple(sorted(colocations)),
        exlocations=tuple(sorted(exlocations)),
        isolation=bool(isolated),
        in_pool_index=min((slot for pool, slot in places if pool == host_pool), default=None),
        isolated=tuple(isolated),
    )
