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
from services.fusion_backend.core.identity import Identities
from services.fusion_backend.core.records import Direction, PortKey
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.topology import Fan, StreamExport, Topology

NO_PEER = 2**63
DIRECTIONS: tuple[Direction, ...] = ("in", "out")


def input_key(operator: int, port: int) -> PortKey:
    """The PE input port before an operator's input port."""
    return PortKey("in", operator, port, -1, -1)


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
        peers: dict[PortKey, int] = {}
        for operator in members[pe]:
            borders.add_entering(operator, pe, peers)
            borders.add_leaving(operator, pe, peers)
            for key in exporting.get(operator, ()):
                peers.setdefault(key, NO_PEER)
        ordered = sorted(peers, key=lambda key: (peers[key], key))
        for direction in DIRECTIONS:
            identities.number_ports(pe, (key for key in ordered if key.direction == direction))


class _Borders:
    """What of an operator crosses the border of its PE, and the smallest PE at the other end."""

    def __init__(self, topology: Topology, pe_of: Mapping[int, int]) -> None:
        self._topology = topology
        self._pe_of = pe_of
        self._sources: dict[Fan, list[int]] = {}

    def add_entering(self, operator: int, pe: int, peers: dict[PortKey, int]) -> None:
        """The input ports of an operator that something from another PE or an Import reaches."""
        for port in self._topology.operators[operator].item.inputs:
            place = (operator, port.index)
            inlet = self._topology.inlets.get(place)
            found = [NO_PEER] if place in self._topology.imports else []
            if inlet is not None:
                found += [self._pe_of[source] for source, _ in inlet.sources]
                for fan, _ in inlet.fans:
                    found += self._first_sources(fan)
            _note(peers, input_key(*place), pe, found)

    def add_leaving(self, operator: int, pe: int, peers: dict[PortKey, int]) -> None:
        """The ways that lead from the output ports of an operator to other PEs."""
        for port in self._topology.operators[operator].item.outputs:
            outlet = self._topology.outlets[operator, port.index]
            plain = PortKey("out", operator, port.index, -1, -1)
            _note(peers, plain, pe, [self._pe_of[target] for target, _ in outlet.targets])
            for fan, source in outlet.fans:
                for leg in fan.legs:
                    place = source.place(leg.position, leg.channel)
                    key = PortKey("out", operator, port.index, *place)
                    _note(peers, key, pe, [self._pe_of[target] for target, _ in leg.targets])

    def _first_sources(self, fan: Fan) -> list[int]:
        """The two smallest PEs that feed a fan: one of them is not the PE that asks."""
        found = self._sources.get(fan)
        if found is None:
            pes = {self._pe_of[source.operator] for source in fan.sources}
            found = self._sources[fan] = sorted(pes)[:2]
        return found


def _note(peers: dict[PortKey, int], key: PortKey, pe: int, found: list[int]) -> None:
    peer = min((each for each in found if each != pe), default=None)
    if peer is not None:
        peers[key] = min(peers.get(key, NO_PEER), peer)


def port_labels(identities: Identities, job_id: int) -> str:
    """`operator_port_labels.properties`: how a PE finds the PE port behind an operator's port."""
    entries = sorted(
        (key.operator, key.port, pe, number) for pe, key, number in identities.ports.entering()
    )
    return "".join(
        f"{job_id}.{operator}.{port}={pe}.{number}@{job_id}\n"
        for operator, port, pe, number in entries
    )
