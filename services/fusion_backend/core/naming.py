"""Names and channels of a vertex: its way to the main composite through parallel regions."""

from __future__ import annotations

from collections.abc import Iterator

from services.fusion_backend.core.expansion import Vertex
from services.fusion_backend.core.intrinsics import Membership, memberships


def chain(vertex: Vertex) -> Iterator[Vertex]:
    """The vertex and its enclosing composites, innermost first, without main."""
    current: Vertex | None = vertex
    while current is not None and current.parent is not None:
        yield current
        current = current.parent


def levels_of(vertex: Vertex) -> tuple[Membership, ...]:
    """Channels in the enclosing regions, innermost first."""
    return memberships(
        (item.region.index, item.channel, item.width)
        for item in chain(vertex)
        if item.region is not None
    )


def names_of(vertex: Vertex) -> tuple[str, str]:
    """Logical and physical path: a segment that introduces a region gets its global channel."""
    levels = iter(levels_of(vertex))
    logical: list[str] = []
    physical: list[str] = []
    for item in chain(vertex):
        own = item.own_name()
        logical.append(own)
        physical.append(own if item.region is None else f"{own}[{next(levels).channel}]")
    return ".".join(reversed(logical)), ".".join(reversed(physical))


def stream_name(vertex: Vertex, stream: str) -> str:
    """Path of the composite that owns the stream, own name, local channels not yet in the path."""
    inner: list[int] = []
    current: Vertex | None = vertex
    while current is not None:
        if current.region is not None:
            inner.append(current.channel)
        current = current.parent
        if current is None or current.parent is None:
            break
        logical, physical = names_of(current)
        if stream.startswith(f"{logical}."):
            own = stream[len(logical) + 1 :]
            return f"{physical}.{own}" + "".join(f"[{c}]" for c in reversed(inner))
    return stream + "".join(f"[{channel}]" for channel in reversed(inner))
