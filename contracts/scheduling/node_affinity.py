"""Which nodes a pod may run on: its node selector and its required node affinity.

The rules are those of the Kubernetes scheduler: a node must carry every label of the selector and
meet one of the terms. A term is met if all of its requirements are; an empty term never is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.scheduling.selectors import Requirement, requirement_of

NODE_NAME: Final = "metadata.name"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements over labels and over the name of a node that hold together."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def lacking(self, name: str, labels: Mapping[str, str]) -> tuple[Requirement, ...]:
        """The requirements that a node does not meet."""
        fields = {NODE_NAME: name}
        return (
            *(each for each in self.expressions if not each.matches(labels)),
            *(each for each in self.fields if not each.matches(fields)),
        )

    @property
    def is_empty(self) -> bool:
        """Whether it has no requirement; such a term selects no node."""
        return not self.expressions and not self.fields


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    """A node selector and the terms of required node affinity; no terms select every node."""

    labels: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeSelectorTerm, ...] = ()

    def selects(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node with this name and these labels may be the pod's."""
        return not self._lacking_labels(labels) and (
            not self.terms
            or any(not term.is_empty and not term.lacking(name, labels) for term in self.terms)
        )

    def lacks(self, name: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """What a node lacks, by the term that it comes closest to, each as a phrase."""
        found = [f"lacks {each}" for each in self._lacking_labels(labels)]
        lacking = [term.lacking(name, labels) for term in self.terms if not term.is_empty]
        if lacking:
            found += [f"lacks {each}" for each in min(lacking, key=len)]
        elif self.terms:
            found.append("is selected by no term of the node affinity, which are all empty")
        return tuple(found)

    def _lacking_labels(self, labels: Mapping[str, str]) -> list[Requirement]:
        return [
            Requirement(key, "In", (value,))
            for key, value in self.labels
            if labels.get(key) != value
        ]


def term_of(manifest: Mapping[str, Any]) -> NodeSelectorTerm:
    """A term of `nodeSelectorTerms`; what is missing requires nothing."""
    lists = (manifest.get(name) or () for name in ("matchExpressions", "matchFields"))
    return NodeSelectorTerm(*(tuple(map(requirement_of, each)) for each in lists))
