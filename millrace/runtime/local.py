"""Runs a whole application in one process: `App.run`.

1. Each instance of an operator becomes a node. A batch goes from node to node by plain calls, until
   a queue: in front of each channel of a region, and of each async function, so that these overlap.
2. Queues are bounded: a slow node makes those before it wait, up to the sources.
3. A source that ends sends a final mark. A node that has those of all its inputs finishes: windows
   give what they have, and the mark goes on. The run ends when all nodes have finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from millrace.channels import begin_channel
from millrace.errors import MillraceError, OperatorFailed, ParameterError
from millrace.graph import WIDTH_MAX, Graph, Region
from millrace.parameters import Parameter
from millrace.runtime.clock import Clock, SystemClock
from millrace.runtime.executing import execution_of
from millrace.runtime.expanding import Expansion, Outlet, Place, Split
from millrace.runtime.feeding import batches
from millrace.runtime.operators import Batch, Execution, bound
from millrace.runtime.stores import Single

QUEUE_BATCHES: Final = 8


@dataclass(slots=True)
class Counts:
    """How many tuples an instance took, gave and skipped."""

    taken: int = 0
    given: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run counted, by the names of instances, such as `Counted[2]`."""

    instances: Mapping[str, Counts] = field(default_factory=dict)

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
    """Run a graph until its sources end; see `App.run`."""
    return asyncio.run(run_async(graph, params, imports, seconds, clock))


async def run_async(
    graph: Graph,
    params: Mapping[str, Any],
    imports: Mapping[str, Iterable[Any]],
    seconds: float | None,
    clock: Clock | None,
) -> RunResult:
    """As `run`, in the event loop of the caller."""
    values = resolved(graph, params)
    unknown = imports.keys() - {each.name for each in graph.operators if each.role == "import"}
    if unknown:
        raise MillraceError(f"{graph.name} has no import {', '.join(sorted(unknown))}")
    runner = _Runner(graph, values, imports, clock or SystemClock())
    try:
        await runner.run(seconds)
    except* MillraceError as group:
        raise _first(group) from _first(group).__cause__
    return RunResult({place.name: node.counts for place, node in runner.nodes.items()})


def _first(group: BaseExceptionGroup[MillraceError]) -> MillraceError:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, MillraceError)
    return found


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
        values[name] = parameter.parsed(str(given))
    return values


class _Node:
    """One instance: takes batches, passes on what comes out, and finishes."""

    def __init__(self, runner: _Runner, place: Place, inputs: int) -> None:
        self.place = place
        self.counts = Counts()
        self.is_done = asyncio.Event()
        self._runner = runner
        self._finals_due = inputs
        self._queue: asyncio.Queue[Batch | None] | None = None
        self._turn = asyncio.Lock()
        self._armed = asyncio.Event()
        self.execution: Execution | None = None

    def prepare(self, execution: Execution, *, queued: bool) -> None:
        self.execution = execution
        if queued:
            self._queue = asyncio.Queue(QUEUE_BATCHES)

    @property
    def has_queue(self) -> bool:
        return self._queue is not None

    async def offer(self, batch: Batch | None) -> None:
        """A batch, or None: one of its inputs has ended."""
        if self._queue is not None:
            await self._queue.put(batch)
        else:
            await self._take(batch)

    async def work(self) -> None:
        """Take what is in the queue until all inputs have ended."""
        assert self._queue is not None
        while not self.is_done.is_set():
            await self._take(await self._queue.get())

    async def _take(self, batch: Batch | None) -> None:
        if batch is None:
            self._finals_due -= 1
            if self._finals_due == 0:
                await self.finish()
            return
        execution = self.execution
        assert execution is not None
        self.counts.taken += len(batch)
        if execution.is_async:
            given = await execution.process_async(batch)
        else:
            given = execution.process(batch)
        self.counts.skipped = execution.skipped
        if execution.due is not None:
            self._armed.set()
        if given:
            await self.send(given)

    async def send(self, batch: Batch) -> None:
        self.counts.given += len(batch)
        await self._runner.send(self._runner.expansion.outlets[self.place], batch)

    async def finish(self) -> None:
        if self.execution is not None:
            async with self._turn:
                given = self.execution.finish()
                if given:
                    await self.send(given)
            await self.execution.close()
        self.is_done.set()
        self._armed.set()
        await self._runner.end(self._runner.expansion.outlets[self.place])

    async def keep_time(self, clock: Clock) -> None:
        """Give what is due because of the time, until the node has finished."""
        assert self.execution is not None
        while not self.is_done.is_set():
            due = self.execution.due
            if due is None:
                self._armed.clear()
                await self._armed.wait()
                continue
            waiting = asyncio.create_task(clock.wait_until(due))
            ended = asyncio.create_task(self.is_done.wait())
            await asyncio.wait((waiting, ended), return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            ended.cancel()
            async with self._turn:
                given = self.execution.on_time(clock.now())
                if given:
                    await self.send(given)


class _Runner:
    """The nodes of one run, and the tasks that move tuples between them."""

    def __init__(
        self,
        graph: Graph,
        values: Mapping[str, Any],
        imports: Mapping[str, Iterable[Any]],
        clock: Clock,
    ) -> None:
        widths = {each: _width(each, values) for each in graph.regions}
        self._graph = graph
        self._values = values
        self._imports = imports
        self._clock = clock
        self._stop = asyncio.Event()
        self.expansion = Expansion(graph, widths)
        self.nodes = {
            place: _Node(self, place, self.expansion.inputs[place])
            for place in self.expansion.places
        }
        first_of_channels = {
            place
            for outlets in self.expansion.outlets.values()
            for place in _behind_splitters(outlets)
        }
        for place, node in self.nodes.items():
            if place.operator.role in ("step", "sink"):
                execution = execution_of(place.operator, values, clock)
                queued = execution.is_async or place in first_of_channels
                node.prepare(execution, queued=queued)

    async def run(self, seconds: float | None) -> None:
        stopping = None if seconds is None else asyncio.create_task(self._stop_after(seconds))
        try:
            async with asyncio.TaskGroup() as tasks:
                for place, node in self.nodes.items():
                    if place.operator.role in ("source", "import"):
                        tasks.create_task(self._feed(node))
                    elif node.has_queue:
                        tasks.create_task(node.work())
                    if place.operator.window is not None:
                        tasks.create_task(node.keep_time(self._clock))
        finally:
            if stopping is not None:
                stopping.cancel()

    async def _stop_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._stop.set()

    async def _feed(self, node: _Node) -> None:
        operator = node.place.operator
        try:
            async for batch in batches(self._source(node.place), self._stop):
                await node.send(batch)
        except MillraceError:
            raise
        except Exception as problem:
            if operator.on_error == "fail":
                raise OperatorFailed(operator.name, None, problem) from problem
            node.counts.skipped += 1
        await node.finish()

    def _source(self, place: Place) -> Any:
        operator = place.operator
        if operator.role == "import":
            return list(self._imports.get(operator.name, ()))
        begin_channel(*self.expansion.channel(place))
        function = bound(operator, self._values)
        if operator.state is None:
            return function()
        return function(Single(operator.state.type, operator.state.type).value)

    async def send(self, outlets: tuple[Outlet, ...], batch: Batch) -> None:
        """Pass a batch on to all outlets."""
        for outlet in outlets:
            if isinstance(outlet, Place):
                await self.nodes[outlet].offer(batch)
            else:
                parts = outlet.splitter.split(batch)
                for part, channel in zip(parts, outlet.channels, strict=True):
                    if part:
                        await self.send(channel, part)

    async def end(self, outlets: tuple[Outlet, ...]) -> None:
        """Pass the final mark on to all outlets."""
        for outlet in outlets:
            if isinstance(outlet, Place):
                await self.nodes[outlet].offer(None)
            else:
                for channel in outlet.channels:
                    await self.end(channel)


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
