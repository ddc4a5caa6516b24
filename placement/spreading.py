"""Puts a number of units onto nodes with room for some each, evenly or onto few.

`preferred` is a number for each node: the lower, the sooner it is taken.
"""

from __future__ import annotations

import numpy as np

from placement.cluster import Floats
from placement.columns import Ints


def spread(room: Ints, preferred: Floats, count: int) -> Ints:
    """As even as room allows: the lowest level that takes all, the rest by what is preferred."""
    some = np.flatnonzero(room)
    level = 1 if len(some) >= count else _level(room, -(-count // max(1, len(some))), count)
    taken = np.minimum(room, level - 1)
    more = some if level == 1 else np.flatnonzero(room >= level)
    taken[first(more, preferred, count - int(taken.sum()))] += 1
    return taken


def _level(room: Ints, least: int, count: int) -> int:
    """The lowest number that takes all, if no node gets more; it is this one or a higher."""
    if int(np.minimum(room, least).sum()) >= count:
        return least
    low, high = least + 1, count
    while low < high:
        middle = (low + high) // 2
        if int(np.minimum(room, middle).sum()) >= count:
            high = middle
        else:
            low = middle + 1
    return high


def packed(room: Ints, preferred: Floats, count: int) -> Ints:
    """Onto as few nodes as what is preferred gives."""
    order = first(np.flatnonzero(room), preferred, count)
    before = np.cumsum(room[order]) - room[order]
    taken = np.zeros_like(room)
    taken[order] = np.clip(count - before, 0, room[order])
    return taken


def first(where: Ints, preferred: Floats, count: int) -> Ints:
    """The places that are preferred most, in that order; of equal ones the first."""
    if count < len(where):
        least = np.partition(preferred[where], count - 1)[count - 1] if count else -np.inf
        where = where[preferred[where] <= least]
    return where[np.argsort(preferred[where], kind="stable")][:count]
