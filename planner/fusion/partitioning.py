"""Partitions a graph so that few connections cross, and parts are about as large.

1. METIS proposes two partitions (recursive bisection, and all parts at once); walking along the
   connections and cutting at equal shares proposes a third, which is the best for chains.
2. Each is made to keep the rules: who may not be in its part goes where it has most connections.
3. Parts that are too large give something away, empty ones get something, and single vertices move
   where more of their connections are, as long as there is room.
4. The partition with the fewest connections across wins, then the one whose largest part is least.

Everything is in the order of the vertices, and METIS starts from a fixed seed: the same graph gives
the same parts. What the vertices are, and what may not share a part, is not known here.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Protocol

import pymetis

from planner.fusion.bicliques import Biclique

SEED = 1
PASSES_MAX = 4
PARTS_TRIED_MAX = 64
"""So many parts are tried for a vertex that its own part may not have; then a new one."""


class Graph:
    """Vertices by number: their weights, and connections to others, the same on both sides.

    Those of `bicliques` are not among the neighbours; `bicliques_of` says by vertex which it is in.
    """

    def __init__(
        self,
        weights: Sequence[int],
        neighbours: Sequence[dict[int, int]],
        bicliques: Sequence[Biclique[int]] = (),
    ) -> None:
        """Looks up which vertices the bicliques connect."""
        self.weights = weights
        self.neighbours = neighbours
        self.bicliques = [each for each in bicliques if _connects(each)]
        self.bicliques_of: list[list[int]] = [[] for _ in weights]
        for number, biclique in enumerate(self.bicliques):
            for vertex in {**biclique.sources, **biclique.targets}:
                self.bicliques_of[vertex].append(number)

    def around(self, vertex: int) -> dict[int, int]:
        """The connections of one vertex to others, those of its bicliques as well."""
        found = dict(self.neighbours[vertex])
        for number in self.bicliques_of[vertex]:
            biclique = self.bicliques[number]
            for other, count in chain(biclique.from_end(vertex), biclique.into_end(vertex)):
                found[other] = found.get(other, 0) + count
        return found

    def __len__(self) -> int:
        """The number of vertices."""
        return len(self.weights)


_Ends = tuple[dict[int, int], dict[int, int]]
"""Of a biclique: how many of its sources, and of its targets, are in each part."""


def _connects(biclique: Biclique[int]) -> bool:
    """Whether it connects two vertices at all."""
    return (
        all((biclique.sources, biclique.targets))
        and len({**biclique.sources, **biclique.targets}) > 1
    )


class Rules(Protocol):
    """What may share a part."""

    def begun(self) -> None:
        """A new partition: what was in the parts of an earlier one is in no part."""

    def opened(self) -> RuledPart:
        """An empty part."""

    def is_free(self, vertex: int) -> bool:
        """Whether a vertex may be in every part, and keeps nothing out of it."""


class RuledPart(Protocol):
    """A part as the rules see it."""

    def takes(self, vertex: int) -> bool:
        """Takes the vertex in, if nothing keeps it out."""


def partition(graph: Graph, parts: int, rules: Rules | None) -> list[list[int]]:
    """The vertices of each part. More parts than requested only where rules leave no other way."""
    if parts >= len(graph):
        return [[vertex] for vertex in range(len(graph))]
    if parts == 1 and rules is None:
        return [list(range(len(graph)))]
    best: _Partition | None = None
    for proposal in _proposals(graph, parts):
        if rules is not None:
            rules.begun()
        candidate = _Partition(graph, parts, rules)
        candidate.put(proposal)
        candidate.improve()
        if best is None or candidate.cost() < best.cost():
            best = candidate
    assert best is not None, "walking proposes a partition of every graph"
    return best.members()


def _proposals(graph: Graph, parts: int) -> Iterator[list[int]]:
    if (graph.bicliques or any(graph.neighbours)) and parts > 1:
        starts, ends, counts = [0], [], []
        for vertex in range(len(graph)):
            neighbours = graph.around(vertex)
            for neighbour in sorted(neighbours):
                ends.append(neighbour)
                counts.append(neighbours[neighbour])
            starts.append(len(ends))
        for recursive in (True, False):
            _, found = pymetis.part_graph(
                parts,
                adjacency=pymetis.CSRAdjacency(starts, ends),
                vweights=list(graph.weights),
                eweights=counts,
                recursive=recursive,
                options=pymetis.Options(seed=SEED),
            )
            yield list(found)
    yield _walked(graph, parts)


def _walked(graph: Graph, parts: int) -> list[int]:
    """Parts of equal shares along the connections, depth first."""
    found = [0] * len(graph)
    part, filled, left = 0, 0, sum(graph.weights)
    for place, vertex in enumerate(_depth_first(graph)):
        weight = graph.weights[vertex]
        others = parts - part - 1
        is_full = (2 * filled + weight) * (others + 1) > 2 * (filled + left)
        if filled and others and (is_full or len(graph) - place <= others):
            part, filled = part + 1, 0
        found[vertex] = part
        filled += weight
        left -= weight
    return found


def _depth_first(graph: Graph) -> Iterator[int]:
    seen = [False] * len(graph)
    for start in range(len(graph)):
        stack = [start]
        while stack:
            vertex = stack.pop()
            if seen[vertex]:
                continue
            seen[vertex] = True
            yield vertex
            stack += sorted(
                (other for other in graph.around(vertex) if not seen[other]), reverse=True
            )


class _Partition:
    """Which vertex is in which part, while it is improved."""

    def __init__(self, graph: Graph, parts: int, rules: Rules | None) -> None:
        self._graph = graph
        self._rules = rules
        self._ruled = [rules.opened() for _ in range(parts)] if rules else []
        self._part = [-1] * len(graph)
        self._ends: list[_Ends] = [({}, {}) for _ in graph.bicliques]
        self._weight = [0] * parts
        self._count = [0] * parts
        share = -(-sum(graph.weights) // parts)
        self._weight_max = share + max(max(graph.weights) - 1, share // 10)

    def cost(self) -> tuple[int, int]:
        """Connections across, and the weight of the largest part."""
        across = sum(
            count
            for vertex, neighbours in enumerate(self._graph.neighbours)
            for other, count in neighbours.items()
            if self._part[vertex] != self._part[other]
        )
        part_of = dict(enumerate(self._part))
        in_bicliques = sum(biclique.across(part_of) for biclique in self._graph.bicliques)
        return across // 2 + in_bicliques, max(self._weight)

    def members(self) -> list[list[int]]:
        """The vertices of each part that has some."""
        found: list[list[int]] = [[] for _ in self._weight]
        for vertex, part in enumerate(self._part):
            found[part].append(vertex)
        return [each for each in found if each]

    # ------------------------------------------------------------------ rules

    def put(self, proposal: Sequence[int]) -> None:
        """Takes a proposal over, but for what the rules forbid."""
        homeless: list[int] = []
        for vertex, part in enumerate(proposal):
            if self._ruled and not self._ruled[part].takes(vertex):
                homeless.append(vertex)
                continue
            self._add(vertex, part)
        for vertex in homeless:
            self._add(vertex, self._home(vertex))

    def _home(self, vertex: int) -> int:
        """A part that takes the vertex: connected ones first, then those with most room."""
        near = self._near(vertex)
        tried = sorted(near, key=lambda part: (-near[part], part))[:PARTS_TRIED_MAX]
        fewest = heapq.nsmallest(
            PARTS_TRIED_MAX - len(tried),
            (part for part in range(len(self._weight)) if part not in near),
            key=self._weight.__getitem__,
        )
        weight = self._graph.weights[vertex]
        for part in sorted(
            (*tried, *fewest), key=lambda part: self._weight[part] + weight > self._weight_max
        ):
            if self._ruled[part].takes(vertex):
                return part
        assert self._rules is not None, "only rules make a vertex homeless"
        self._ruled.append(self._rules.opened())
        self._ruled[-1].takes(vertex)
        self._weight.append(0)
        self._count.append(0)
        return len(self._weight) - 1

    # ------------------------------------------------------------------ improving

    def improve(self) -> None:
        """Step 3. Vertices that rules bind stay where they are."""
        self._relieve()
        self._fill()
        for _ in range(PASSES_MAX):
            if not self._move_all():
                return

    def _move_all(self) -> bool:
        has_moved = False
        for vertex, own in enumerate(self._part):
            if self._count[own] < 2 or not self._is_free(vertex):
                continue
            near = self._near(vertex)
            here = near.pop(own, 0)
            if not near or max(near.values()) <= here:
                continue
            best = self._with_room(vertex, near)
            if best is not None and near[best] > here:
                self._move(vertex, best)
                has_moved = True
        return has_moved

    def _relieve(self) -> None:
        """Parts that are too large give away what they miss least."""
        for part, members in enumerate(self._members_of_large()):
            for vertex in members:
                if self._weight[part] <= self._weight_max:
                    break
                near = self._near(vertex)
                near.pop(part, None)
                best = self._with_room(vertex, near)
                if best is None:
                    least = min(range(len(self._weight)), key=self._weight.__getitem__)
                    weight = self._weight[least] + self._graph.weights[vertex]
                    best = least if weight <= self._weight_max else None
                if best is not None:
                    self._move(vertex, best)

    def _members_of_large(self) -> Iterator[list[int]]:
        found: list[list[int]] = [[] for _ in self._weight]
        for vertex, part in enumerate(self._part):
            if self._weight[part] > self._weight_max and self._is_free(vertex):
                found[part].append(vertex)
        for part, members in enumerate(found):
            yield sorted(members, key=lambda vertex: self._near(vertex).get(part, 0))

    def _fill(self) -> None:
        """Empty parts get from the largest ones what these miss least."""
        empty = [part for part, count in enumerate(self._count) if not count]
        if not empty:
            return
        members = [[] for _ in self._weight]  # type: list[list[int]]
        for vertex, part in enumerate(self._part):
            if self._is_free(vertex):
                members[part].append(vertex)
        largest = [(-weight, part) for part, weight in enumerate(self._weight)]
        heapq.heapify(largest)
        while empty and largest:
            part = heapq.heappop(largest)[1]
            if self._count[part] < 2 or not members[part]:
                continue
            vertex = min(members[part], key=lambda each: (self._near(each).get(part, 0), -each))
            members[part].remove(vertex)
            self._move(vertex, empty.pop(0))
            heapq.heappush(largest, (-self._weight[part], part))

    # ------------------------------------------------------------------ single vertices

    def _is_free(self, vertex: int) -> bool:
        return self._rules is None or self._rules.is_free(vertex)

    def _near(self, vertex: int) -> dict[int, int]:
        """Connections of a vertex by part."""
        near: dict[int, int] = {}
        for other, count in self._graph.neighbours[vertex].items():
            part = self._part[other]
            if part >= 0:
                near[part] = near.get(part, 0) + count
        for number in self._graph.bicliques_of[vertex]:
            self._add_of_biclique(vertex, number, near)
        return near

    def _add_of_biclique(self, vertex: int, number: int, near: dict[int, int]) -> None:
        """A biclique connects a vertex with every end at its other side but itself."""
        biclique, own = self._graph.bicliques[number], self._part[vertex]
        sources, targets = biclique.sources.get(vertex, 0), biclique.targets.get(vertex, 0)
        source_ends, target_ends = self._ends[number]
        for factor, itself, ends in (
            (sources, targets, target_ends),
            (targets, sources, source_ends),
        ):
            for part, count in ends.items() if factor else ():
                others = count - itself if part == own else count
                if others:
                    near[part] = near.get(part, 0) + factor * others

    def _with_room(self, vertex: int, near: dict[int, int]) -> int | None:
        """The part with most connections that has room for a vertex."""
        weight = self._graph.weights[vertex]
        roomy = [part for part in near if self._weight[part] + weight <= self._weight_max]
        return min(roomy, key=lambda part: (-near[part], self._weight[part], part), default=None)

    def _move(self, vertex: int, part: int) -> None:
        own = self._part[vertex]
        self._weight[own] -= self._graph.weights[vertex]
        self._count[own] -= 1
        self._note_ends(vertex, own, -1)
        self._add(vertex, part)

    def _add(self, vertex: int, part: int) -> None:
        self._part[vertex] = part
        self._weight[part] += self._graph.weights[vertex]
        self._count[part] += 1
        self._note_ends(vertex, part, 1)

    def _note_ends(self, vertex: int, part: int, sign: int) -> None:
        """Counts a vertex among the ends of its bicliques that are in a part, or no longer."""
        for number in self._graph.bicliques_of[vertex]:
            biclique = self._graph.bicliques[number]
            for counts, ends in zip(
                (biclique.sources, biclique.targets), self._ends[number], strict=True
            ):
                if vertex in counts:
                    ends[part] = ends.get(part, 0) + sign * counts[vertex]
