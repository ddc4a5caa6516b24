"""The ids of PE ports, kept small: a connection of 1,000 x 1,000 channels has a million of them.

The channels of one splitter share an array, and their records are runs of consecutive ids.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping

from planner.numbering.records import PortKey, PortRun

Way = tuple[int, int, int]
"""Operator, port and splitter: what PE output ports have in common that differ by channel."""
_NONE = -1


class PortNumbers(Mapping[tuple[int, PortKey], int]):
    """Id by PE and key of a port."""

    def __init__(self, runs: Iterable[PortRun] = ()) -> None:
        """Those of a record."""
        self._inputs: dict[int, dict[tuple[int, int], int]] = {}
        self._outputs: dict[int, dict[Way, array[int]]] = {}
        for run in runs:
            for record in run.each():
                self.put(record.pe, record.key, record.id)

    def put(self, pe: int, key: PortKey, number: int) -> None:
        """Gives a port its id. Its channel is -1 where it has none, and never below."""
        direction, operator, port, splitter, channel = key
        if direction == "in":
            self._inputs.setdefault(pe, {})[operator, port] = number
            return
        ways = self._outputs.setdefault(pe, {})
        ids = ways.get((operator, port, splitter))
        if ids is None:
            ids = ways[operator, port, splitter] = array("q")
        place = channel + 1
        if place == len(ids):
            ids.append(number)
            return
        if place > len(ids):
            ids.extend([_NONE] * (place + 1 - len(ids)))
        ids[place] = number

    # ------------------------------------------------------------------ one port

    def find(self, pe: int, key: PortKey) -> int | None:
        """The id of a port, if it has one."""
        direction, operator, port, splitter, channel = key
        if direction == "in":
            return self._inputs.get(pe, {}).get((operator, port))
        ids = self._outputs.get(pe, {}).get((operator, port, splitter), ())
        number = ids[channel + 1] if channel + 1 < len(ids) else _NONE
        return None if number == _NONE else number

    def __getitem__(self, place: tuple[int, PortKey]) -> int:
        number = self.find(*place)
        if number is None:
            raise KeyError(place)
        return number

    def input_id(self, pe: int, port: tuple[int, int]) -> int:
        """The id of the port before an operator's input port, which is known to have one."""
        return self._inputs[pe][port]

    def output_id(self, pe: int, way: Way, channel: int) -> int:
        """The id of an output port that is known to have one."""
        return self._outputs[pe][way][channel + 1]

    # ------------------------------------------------------------------ one PE

    def count_of(self, pe: int) -> int:
        """How many ports a PE has."""
        ways = self._outputs.get(pe, {}).values()
        return len(self._inputs.get(pe, ())) + sum(len(ids) - ids.count(_NONE) for ids in ways)

    def inputs_of(self, pe: int) -> list[tuple[int, tuple[int, int]]]:
        """The input ports of a PE: id, and operator with port; by id."""
        ports = self._inputs.get(pe, {})
        return sorted([(number, port) for port, number in ports.items()])

    def outputs_of(self, pe: int) -> list[tuple[int, Way, int]]:
        """The output ports of a PE: id, way and channel; by id."""
        return sorted(
            [
                (number, way, channel)
                for way, ids in self._outputs.get(pe, {}).items()
                for channel, number in enumerate(ids, start=-1)
                if number != _NONE
            ]
        )

    # ------------------------------------------------------------------ all of them

    def __iter__(self) -> Iterator[tuple[int, PortKey]]:
        for run in self.runs():
            yield from ((record.pe, record.key) for record in run.each())

    def __len__(self) -> int:
        return sum(map(self.count_of, {**self._inputs, **self._outputs}))

    def entering(self) -> Iterator[tuple[int, int, int, int]]:
        """Operator, port, PE and id of every input port."""
        for pe, ports in self._inputs.items():
            for (operator, port), number in ports.items():
                yield operator, port, pe, number

    def runs(self) -> Iterator[PortRun]:
        """All of them, by PE and key."""
        for pe in sorted({**self._inputs, **self._outputs}):
            for port, number in sorted(self._inputs.get(pe, {}).items()):
                yield PortRun(pe, PortKey("in", *port, -1, -1), number)
            for way, ids in sorted(self._outputs.get(pe, {}).items()):
                for start, count in _runs_in(ids):
                    yield PortRun(pe, PortKey("out", *way, start - 1), ids[start], count)


def _runs_in(ids: array[int]) -> Iterator[tuple[int, int]]:
    """Place and length of each run of consecutive ids."""
    start = 0
    for place in range(1, len(ids) + 1):
        if place < len(ids) and ids[start] != _NONE and ids[place] == ids[start] + place - start:
            continue
        if ids[start] != _NONE:
            yield start, place - start
        start = place
