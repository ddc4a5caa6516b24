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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from services.fusion_backend.core import model
from services.fusion_backend.core.meaning import ThreadedMeaning
from services.fusion_backend.core.requesting import Threading
from services.fusion_backend.core.topology import Edge, Operator

ThreadSet = frozenset[tuple[str, int, int]]
NONE: ThreadSet = frozenset()


def choose_model(operator: Operator, job: Threading | None) -> Threading | None:
    """The operator's own model, else that of the innermost composite that has one, else the job's.

    The original gives a primitive's model to its siblings as well, and forgets a composite's model
    in all channels but the first; both are taken for mistakes.
    """
    scopes: list[tuple[model.Annotation, ...]] = [operator.item.annotations]
    for composite in operator.enclosing:
        scopes += [composite.annotations, composite.definition_annotations]
    for scope in scopes:
        for annotation in scope:
            chosen = annotation.get("model") if annotation.tag == "threading" else None
            if chosen:
                return Threading(
                    chosen.strip('"'), annotation.get("threads"), annotation.get("elastic")
                )
    return job


@dataclass(frozen=True, slots=True)
class PeThreads:
    """The thread facts of one PE, by operator and port."""

    queues: Mapping[tuple[int, int], ThreadedMeaning]
    single_inputs: Mapping[int, bool]
    single_outputs: Mapping[int, bool]
    single_submission: Mapping[int, bool]


class _Flow:
    """Propagates thread sets to a fixed point."""

    def __init__(
        self,
        operators: Mapping[int, Operator],
        models: Mapping[int, Threading | None],
        inside: Iterable[Edge],
        entered: set[tuple[int, int]],
    ) -> None:
        self._operators = operators
        self._models = {index: choice.model if choice else "" for index, choice in models.items()}
        self._entered = entered
        self._into: dict[tuple[int, int], list[Edge]] = {}
        self._out_of: dict[int, set[int]] = {}
        for edge in inside:
            self._into.setdefault((edge.target, edge.input), []).append(edge)
            self._out_of.setdefault(edge.source, set()).add(edge.target)
        self.injected: set[tuple[int, int]] = set()
        self.queued: set[tuple[int, int]] = set()
        for index, operator in operators.items():
            self._place_queues(index, operator)
        self._reaching: dict[int, ThreadSet] = dict.fromkeys(operators, NONE)
        self._run()

    def _place_queues(self, index: int, operator: Operator) -> None:
        for port in operator.item.inputs:
            place = (index, port.index)
            edges = self._into.get(place, ())
            if port.threaded is not None:
                self.queued.add(place)
            elif edges and (
                self._models[index] == "dedicated" or any(edge.splitter >= 0 for edge in edges)
            ):
                self.queued.add(place)
                self.injected.add(place)

    def _run(self) -> None:
        waiting = set(self._operators)
        while waiting:
            index = waiting.pop()
            threads = self._compute(index)
            if threads != self._reaching[index]:
                self._reaching[index] = threads
                waiting |= self._out_of.get(index, set())

    def _compute(self, index: int) -> ThreadSet:
        operator = self._operators[index]
        if not operator.item.inputs:
            return frozenset({("operator", index, -1)})
        found = set(self._reaching[index])
        for port in operator.item.inputs:
            place = (index, port.index)
            if place in self.queued:
                found.add(("queue", *place))
                continue
            if self._models[index] != "manual":
                found.add(("scheduler", *place))
            if self._models[index] != "dynamic":
                found |= self.entering(place)
        return _saturated(found)

    def entering(self, place: tuple[int, int]) -> ThreadSet:
        """The threads that submit to an input port."""
        found: set[tuple[str, int, int]] = set()
        if place in self._entered:
            found.add(("pe port", *place))
        for edge in self._into.get(place, ()):
            found |= self.leaving(edge.source)
        return _saturated(found)

    def leaving(self, index: int) -> ThreadSet:
        """The threads that an operator submits from."""
        reaching = self._reaching[index]
        if self._operators[index].item.single_threaded_on_outputs:
            return reaching
        return _saturated({*reaching, ("own", index, 0), ("own", index, 1)})

    def reaching(self, index: int) -> ThreadSet:
        """The threads that run in an operator."""
        return self._reaching[index]


def _saturated(threads: set[tuple[str, int, int]]) -> ThreadSet:
    """Two are as good as many."""
    return frozenset(sorted(threads)[:2])


def find_threads(
    operators: Mapping[int, Operator],
    models: Mapping[int, Threading | None],
    inside: Iterable[Edge],
    entered: set[tuple[int, int]],
) -> PeThreads:
    """The facts of a PE: its operators, their models, edges inside, ports reached from outside."""
    flow = _Flow(operators, models, inside, entered)
    queues: dict[tuple[int, int], ThreadedMeaning] = {}
    single_inputs: dict[int, bool] = {}
    single_outputs: dict[int, bool] = {}
    for index, operator in operators.items():
        choice = models[index]
        manual = choice is not None and choice.model == "manual"
        few = manual or len(operator.item.inputs) <= 1
        single_inputs[index] = len(flow.reaching(index)) <= 1 and few
        single_outputs[index] = single_inputs[index] and operator.item.single_threaded_on_outputs
        for port in operator.item.inputs:
            place = (index, port.index)
            if place in flow.queued:
                written = port.threaded
                queues[place] = ThreadedMeaning(
                    congestion_policy=written.congestion_policy if written else "wait",
                    queue_size=written.queue_size if written else None,
                    single_threaded_on_input=len(flow.entering(place)) <= 1,
                    injected=place in flow.injected,
                )
    submission = {index: len(flow.leaving(index)) <= 1 for index in operators}
    return PeThreads(queues, single_inputs, single_outputs, submission)
