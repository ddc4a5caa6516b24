"""PE ports: what crosses the border of a PE, and its number.

* An input port for each operator input port that something from another PE or an Import reaches.
* An output port for each (operator output port, splitter, channel) that leaves the PE or is
  exported; without a splitter both are -1. A further Export of the same stream gets a port of its
  own, numbered in `channel`.

A fresh plan numbers the ports of a PE by the smallest PE id at the other end; ports that only
import or export come last; ties go by operator, port, splitter and channel. A resize keeps numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from contracts.reasons import Reason
from planner.graph.topology import Fan, Port, StreamExport, Topology
from planner.numbering.identity import Identities
from planner.numbering.records import PortKey
from planner.refusals import PlanRefused

NO_PEER = 2**63
NOBODY = NO_PEER + 1
"""Above every peer: nothing from outside of the PE is there."""


def exports_by_port(topology: Topology) -> dict[PortKey, StreamExport]:
    """The PE output ports that export, and what. Raises PlanRefused."""
    found: dict[PortKey, StreamExport] = {}
    for (operator, port, splitter, channel), exports in topology.exports.items():
        if splitter != -1 and len(exports) > 1:
            raise PlanRefused(
                Reason.NOT_SUPPORTED_YET,
                field="ADL export operator",
                value=exports[1].operator,
                message=(
                    f"the export operators {exports[0].operator} and {exports[1].operator} share a "
                    "channel of a parallel region, which is not supported yet"
                ),
            )
        found[PortKey("out", operator, port, splitter, channel)] = exports[0]
        for ordinal, export in enumerate(exports[1:], start=1):
            found[PortKey("out", operator, port, -1, ordinal)] = export
    return found


def number_ports(
    topology: Topology,
    pe_of: Mapping[int, int],
    exported: Mapping[PortKey, StreamExport],
    identities: Identities,
) -> None:
    """Gives every PE port its number in `identities.ports`, one PE after the other."""
    members: dict[int, list[int]] = {}
    for operator, pe in pe_of.items():
        members.setdefault(pe, []).append(operator)
    exporting: dict[int, list[PortKey]] = {}
    for key in exported:
        exporting.setdefault(key.operator, []).append(key)
    borders = _Borders(topology, pe_of)
    for pe in sorted(members):
        entering: dict[PortKey, int] = {}
        leaving: dict[PortKey, int] = {}
        for operator in members[pe]:
            borders.add_entering(operator, pe, entering)
            borders.add_leaving(operator, pe, leaving)
            for key in exporting.get(operator, ()):
                leaving.setdefault(key, NO_PEER)
        identities.number_ports(pe, "in", _by_peer(entering))
        identities.number_ports(pe, "out", _by_peer(leaving))


def _by_peer(peers: Mapping[PortKey, int]) -> list[PortKey]:
    if len(peers) < 2:
        return list(peers)
    return [key for _, key in sorted(zip(peers.values(), peers, strict=True))]


class _Borders:
    """What of an operator crosses the border of its PE, and the smallest PE at the other end."""

    def __init__(self, topology: Topology, pe_of: Mapping[int, int]) -> None:
        self._topology = topology
        self._pe_of = pe_of
        self._sources: dict[Fan, list[int]] = {}

    def add_entering(self, operator: int, pe: int, peers: dict[PortKey, int]) -> None:
        """The input ports of an operator that something from another PE or an Import reaches."""
        topology = self._topology
        for port in topology.operators[operator].item.inputs:
            place = (operator, port.index)
            peer = NO_PEER if place in topology.imports else NOBODY
            inlet = topology.inlets.get(place)
            if inlet is not None:
                peer = min(peer, self._smallest(inlet.sources, pe))
                for fan, _ in inlet.fans:
                    peer = min([peer, *(each for each in self._first_sources(fan) if each != pe)])
            if peer != NOBODY:
                peers[PortKey("in", operator, port.index, -1, -1)] = peer

    def add_leaving(self, operator: int, pe: int, peers: dict[PortKey, int]) -> None:
        """The ways that lead from the output ports of an operator to other PEs."""
        for port in self._topology.operators[operator].item.outputs:
            outlet = self._topology.outlets[operator, port.index]
            plain = self._smallest(outlet.targets, pe)
            for fan, source in outlet.fans:
                for leg in fan.legs:
                    peer = self._smallest(leg.targets, pe)
                    if leg.position < 0:
                        plain = min(plain, peer)
                    elif peer != NOBODY:
                        place = source.ids[leg.position], leg.channel
                        peers[PortKey("out", operator, port.index, *place)] = peer
            if plain != NOBODY:
                peers[PortKey("out", operator, port.index, -1, -1)] = plain

    def _smallest(self, ends: list[Port], pe: int) -> int:
        """The smallest PE of the operators at these ends, but for this one."""
        smallest = NOBODY
        for operator, _ in ends:
            other = self._pe_of[operator]
            if other < smallest and other != pe:
                smallest = other
        return smallest

    def _first_sources(self, fan: Fan) -> list[int]:
        """The two smallest PEs that feed a fan: one of them is not the PE that asks."""
        found = self._sources.get(fan)
        if found is None:
            pes = {self._pe_of[source.operator] for source in fan.sources}
            found = self._sources[fan] = sorted(pes)[:2]
        return found


def port_labels(identities: Identities, job_id: int) -> str:
    """`operator_port_labels.properties`: how a PE finds the PE port behind an operator's port."""
    return "".join(
        f"{job_id}.{operator}.{port}={pe}.{number}@{job_id}\n"
        for operator, port, pe, number in sorted(identities.ports.entering())
    )
