"""Joins what shares a token, transitively (union-find)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from services.hostpool_manager.core.job import Pe


def together(pes: Sequence[Pe], tokens: Callable[[Pe], Iterable[Hashable]]) -> list[tuple[Pe, ...]]:
    """PEs that share a token, directly or through others, each group by its first member."""
    parent = list(range(len(pes)))
    first: dict[Hashable, int] = {}

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for at, pe in enumerate(pes):
        for token in tokens(pe):
            left, right = root(at), root(first.setdefault(token, at))
            parent[max(left, right)] = min(left, right)
    found: dict[int, list[Pe]] = {}
    for at, pe in enumerate(pes):
        found.setdefault(root(at), []).append(pe)
    return [tuple(members) for members in found.values()]
