"""The ids of PE ports, kept small: a connection of 1,000 x 1,000 channels has a million of them.

The channels of one splitter share an array, and their records are runs of consecutive ids.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping

from services.fusion_backend.core.records import Direction, PortKey, PortRun

Channels = tuple[Direction, int, int, int]
"""Direction, operator, port and splitter: what PE ports have in common that differ by channel."""
_NONE = -1


class PortNumbers(Mapping[tuple[int, PortKey], int]):
    """Id by PE and key of a port."""

    def __init__(self, runs: Iterable[PortRun] = ()) -> None:
        """Those of a record."""
        self._by_pe: dict[int, dict[Channels, array[int]]] = {}
        for run in runs:
            for record in run.each():
                self.put(record.pe, record.key, record.id)

    def put(self, pe: int, key: PortKey, number: int) -> None:
        """Gives a port its id. Its channel is -1 where it has none, and never below."""
        channels = self._by_pe.setdefault(pe, {})
        ids = channels.setdefault((key[0], key[1], key[2], key[3]), array("q"))
        place = key.channel + 1
        if place >= len(ids):
            ids.extend([_NONE] * (place + 1 - len(ids)))
        ids[place] = number

    def __getitem__(self, place: tuple[int, PortKey]) -> int:
        pe, key = place
        ids = self._by_pe[pe][key[:4]]
        number = ids[key.channel + 1] if key.channel + 1 < len(ids) else _NONE
        if number == _NONE:
            raise KeyError(place)
        return number

    def id_of(self, pe: int, channels: Channels, channel: int) -> int:
        """The id of a port that is known to have one."""
        return self._by_pe[pe][channels][channel + 1]

    def __iter__(self) -> Iterator[tuple[int, PortKey]]:
        for pe in self._by_pe:
            yield from ((pe, key) for key, _ in self.of(pe))

    def __len__(self) -> int:
        return sum(map(self.count_of, self._by_pe))

    def count_of(self, pe: int) -> int:
        """How many ports a PE has."""
        return sum(len(ids) - ids.count(_NONE) for ids in self._by_pe.get(pe, {}).values())

    def of(self, pe: int) -> Iterator[tuple[PortKey, int]]:
        """The ports of a PE with their ids, by key."""
        for common, ids in sorted(self._by_pe.get(pe, {}).items()):
            for channel, number in enumerate(ids, start=-1):
                if number != _NONE:
                    yield PortKey(*common, channel), number

    def entering(self) -> Iterator[tuple[int, PortKey, int]]:
        """PE, key and id of every input port."""
        for pe, channels in self._by_pe.items():
            for common, ids in channels.items():
                if common[0] == "in":
                    yield pe, PortKey(*common, -1), ids[0]

    def runs(self) -> Iterator[PortRun]:
        """All of them, by PE and key."""
        for pe in sorted(self._by_pe):
            for common, ids in sorted(self._by_pe[pe].items()):
                for start, count in _runs_in(ids):
                    yield PortRun(pe, PortKey(*common, start - 1), ids[start], count)


def _runs_in(ids: array[int]) -> Iterator[tuple[int, int]]:
    """Place and length of each run of consecutive ids."""
    start = 0
    for place in range(1, len(ids) + 1):
        if place < len(ids) and ids[start] != _NONE and ids[place] == ids[start] + place - start:
            continue
        if ids[start] != _NONE:
            yield start, place - start
        start = place
