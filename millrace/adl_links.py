"""Indices and connections of an ADL: every connection is written at both of its ends.

1. Primitive operators have the indices 0…p-1, then come composites (the main one first), then
   imports and exports: the planner counts on this order.
2. A consumer reads a producer of its own composite directly. From an inner composite a stream comes
   through an output port at each level; into one it goes through the input port of the entry.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from millrace.graph import Entry, Graph, Operator, Region


class End(NamedTuple):
    """One end of a connection: a port of the operator of that index; `side` is input or output."""

    name: str
    operator: int
    side: str
    port: int


Scope = Region | None
"""A composite: that of a region, or the main one."""


class Links:
    """The indices of a graph's operators and composites, and the connections of each port."""

    def __init__(self, graph: Graph) -> None:
        """All connections of a graph."""
        self._graph = graph
        self.scopes: list[Scope] = [None, *(r for r in graph.regions if graph.is_composite(r))]
        ordered = [each for each in graph.operators if each.role not in ("import", "export")]
        pseudo = [each for each in graph.operators if each.role in ("import", "export")]
        self.operators = {each: index for index, each in enumerate(ordered)}
        first = len(ordered)
        self.composites = {each: first + index for index, each in enumerate(self.scopes)}
        first += len(self.scopes)
        self.operators |= {each: first + index for index, each in enumerate(pseudo)}
        self.inputs: dict[Operator, list[End]] = defaultdict(list)
        self.outputs: dict[Operator, list[End]] = defaultdict(list)
        self.into: dict[Region, tuple[list[End], list[End]]] = {}
        self.out_of: dict[Region, dict[Operator, tuple[list[End], list[End]]]] = defaultdict(dict)
        for region in graph.regions:
            if region.entry is not None and graph.is_composite(region):
                self._enter(region, region.entry)
        for operator in graph.operators:
            self._read(operator)

    def scope(self, region: Region | None) -> Scope:
        """The composite that a region's operators are in."""
        while region is not None and not self._graph.is_composite(region):
            region = region.parent
        return region

    def _read(self, operator: Operator) -> None:
        end = End(self._graph.path(operator), self.operators[operator], "input", 0)
        for source in operator.sources:
            self._connect(source, self.scope(operator.region), end, self.inputs[operator])

    def _enter(self, region: Region, entry: Entry) -> None:
        incoming: list[End] = []
        self.into[region] = (incoming, [])
        end = End(self._graph.path(region), self.composites[region], "input", 0)
        for source in entry.sources:
            self._connect(source, self.scope(region.parent), end, incoming)

    def _connect(
        self, source: Operator | Entry, scope: Scope, end: End, incoming: list[End]
    ) -> None:
        if isinstance(source, Operator):
            begin, outgoing = self._outlet(source, scope)
        elif self._graph.is_composite(source.region):
            region = source.region
            begin = End(self._graph.path(region), self.composites[region], "input", 0)
            if region not in self.into:
                self._enter(region, source)
            outgoing = self.into[region][1]
        else:  # the region is its one operator, which reads what the entry reads
            for each in source.sources:
                self._connect(each, scope, end, incoming)
            return
        incoming.append(begin)
        outgoing.append(end)

    def _outlet(self, operator: Operator, scope: Scope) -> tuple[End, list[End]]:
        """Where the stream of an operator is read inside of a composite around it."""
        begin = End(self._graph.path(operator), self.operators[operator], "output", 0)
        outgoing = self.outputs[operator]
        inner = self.scope(operator.region)
        while inner is not None and inner is not scope:
            ports = self.out_of[inner]
            if is_new := operator not in ports:
                ports[operator] = ([begin], [])
            port = list(ports).index(operator)
            end = End(self._graph.path(inner), self.composites[inner], "output", port)
            if is_new:
                outgoing.append(end)
            begin, outgoing = end, ports[operator][1]
            inner = self.scope(inner.parent)
        return begin, outgoing
