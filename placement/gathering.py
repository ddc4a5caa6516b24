"""Joins what shares a token, transitively (union-find)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def together(items: Sequence[T], tokens: Callable[[T], Iterable[Hashable]]) -> list[tuple[T, ...]]:
    """What shares a token, directly or through others, each group by its first member."""
    parent = list(range(len(items)))
    first: dict[Hashable, int] = {}

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for at, item in enumerate(items):
        for token in tokens(item):
            left, right = root(at), root(first.setdefault(token, at))
            parent[max(left, right)] = min(left, right)
    found: dict[int, list[T]] = {}
    for at, item in enumerate(items):
        found.setdefault(root(at), []).append(item)
    return [tuple(members) for members in found.values()]
