"""Names and channels of a vertex: its way to the main composite through parallel regions."""

from __future__ import annotations

from typing import NamedTuple

from planner.application import model
from planner.graph.expansion import Vertex
from planner.graph.intrinsics import Membership, membership


class VertexPath(NamedTuple):
    """Logical and physical path of a vertex, its channels and composites, innermost first.

    In the physical path a segment that introduces a region gets its global channel.
    """

    logical: str
    physical: str
    levels: tuple[Membership, ...]
    enclosing: tuple[model.Composite, ...]


_MAIN = VertexPath("", "", (), ())
_Logical = tuple[str, tuple[model.Composite, ...]]
"""Logical path and composites."""


class Naming:
    """The places of one graph; those of composites are kept, since everything inside needs them."""

    def __init__(self) -> None:
        """Nothing computed yet."""
        self._composites: dict[Vertex, VertexPath] = {}
        self._logical: dict[tuple[int, str], _Logical] = {}

    def place_of(self, vertex: Vertex) -> VertexPath:
        """Where a vertex is."""
        if vertex.parent is None:
            return _MAIN
        if vertex.kind != "composite":
            return self._found(vertex, vertex.parent)
        place = self._composites.get(vertex)
        if place is None:
            place = self._composites[vertex] = self._found(vertex, vertex.parent)
        return place

    def stream_name(self, vertex: Vertex, stream: str) -> str:
        """Path of the composite that owns the stream, own name, local channels not in the path."""
        inner: list[int] = []
        current: Vertex | None = vertex
        while current is not None:
            if current.region is not None:
                inner.append(current.channel)
            current = current.parent
            if current is None or current.parent is None:
                break
            place = self.place_of(current)
            if stream.startswith(f"{place.logical}."):
                own = stream[len(place.logical) + 1 :]
                return f"{place.physical}.{own}" + "".join(f"[{c}]" for c in reversed(inner))
        return stream + "".join(f"[{channel}]" for channel in reversed(inner))

    def _found(self, vertex: Vertex, parent: Vertex) -> VertexPath:
        around = self.place_of(parent)
        own = physical = vertex.own_name()
        levels = around.levels
        if vertex.region is not None:
            level = membership(vertex.region.index, vertex.channel, vertex.width, levels)
            levels = (level, *levels)
            physical = f"{own}[{level.channel}]"
        logical, enclosing = self._logical_of(own, parent, around)
        return VertexPath(
            logical=logical,
            physical=f"{around.physical}.{physical}" if around.physical else physical,
            levels=levels,
            enclosing=enclosing,
        )

    def _logical_of(self, own: str, parent: Vertex, around: VertexPath) -> _Logical:
        """What all replicas have in common, once."""
        assert isinstance(parent.item, model.Composite)
        key = id(parent.item), own  # an index may stand in an ADL twice
        found = self._logical.get(key)
        if found is None:
            path = f"{around.logical}.{own}" if around.logical else own
            found = self._logical[key] = path, (parent.item, *around.enclosing)
        return found
