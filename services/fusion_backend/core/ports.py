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
from services.fusion_backend.core.records import PortKey
from services.fusion_backend.core.refusals import PlanRefused
from services.fusion_backend.core.topology import Edge, StreamExport, Topology

NO_PEER = 2**63


def input_key(operator: int, port: int) -> PortKey:
    """The PE input port before an operator's input port."""
    return PortKey("in", operator, port, -1, -1)


def output_key(edge: Edge) -> PortKey:
    """The PE output port that an edge leaves its PE by."""
    return PortKey("out", edge.source, edge.output, edge.splitter, edge.channel)


def exports_by_port(topology: Topology) -> dict[PortKey, StreamExport]:
    """The PE output ports that export, and what."""
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
    """Gives every PE port its number in `identities.ports`."""
    peers: dict[PortKey, int] = {}
    for edge in topology.edges:
        source, target = pe_of[edge.source], pe_of[edge.target]
        if source == target:
            continue
        leaving, entering = output_key(edge), input_key(edge.target, edge.input)
        peers[leaving] = min(peers.get(leaving, NO_PEER), target)
        peers[entering] = min(peers.get(entering, NO_PEER), source)
    for operator, port in topology.imports:
        peers.setdefault(input_key(operator, port), NO_PEER)
    for key in exported:
        peers.setdefault(key, NO_PEER)
    by_pe: dict[tuple[int, str], list[PortKey]] = {}
    for key in sorted(peers, key=lambda key: (peers[key], key)):
        by_pe.setdefault((pe_of[key.operator], key.direction), []).append(key)
    for (pe, _), keys in sorted(by_pe.items()):
        identities.number_ports(pe, keys)


def port_labels(topology: Topology, identities: Identities, job_id: int) -> str:
    """`operator_port_labels.properties`: how a PE finds the PE port behind an operator's port."""
    entries = sorted(
        (key.operator, key.port, pe, number)
        for (pe, key), number in identities.ports.items()
        if key.direction == "in"
    )
    return "".join(
        f"{job_id}.{operator}.{port}={pe}.{number}@{job_id}\n"
        for operator, port, pe, number in entries
    )
