"""Runs a whole application in one process: `App.run`.

There is a queue before each channel of a region and each async function, so that these overlap. The
run ends when all sources have ended and all nodes have finished.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from millrace.adapters.file_paths import check_files
from millrace.channels import Channel, within
from millrace.errors import MillraceError, OperatorFailed, ParameterError
from millrace.graph import WIDTH_MAX, Graph, Region
from millrace.parameters import Parameter
from millrace.runtime.clock import Clock, SystemClock
from millrace.runtime.engine import Engine, Fork
from millrace.runtime.executing import begun, execution_of, single_of
from millrace.runtime.exiting import guarded
from millrace.runtime.expanding import Expansion, Outlet, Place, Split
from millrace.runtime.hanging import TURN_S, Hanging, HeldUp
from millrace.runtime.nodes import Node
from millrace.runtime.queues import Queue
from millrace.runtime.source_nodes import SourceNode
from millrace.runtime.targets import Counts, Target
from millrace.runtime.weighing import Scale

LOG = logging.getLogger("millrace.runtime.local")


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run counted, by the names of instances, such as `Counted[2]`."""

    instances: Mapping[str, Counts] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        """The names of the operators, without channels."""
        return iter(dict.fromkeys(name.partition("[")[0] for name in self.instances))

    def __getitem__(self, operator: str) -> Counts:
        """The counts of an operator over all its channels. Raises KeyError."""
        found = [
            counts
            for name, counts in self.instances.items()
            if name == operator or name.startswith(f"{operator}[")
        ]
        if not found:
            raise KeyError(operator)
        return Counts(
            sum(each.taken for each in found),
            sum(each.given for each in found),
            sum(each.skipped for each in found),
        )


def run(
    graph: Graph,
    params: Mapping[str, Any],
    imports: Mapping[str, Iterable[Any]],
    seconds: float | None,
    clock: Clock | None,
) -> RunResult:
    """Run a graph until its sources end; see `App.run`. Raises MillraceError in an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run_async(graph, params, imports, seconds, clock))
    raise MillraceError(
        f"{graph.name}: an event loop runs here, as in a notebook and in an async function: "
        "write `await app.run_async()`"
    )


async def run_async(
    graph: Graph,
    params: Mapping[str, Any],
    imports: Mapping[str, Iterable[Any]],
    seconds: float | None,
    clock: Clock | None,
) -> RunResult:
    """As `run`, in the event loop of the caller."""
    values = resolved(graph, params)
    check_files(graph, values)
    unknown = imports.keys() - {each.name for each in graph.operators if each.role == "import"}
    if unknown:
        raise MillraceError(f"{graph.name} has no import {', '.join(sorted(unknown))}")
    with guarded():
        runner = _Runner(graph, values, imports, clock or SystemClock())
        try:
            await runner.run(seconds)
        except* MillraceError as group:
            first = _first(group)
            raise first from first.__cause__
    return RunResult({place.name: node.counts for place, node in runner.nodes.items()})


def _first(problem: BaseException) -> BaseException:
    """The first exception of a group, and of the groups in it."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def resolved(graph: Graph, params: Mapping[str, Any]) -> dict[str, Any]:
    """The submission-time values by name. Raises ParameterError."""
    known = {each.name: each for each in graph.parameters}
    if unknown := sorted(params.keys() - known.keys()):
        names = ", ".join(known) or "none"
        raise ParameterError(
            f"{graph.name} has no submission-time value {', '.join(unknown)}: it has {names}"
        )
    values: dict[str, Any] = {}
    for name, parameter in known.items():
        given = params.get(name, parameter.default)
        if given is None:
            raise ParameterError(f"submission-time value {name} is required and not given")
        values[name] = parameter.of(given)
    return values


class _Runner:
    """The nodes of one run."""

    def __init__(
        self,
        graph: Graph,
        values: Mapping[str, Any],
        imports: Mapping[str, Iterable[Any]],
        clock: Clock,
    ) -> None:
        widths = {each: _width(each, values) for each in graph.regions}
        self._values = values
        self._imports = imports
        self._clock = clock
        self._expansion = Expansion(graph, widths)
        outlets = self._expansion.outlets
        behind = {place for each in outlets.values() for place in _behind_splitters(each)}
        self.nodes = {
            place: self._node(place, behind=place in behind) for place in self._expansion.places
        }
        for place, node in self.nodes.items():
            node.inputs = self._expansion.inputs[place]
            node.targets = self._targets(outlets[place])

    def _node(self, place: Place, *, behind: bool) -> Node:
        operator = place.operator
        if operator.role not in ("source", "import"):
            own = self._channel(place)
            with within(own):
                execution = execution_of(operator, self._values, self._clock)
            queue = None
            if execution.is_async or behind:
                assert operator.takes is not None, "it has an input port"
                queue = Queue(scale=Scale(operator.takes))
            return Node(place.name, execution, queue=queue, channel=own)
        if operator.role == "import":
            tuples = list(self._imports.get(operator.name, ()))
            return SourceNode(place.name, operator, lambda: tuples)
        store = single_of(operator)
        channel = self._expansion.channel(place)
        return SourceNode(
            place.name, operator, partial(begun, operator, self._values, store, channel), store
        )

    def _channel(self, place: Place) -> Channel:
        return Channel(*self._expansion.channel(place), place.channels)

    def _targets(self, outlets: tuple[Outlet, ...]) -> list[Target]:
        return [
            self.nodes[outlet]
            if isinstance(outlet, Place)
            else Fork(outlet.splitter, [self._targets(each) for each in outlet.channels])
            for outlet in outlets
        ]

    async def run(self, seconds: float | None) -> None:
        engine = Engine(list(self.nodes.values()), self._clock)
        held_up = HeldUp()
        beside = [asyncio.create_task(_watch(engine, held_up))]
        if seconds is not None:
            beside.append(asyncio.create_task(_stop(engine, seconds)))
        try:
            with held_up:
                await self._run(engine)
        finally:
            for each in beside:
                each.cancel()

    async def _run(self, engine: Engine) -> None:
        """Run it. Where that fails or is cancelled, sinks keep what they took all the same."""
        try:
            await engine.run()
        except BaseException as problem:
            for place, node in self.nodes.items():
                await self._close(place, node, problem)
            raise

    async def _close(self, place: Place, node: Node, problem: BaseException) -> None:
        """Flush and close the function of a node; a failure is noted beside what ended the run.

        What was called and failed is not called again. A function that failed at a tuple is closed
        as others are: it holds what it took before.
        """
        if node.execution is None or node.held_back.failure is not None:
            return
        try:
            with within(self._channel(place)):
                await node.execution.let_go()
        except OperatorFailed as another:
            LOG.error("%s", another, exc_info=another)
            _first(problem).add_note(f"Then {another}")


async def _watch(engine: Engine, held_up: HeldUp) -> None:
    """Log which functions do not come to an end."""
    hanging = Hanging()
    while True:
        held_up.beat()
        hanging.look(engine.nodes, asyncio.get_running_loop().time())
        await asyncio.sleep(TURN_S)


async def _stop(engine: Engine, seconds: float) -> None:
    await asyncio.sleep(seconds)
    for source in engine.sources:
        source.stop()


def _width(region: Region, values: Mapping[str, Any]) -> int:
    if not isinstance(region.width, Parameter):
        return region.width
    width = values[region.width.name]
    if not 1 <= width <= WIDTH_MAX:
        raise ParameterError(
            f"submission-time value {region.width.name} is {width}, and a region has from 1 to "
            f"{WIDTH_MAX} channels"
        )
    return int(width)


def _behind_splitters(outlets: tuple[Outlet, ...], *, behind: bool = False) -> Iterable[Place]:
    for outlet in outlets:
        if isinstance(outlet, Split):
            for channel in outlet.channels:
                yield from _behind_splitters(channel, behind=True)
        elif behind:
            yield outlet
