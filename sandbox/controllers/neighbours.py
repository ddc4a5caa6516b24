"""Where bound pods are that attract, repel or please others, by the topology of their nodes.

Counted as pods and nodes come and go, once per term and value of its topology key, so that a
decision costs as many look-ups as a pod has terms, however many pods there are. Who is counted is
in accounts.py; what the counts mean for a node is decided in feasibility.py and scoring.py.

1. `selected`: for terms that were looked up, the places of the pods that all of them select.
2. `repelling`: for required anti-affinity of bound pods, the places of the pods that have it.
3. `inclined`: the same for what bound pods prefer, and for their required affinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from sandbox.controllers.demands import HARD_AFFINITY_WEIGHT, Demand, PodTerm
from sandbox.controllers.selectors import Labels

TERMS_REMEMBERED_MAX = 4096
Place = tuple[str, str]  # a topology key and the value that a node has of it
Terms = tuple[PodTerm, ...]
Key = TypeVar("Key", bound=Hashable)


class Neighbours:
    """The counts; the same pod may be counted and uncounted in any order."""

    def __init__(self) -> None:
        self._namespaces: dict[str, Labels] = {}
        self._selected: _Counts[Terms] = _Counts()
        self._repelling: _Counts[PodTerm] = _Counts()
        self._inclined: _Counts[tuple[int, PodTerm]] = _Counts()

    @property
    def namespaces(self) -> Mapping[str, Labels]:
        """The labels of the namespaces."""
        return self._namespaces

    def set_namespace(self, name: str, labels: Labels) -> bool:
        """Take over the labels of a namespace; whether that is news."""
        if self._namespaces.get(name, {}) == labels:
            return False
        self._namespaces[name] = labels
        self._selected = _Counts()  # other pods may be meant
        return True

    def count(self, pod: Demand, at: Labels, sign: int) -> None:
        """Count (1) or uncount (-1) a pod on a node with these labels."""
        for terms, counts in self._selected.about(pod.labels):
            if self._all_select(terms, pod):
                _count(counts, terms, at, sign)
        for term in pod.anti_affinity:
            self._repelling.add(term, term, at, sign)
        for weight, term in _inclinations(pod):
            self._inclined.add((weight, term), term, at, sign)

    def selected(self, terms: Terms, bound: Iterable[tuple[Demand, Labels]]) -> Counter[Place]:
        """Places of the pods that all of the terms select; `bound` are all pods and their nodes."""
        counts = self._selected.of(terms)
        if counts is None:
            counts = self._selected.begin(terms, terms[0])
            for pod, at in bound:
                if self._all_select(terms, pod):
                    _count(counts, terms, at, 1)
        return counts

    def repelling(self, pod: Demand) -> set[Place]:
        """Places where the required anti-affinity of a bound pod keeps this one out."""
        return {
            place
            for term, counts in self._repelling.about(pod.labels)
            if term.selects(pod, self._namespaces)
            for place in counts
        }

    def inclined(self, pod: Demand) -> Counter[Place]:
        """What bound pods would make of this one beside them, by place."""
        found: Counter[Place] = Counter()
        for (weight, term), counts in self._inclined.about(pod.labels):
            if term.selects(pod, self._namespaces):
                for place, count in counts.items():
                    found[place] += weight * count
        return found

    def _all_select(self, terms: Terms, pod: Demand) -> bool:
        return all(term.selects(pod, self._namespaces) for term in terms)


class _Counts(Generic[Key]):
    """Counts of places by key, found by a label that a pod needs if the key is about it."""

    def __init__(self) -> None:
        self._counts: dict[Key, Counter[Place]] = {}
        self._by_label: dict[str, dict[Key, Counter[Place]]] = {}

    def of(self, key: Key) -> Counter[Place] | None:
        return self._counts.get(key)

    def begin(self, key: Key, term: PodTerm) -> Counter[Place]:
        """An empty count for a key that is about no pod that `term` does not select."""
        if len(self._counts) >= TERMS_REMEMBERED_MAX:
            self._counts.clear()
            self._by_label.clear()
        counts = self._counts[key] = Counter()
        self._by_label.setdefault(_needed_label(term), {})[key] = counts
        return counts

    def about(self, labels: Labels) -> Iterator[tuple[Key, Counter[Place]]]:
        """The keys that can be about a pod with these labels."""
        for label in ("", *labels):
            yield from self._by_label.get(label, {}).items()

    def add(self, key: Key, term: PodTerm, at: Labels, sign: int) -> None:
        """Count one pod more or less; what nobody has any more is forgotten."""
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = Counter()
            self._by_label.setdefault(_needed_label(term), {})[key] = counts
        _count(counts, (term,), at, sign)
        if not counts:
            del self._counts[key]
            of_label = self._by_label[_needed_label(term)]
            del of_label[key]
            if not of_label:
                del self._by_label[_needed_label(term)]


def _count(counts: Counter[Place], terms: Terms, at: Labels, sign: int) -> None:
    for term in terms:
        value = at.get(term.topology_key)
        if value is None:
            continue  # a node without the label is nowhere
        place = (term.topology_key, value)
        counts[place] += sign
        if not counts[place]:
            del counts[place]


def _needed_label(term: PodTerm) -> str:
    """A label without which the term selects no pod; "" if no such label exists."""
    needed = (item.key for item in term.selector or () if item.operator in ("In", "Exists"))
    return next(needed, "")


def _inclinations(pod: Demand) -> Iterator[tuple[int, PodTerm]]:
    yield from pod.leanings
    for term in pod.affinity:
        yield HARD_AFFINITY_WEIGHT, term
