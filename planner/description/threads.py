"""Threads in a PE: queues to inject before input ports, and who is reached by one thread only.

The PE runtime skips locks where one thread arrives, so `True` must be certain.

* A queue (threaded port) is injected before an input port that a connection inside the PE reaches
  from a channel of a splitter, or whose operator's threading model is `dedicated`.
* A thread starts at each PE input port, source operator, queue, and, unless the model is `manual`,
  at each input port without a queue, because a scheduler's thread may run it.
* Threads flow downstream inside the PE up to the next queue; an operator that says it submits from
  several threads counts as many. The sets saturate at two, so this is linear.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

from planner.application import model
from planner.description.meaning import ThreadedMeaning
from planner.graph.threading_models import Threading
from planner.graph.topology import Edge, Operator, Port

ThreadSet = frozenset[tuple[str, int, int]]
NONE: ThreadSet = frozenset()


class OperatorThreads(NamedTuple):
    """The thread facts of one operator. `queues`: before its input ports, by their index."""

    single_inputs: bool
    single_outputs: bool
    single_submission: bool
    queues: Mapping[int, ThreadedMeaning]


def find_threads(
    operators: Mapping[int, Operator],
    models: Mapping[int, Threading | None],
    inside: Iterable[Edge],
    entered: Container[Port],
) -> dict[int, OperatorThreads]:
    """The facts of a PE: its operators, their models, edges inside, ports reached from outside."""
    flow = _Flow(operators, models, inside, entered)
    return {index: flow.found(index) for index in operators}


class _Flow:
    """Propagates thread sets to a fixed point."""

    def __init__(
        self,
        operators: Mapping[int, Operator],
        models: Mapping[int, Threading | None],
        inside: Iterable[Edge],
        entered: Container[Port],
    ) -> None:
        self._operators = operators
        self._models = {index: choice.model if choice else "" for index, choice in models.items()}
        self._entered = entered
        self._into: dict[Port, list[Edge]] = {}
        self._out_of: dict[int, set[int]] = {}
        for edge in inside:
            self._into.setdefault((edge.target, edge.input), []).append(edge)
            self._out_of.setdefault(edge.source, set()).add(edge.target)
        self._injected = {place for place, edges in self._into.items() if self._injects(edges)}
        self._reaching: dict[int, ThreadSet] = dict.fromkeys(operators, NONE)
        self._run()

    def _injects(self, edges: list[Edge]) -> bool:
        """Whether a queue is put before a port, if the user wrote none there."""
        is_dedicated = self._models[edges[0].target] == "dedicated"
        return is_dedicated or any(edge.splitter >= 0 for edge in edges)

    def _run(self) -> None:
        waiting = set(self._operators)
        while waiting:
            index = waiting.pop()
            threads = self._compute(index)
            if threads != self._reaching[index]:
                self._reaching[index] = threads
                waiting.update(self._out_of.get(index, ()))

    def _compute(self, index: int) -> ThreadSet:
        inputs = self._operators[index].item.inputs
        if not inputs:
            return frozenset((("operator", index, -1),))
        kind = self._models[index]
        found = set(self._reaching[index])
        for port in inputs:
            place = (index, port.index)
            if port.threaded is not None or place in self._injected:
                found.add(("queue", *place))
                continue
            if kind != "manual":
                found.add(("scheduler", *place))
            if kind != "dynamic":
                found |= self._entering(place)
        return _saturated(found)

    def _entering(self, place: Port) -> ThreadSet:
        """The threads that submit to an input port."""
        found: set[tuple[str, int, int]] = set()
        if place in self._entered:
            found.add(("pe port", *place))
        for edge in self._into.get(place, ()):
            found |= self._leaving(edge.source)
        return _saturated(found)

    def _leaving(self, index: int) -> ThreadSet:
        """The threads that an operator submits from."""
        reaching = self._reaching[index]
        if self._operators[index].item.single_threaded_on_outputs:
            return reaching
        return _saturated({*reaching, ("own", index, 0), ("own", index, 1)})

    def found(self, index: int) -> OperatorThreads:
        """The facts of an operator."""
        item = self._operators[index].item
        is_one = len(self._reaching[index]) <= 1
        single_inputs = is_one and (self._models[index] == "manual" or len(item.inputs) <= 1)
        return OperatorThreads(
            single_inputs=single_inputs,
            single_outputs=single_inputs and item.single_threaded_on_outputs,
            single_submission=is_one and item.single_threaded_on_outputs,
            queues={
                port.index: self._queue(port.threaded, (index, port.index))
                for port in item.inputs
                if port.threaded is not None or (index, port.index) in self._injected
            },
        )

    def _queue(self, written: model.ThreadedPort | None, place: Port) -> ThreadedMeaning:
        return ThreadedMeaning(
            congestion_policy=written.congestion_policy if written else "wait",
            queue_size=written.queue_size if written else None,
            single_threaded_on_input=len(self._entering(place)) <= 1,
            injected=written is None,
        )


def _saturated(threads: set[tuple[str, int, int]]) -> ThreadSet:
    """Two are as good as many."""
    return frozenset(threads if len(threads) <= 2 else sorted(threads)[:2])
