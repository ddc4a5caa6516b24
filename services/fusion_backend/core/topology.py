"""The topology: physical operators, the connections between them, imports and exports.

Only the values are here: flattening.py makes them from the expanded graph, and everything after
(fusing, ports, describing) reads them. Numbers of operators, splitters and pools are for life.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from services.fusion_backend.core import model
from services.fusion_backend.core.intrinsics import Membership
from services.fusion_backend.core.records import OperatorKey, PoolRecord


@dataclass(slots=True)
class Operator:
    """A physical operator. `stream_names` are physical names, by position of the output port."""

    index: int
    key: OperatorKey
    item: model.Primitive
    name: str
    logical_name: str
    prefix: str
    levels: tuple[Membership, ...]
    constraints: model.Constraints
    enclosing: tuple[model.Composite, ...]
    stream_names: tuple[str, ...]


@dataclass(slots=True)
class Edge:
    """One connection between operators; `splitter` and `channel` are -1 outside of a splitter."""

    source: int
    output: int
    target: int
    input: int
    splitter: int
    channel: int


@dataclass(slots=True)
class Channel:
    """What one channel of a splitter feeds."""

    edges: list[Edge] = field(default_factory=list)
    splitters: list[Splitter] = field(default_factory=list)


@dataclass(slots=True)
class Splitter:
    """A distributing splitter behind an output port."""

    id: int
    spec: model.SplitterSpec
    region: int
    drop_window_punctuation: bool
    channels: list[Channel]


@dataclass(slots=True)
class Outlet:
    """An output port of an operator with all that it feeds."""

    plain: list[Edge] = field(default_factory=list)
    splitters: list[Splitter] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StreamImport:
    """An Import that reaches an input port; texts are substituted."""

    operator: str
    item: model.Import
    application: str
    stream: str
    subscription: str


@dataclass(frozen=True, slots=True)
class StreamExport:
    """An Export behind an output port; texts are substituted."""

    operator: str
    stream: str | None
    allow_filter: bool
    congestion_policy: str
    properties: tuple[model.ExportProperty, ...] | None


@dataclass(slots=True)
class Topology:
    """The whole application, physically. Operators by index, ascending."""

    operators: dict[int, Operator]
    edges: list[Edge]
    outlets: dict[tuple[int, int], Outlet]
    imports: dict[tuple[int, int], list[StreamImport]]
    exports: dict[tuple[int, int, int, int], list[StreamExport]]
    pools: dict[int, PoolRecord]
