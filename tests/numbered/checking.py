"""What the sink wrote, against the truth of the numbered tuples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from tests.numbered.app import KEYS


@dataclass(frozen=True, slots=True)
class Found:
    """What differs from every number once, in order by key, counted from 1.

    `missing` and `doubled` are numbers of tuples; `unordered` and `miscounted` are keys. A key is
    miscounted if its counts are not 1, 2, 3, ...
    """

    missing: Sequence[int]
    doubled: Sequence[int]
    unordered: Sequence[int]
    miscounted: Sequence[int]

    @property
    def is_exact(self) -> bool:
        """Nothing differs."""
        return not (self.missing or self.doubled or self.unordered or self.miscounted)

    def __str__(self) -> str:
        """Counts, and the first of each."""
        parts = ("missing", "doubled", "unordered", "miscounted")
        shown = {part: getattr(self, part) for part in parts}
        return ", ".join(f"{len(each)} {part} {list(each[:5])}" for part, each in shown.items())


def found(lines: Iterable[str | bytes], count: int) -> Found:
    """What the lines of the sink's file say, where `count` tuples were made.

    It keeps a byte for each tuple, and what it found: 10 million tuples are 10 MB.
    """
    seen, doubled = bytearray(count), set[int]()
    newest, counted = [-1] * KEYS, [0] * KEYS
    unordered, miscounted = set[int](), set[int]()
    for line in lines:
        record: Mapping[str, int] = msgspec.json.decode(line)
        key, number = record["key"], record["number"]
        assert key == number % KEYS, f"nobody made {record}"
        assert 0 <= number < count, f"nobody made {record}"
        if seen[number]:
            doubled.add(number)
        seen[number] = 1
        if number < newest[key]:
            unordered.add(key)
        newest[key] = number
        counted[key] += 1
        if record["count"] != counted[key]:
            miscounted.add(key)
    missing = [number for number in range(count) if not seen[number]]
    return Found(missing, sorted(doubled), sorted(unordered), sorted(miscounted))
