"""What the sink wrote, against the truth of the numbered tuples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from tests.numbered.app import KEYS


class Miscount(NamedTuple):
    """The first count of a key that is not the next one: its tuple, what it was, what was due."""

    key: int
    number: int
    counted_as: int
    due: int

    def __str__(self) -> str:
        """As in a list of several."""
        how = f"was counted as {self.counted_as}, not {self.due}"
        return f"key {self.key}: tuple {self.number} {how}"


@dataclass(frozen=True, slots=True)
class Found:
    """What differs from every number once, in order by key, counted from 1.

    `missing` and `doubled` are numbers of tuples, `unordered` are keys. A key is miscounted if its
    counts are not 1, 2, 3, ...
    """

    missing: Sequence[int]
    doubled: Sequence[int]
    unordered: Sequence[int]
    miscounted: Sequence[Miscount]

    @property
    def is_exact(self) -> bool:
        """Nothing differs."""
        return not (self.missing or self.doubled or self.unordered or self.miscounted)

    def __str__(self) -> str:
        """Counts, and the first of each; of miscounted keys all, since what they share tells."""
        parts = ("missing", "doubled", "unordered")
        shown = {part: getattr(self, part) for part in parts}
        first = [f"{len(each)} {part} {list(each[:5])}" for part, each in shown.items()]
        wrong = "; ".join(map(str, self.miscounted))
        return ", ".join((*first, f"{len(self.miscounted)} miscounted [{wrong}]"))


def found(
    lines: Iterable[str | bytes], count: int, skipped: Callable[[int], bool] = lambda _: False
) -> Found:
    """What the lines of the sink's file say, where `count` tuples were made, some to be skipped.

    One that was to be skipped and came all the same is doubled.

    It keeps a byte for each tuple, and what it found: 10 million tuples are 10 MB.
    """
    seen, doubled = bytearray(count), set[int]()
    newest, counted = [-1] * KEYS, [0] * KEYS
    unordered, miscounted = set[int](), dict[int, Miscount]()
    for line in lines:
        record: Mapping[str, int] = msgspec.json.decode(line)
        key, number = record["key"], record["number"]
        assert key == number % KEYS, f"nobody made {record}"
        assert 0 <= number < count, f"nobody made {record}"
        if seen[number] or skipped(number):
            doubled.add(number)
        seen[number] = 1
        if number < newest[key]:
            unordered.add(key)
        newest[key] = number
        counted[key] += 1
        if record["count"] != counted[key]:
            first = Miscount(key, number, record["count"], counted[key])
            miscounted.setdefault(key, first)
    missing = [each for each in range(count) if not seen[each] and not skipped(each)]
    return Found(missing, sorted(doubled), sorted(unordered), sorted(miscounted.values()))
