"""What the sink wrote, against the truth of the numbered tuples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    """What the lines of the sink's file say, where `count` tuples were made."""
    seen: Counter[int] = Counter()
    numbers: dict[int, list[int]] = {key: [] for key in range(min(KEYS, count))}
    counts: dict[int, list[int]] = {key: [] for key in numbers}
    for line in lines:
        record: Mapping[str, int] = json.loads(line)
        key, number = record["key"], record["number"]
        assert key == number % KEYS, f"nobody made {record}"
        assert 0 <= number < count, f"nobody made {record}"
        seen[number] += 1
        numbers[key].append(number)
        counts[key].append(record["count"])
    return Found(
        missing=[number for number in range(count) if number not in seen],
        doubled=sorted(number for number, times in seen.items() if times > 1),
        unordered=[key for key, each in numbers.items() if each != sorted(each)],
        miscounted=[k for k, each in counts.items() if each != list(range(1, len(each) + 1))],
    )
