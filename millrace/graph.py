"""The graph of an application: operators, parallel regions, and where each operator is in them.

Nothing runs here. `App` and `Stream` build it, `adl.py` writes it, `runtime/` executes it. An
operator reads only what was made before it, so that a graph has no cycles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from millrace.errors import GraphError
from millrace.parameters import Parameter, constant_text
from millrace.placement import Placement
from millrace.state import State
from millrace.tuple_types import TupleType
from millrace.windows import Window

OnError = Literal["fail", "skip"]
SplitterKind = Literal["RoundRobin", "Hash", "Broadcast"]
Role = Literal["source", "step", "sink", "import", "export"]
WIDTH_MAX: Final = 1024


@dataclass(eq=False, slots=True)
class Region:
    """A parallel region: its operators are replicated, one replica for each channel.

    `label` is the name that the author gave. `entry` is where tuples come in; a region that begins
    with a source has none.
    """

    width: int | Parameter[int]
    kind: SplitterKind
    key: tuple[str, ...]
    parent: Region | None
    label: str | None
    entry: Entry | None = None

    @property
    def around(self) -> tuple[Region, ...]:
        """The regions around this one and itself, outermost first."""
        return (*(self.parent.around if self.parent else ()), self)


@dataclass(eq=False, slots=True)
class Entry:
    """Where a stream enters a region and is split to its channels.

    `access`: how the key of its tuples is read.
    """

    region: Region
    sources: tuple[Operator | Entry, ...]
    access: Literal["attribute", "item"]


@dataclass(eq=False, slots=True)
class Operator:
    """One operator. `sources` are what its input port reads; `options` of imports and exports.

    `key`: the attributes by which its state or windows are keyed.
    """

    name: str
    kind: str
    role: Role
    sources: tuple[Operator | Entry, ...]
    region: Region | None
    takes: TupleType | None
    gives: TupleType | None
    function: Callable[..., Any] | None = None
    fn_kwargs: Mapping[str, Any] = field(default_factory=dict)
    on_error: OnError = "fail"
    is_async: bool = False
    state: State[Any] | None = None
    key: tuple[str, ...] = ()
    window: Window | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    placement: Placement = field(default_factory=Placement)

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions around the operator, outermost first."""
        return self.region.around if self.region else ()

    @property
    def has_state(self) -> bool:
        """The operator remembers something between two tuples."""
        return self.state is not None or self.window is not None

    @property
    def follows_width(self) -> bool:
        """Its state can follow a changed width of the regions around it.

        Outside of regions there is nothing to follow. Inside, each region has to be split by
        attributes of the operator's key, so that one channel has all tuples of a key.
        """
        if not self.has_state:
            return True
        return all(
            region.kind == "Hash" and self.key and set(region.key) <= set(self.key)
            for region in self.regions
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """A complete and checked graph. `operators` come in the order in which they were made."""

    name: str
    operators: tuple[Operator, ...]
    regions: tuple[Region, ...]
    parameters: tuple[Parameter[Any], ...]
    names: Mapping[Region, str]

    @property
    def running(self) -> tuple[Operator, ...]:
        """The operators that run in a PE: all but imports and exports."""
        return tuple(each for each in self.operators if each.role not in ("import", "export"))

    def members(self, region: Region | None) -> list[Operator]:
        """The operators directly in a region, or outside of all regions."""
        return [each for each in self.operators if each.region is region]

    def inner(self, region: Region | None) -> list[Region]:
        """The regions directly in a region, or outside of all others."""
        return [each for each in self.regions if each.parent is region]

    def is_composite(self, region: Region) -> bool:
        """The region is a composite: it has a name of its own, or more than one operator."""
        count = len(self.members(region)) + len(self.inner(region))
        return region.label is not None or count > 1 or bool(self.inner(region))

    def path(self, item: Operator | Region) -> str:
        """The logical name: composites around an operator or region, and its own name."""
        around = item.regions if isinstance(item, Operator) else item.around
        inside = [self.names[each] for each in around if self.is_composite(each)]
        if isinstance(item, Operator):
            return ".".join((*inside, item.name))
        if self.is_composite(item):
            return ".".join(inside)
        return self.path(self.members(item)[0])

    def operator(self, path: str) -> Operator:
        """The operator of a logical name. Raises GraphError."""
        for each in self.operators:
            if self.path(each) == path:
                return each
        known = ", ".join(map(self.path, self.operators))
        raise GraphError(f"{self.name} has no operator {path}: it has {known}")

    @property
    def digest(self) -> str:
        """SHA-256 of all that the graph says beside the code of its functions."""
        facts = {
            "name": self.name,
            "operators": [self._facts_of(each) for each in self.operators],
            "regions": [
                [self.path(each), each.kind, each.key, _constant(each.width)]
                for each in self.regions
            ],
            "parameters": [
                [each.name, each.type.__name__, each.default] for each in self.parameters
            ],
        }
        return hashlib.sha256(constant_text(facts).encode()).hexdigest()

    def _facts_of(self, operator: Operator) -> list[Any]:
        window = operator.window
        state = operator.state
        return [
            self.path(operator),
            operator.kind,
            [self._source(each) for each in operator.sources],
            *([[a.name, a.type.spl] for a in t.attributes] if t else None for t in types(operator)),
            {name: _constant(value) for name, value in operator.fn_kwargs.items()},
            operator.on_error,
            None if state is None else [state.type.__name__, state.at_resize],
            operator.key,
            None if window is None else [window.by, window.size, window.every],
            {name: _constant(value) for name, value in operator.options.items()},
        ]

    def _source(self, source: Operator | Entry) -> Any:
        if isinstance(source, Operator):
            return self.path(source)
        return [self.path(source.region), [self._source(each) for each in source.sources]]


def types(operator: Operator) -> tuple[TupleType | None, TupleType | None]:
    """The types of what an operator takes and gives."""
    return operator.takes, operator.gives


def _constant(value: Any) -> Any:
    return {"parameter": value.name} if isinstance(value, Parameter) else value


def complete(
    name: str,
    operators: list[Operator],
    regions: list[Region],
    parameters: list[Parameter[Any]],
) -> Graph:
    """The graph of what an author wrote. Raises GraphError if it cannot run."""
    if not any(each.role in ("source", "step", "sink") for each in operators):
        raise GraphError(
            f"application {name} has no operators that run: begin with app.source; "
            "in a notebook, run the cells behind App(…) again"
        )
    for region in regions:
        _check_region(region, operators, regions)
    names = dict(_region_names(operators, regions))
    return Graph(name, tuple(operators), tuple(regions), tuple(parameters), names)


def _check_region(region: Region, operators: list[Operator], regions: list[Region]) -> None:
    inside = [each for each in operators if region in each.regions]
    who = f"parallel region {region.label}" if region.label else "a parallel region"
    if not [each for each in inside if each.role not in ("import", "export")]:
        after = f" after {_origin(region.entry)}" if region.entry else ""
        raise GraphError(f"{who}{after} has no operator: add one between parallel and end_parallel")
    read = {source for each in operators for source in each.sources}
    read |= {source for each in regions if each.entry for source in each.entry.sources}
    for operator in inside:
        if operator.gives is not None and operator not in read:
            raise GraphError(
                f"{who} is not ended: nothing reads the stream {operator.name}; end the region "
                "with end_parallel() before the next operator, or add a sink inside"
            )


def _origin(entry: Entry) -> str:
    source = entry.sources[0]
    return source.name if isinstance(source, Operator) else _origin(source)


def _region_names(operators: list[Operator], regions: list[Region]) -> Iterator[tuple[Region, str]]:
    taken = {each.name for each in operators} | {each.label for each in regions}
    number = 0
    for region in regions:
        name = region.label
        while name is None:
            number += 1
            candidate = f"Region{number}"
            name = None if candidate in taken else candidate
        yield region, name
