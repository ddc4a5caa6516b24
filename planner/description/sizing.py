"""Refuses PEs before they are made, by the least size that their AADL can have.

Describing and rendering a PE of ten thousand operators takes seconds and ends in a refusal; how
many operators, ports and connections it has is known before. The bytes of an element are those of
its fixed text, rounded down, so that a PE which fits is never refused here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil

from contracts.labels import pe_name
from contracts.reasons import Reason
from planner.graph.topology import Topology
from planner.numbering.identity import Identities
from planner.refusals import PlanRefused, counted, shown

ROOT_BYTES_MIN = 1000
OPERATOR_BYTES_MIN = 450
"""Without its two names."""
CONNECTION_BYTES_MIN = 50
"""At each of its ends."""
PE_PORT_BYTES_MIN = 200


class Sizes:
    """How large the PEs of one plan are, as far as known before they are described."""

    def __init__(
        self,
        topology: Topology,
        pe_of: Mapping[int, int],
        identities: Identities,
        widths: str,
        divisible: frozenset[int],
    ) -> None:
        """One pass over operators, ports and connections; `widths` has the sources of the widths.

        `divisible`: PEs whose operators may be in several. Of one operator, or of operators that
        constraints join, no scheme of fusion makes less.
        """
        self.divisible = divisible
        self._topology = topology
        self._widths = widths
        self._operators = Counter(pe_of.values())
        self._pe_of = pe_of
        self._bytes_min = {
            pe: ROOT_BYTES_MIN + PE_PORT_BYTES_MIN * identities.ports.count_of(pe)
            for pe in self._operators
        }
        for index, operator in topology.operators.items():
            names = len(operator.name) + len(operator.logical_name)
            self._bytes_min[pe_of[index]] += OPERATOR_BYTES_MIN + names
        for ends in (topology.outlets, topology.inlets):
            for (operator_index, _), end in ends.items():
                self._bytes_min[pe_of[operator_index]] += (
                    CONNECTION_BYTES_MIN * end.connections_count
                )

    def bytes_min(self, pe: int) -> int:
        """The least that the AADL of a PE has."""
        return self._bytes_min[pe]

    def parts_needed(self, bytes_max: int, factor: float = 1.0) -> dict[int, int]:
        """The PEs that cannot fit, whatever they say, and in how many parts they might.

        `factor`: how much more a PE turned out to have than its least.
        """
        return {
            pe: 1 + ceil(self._bytes_min[pe] * factor / bytes_max)
            for pe in sorted(self._operators)
            if self._bytes_min[pe] * factor > bytes_max
        }

    def too_large(self, job: str, pe: int, size: str, bytes_max: int) -> PlanRefused:
        """The refusal of a PE whose AADL has `size` bytes."""
        connection = self._widest_connection(pe)
        return PlanRefused(
            Reason.PE_TOO_LARGE,
            field=f"PE {pe}",
            value=size,
            message=(
                f"the AADL of PE {pe_name(job, pe)} has {size} bytes; at most {bytes_max} are "
                f"allowed; it holds {counted(self._operators[pe], 'operator')}, {connection}: "
                f"{self._advice(pe)}"
            ),
        )

    def _advice(self, pe: int) -> str:
        regions = f" ({self._widths})" if self._widths else ""
        narrower = f"make the parallel regions narrower{regions}"
        if pe in self.divisible:
            return f"ask for more PEs or for automatic fusion, which divides it, or {narrower}"
        if self._operators[pe] > 1:
            return (
                f"constraints keep these operators in one PE, so more PEs do not help: {narrower}, "
                "or join fewer operators by co-location"
            )
        return (
            f"one operator cannot be in several PEs, so more of them do not help: {narrower}, or "
            "let several operators share the connection (one in front of each part of the channels)"
        )

    def _widest_connection(self, pe: int) -> str:
        """The port of the PE with the most connections, for people."""
        ends = [
            (end.connections_count, side, operator, port)
            for side, all_ends in (
                ("output", self._topology.outlets),
                ("input", self._topology.inlets),
            )
            for (operator, port), end in all_ends.items()
            if self._pe_of[operator] == pe and end.connections_count
        ]
        if not ends:
            return "it has no connection"
        count, side, operator, port = max(ends, key=lambda end: (end[0], end[1], -end[2], -end[3]))
        name = shown(self._topology.operators[operator].name)
        connections = counted(count, "connection")
        return f"the widest connection is that of {name} with {connections} at {side} port {port}"
