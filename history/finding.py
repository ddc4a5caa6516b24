"""Finds places in a log: the first record at a time."""

from __future__ import annotations

import math

from history.sources import Bounds, Source


async def offset_at(source: Source, partition: str, bounds: Bounds, time_s: float) -> int:
    """The offset of the first record of a partition that was written at a time or later.

    `time_s` is unix seconds. A partition is taken to be in order of time.
    """
    if time_s == -math.inf:
        return bounds.first
    if time_s == math.inf:
        return bounds.end
    first, end = bounds.first, bounds.end
    while first < end:
        middle = (first + end) // 2
        if await _is_before(source, partition, middle, time_s):
            first = middle + 1
        else:
            end = middle
    return first


async def _is_before(source: Source, partition: str, offset: int, time_s: float) -> bool:
    """Whether a record was written before a time; one that is not there any more was."""
    async for batch in source.read(partition, offset, offset + 1):
        return batch[0].timestamp_s < time_s
    return True
