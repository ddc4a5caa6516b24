"""Puts a number of units onto nodes with room for some each, evenly or onto few.

`preferred` is a number for each node: the lower, the sooner it is taken.
"""

from __future__ import annotations

import numpy as np

from services.hostpool_manager.core.placing.cluster import Floats, Ints


def spread(room: Ints, preferred: Floats, count: int) -> Ints:
    """As even as room allows: the lowest level that takes all, the rest by what is preferred."""
    low, high = 1, -(-count // max(1, int((room > 0).sum())))
    if int(np.minimum(room, high).sum()) < count:
        low, high = high + 1, count
        while low < high:
            middle = (low + high) // 2
            if int(np.minimum(room, middle).sum()) >= count:
                high = middle
            else:
                low = middle + 1
    low = high
    taken = np.minimum(room, low - 1)
    taken[first(np.flatnonzero(room >= low), preferred, count - int(taken.sum()))] += 1
    return taken


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
