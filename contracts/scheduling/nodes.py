"""A node, and whether it takes pods: nobody else reads that from the projection of a Node.

What closes a node to new pods are its closings: it is not ready, it is cordoned, or it has taints
that repel. Who asks has one of these questions:

* `closings`: what keeps pods off, one by one; a pod tolerates some taints, and nothing else;
* `takes(tolerations)`: whether a pod with these tolerations may come, if there is room;
* `is_open`: the same for pods that tolerate whatever taints it has;
* `drives_pods_away`: whether pods that run there have to go, or are about to: a cordon comes before
  a drain, and a taint NoExecute evicts. A taint NoSchedule moves nobody;
* `is_out_of_service`: whether people say that nothing runs there any more.

Marks of ours say who holds a node and close it to nobody else's question: `without_marks`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from contracts.hosts import normalised, tags_of
from contracts.labels import (
    EXCLUSIVE_TAINT,
    HOSTNAME,
    MEMBER_PREFIX,
    OUT_OF_SERVICE_TAINT,
    member_places,
)
from contracts.scheduling.requests import amounts_of
from contracts.scheduling.taints import CORDON, NO_EXECUTE, Taint, Toleration, taint_of

ALLOCATABLE_KEPT_MAX: Final = 1_000
"""So many different sizes of nodes are parsed once."""


@dataclass(frozen=True, slots=True)
class Closing:
    """One thing that keeps pods off a node; `taint` if it is one, which a pod may tolerate."""

    text: str
    taint: Taint | None = None

    def is_tolerated(self, tolerations: Collection[Toleration]) -> bool:
        """Whether a pod with these tolerations may come nevertheless."""
        return self.taint is not None and any(each.tolerates(self.taint) for each in tolerations)


NOT_READY: Final = Closing("is not ready")
CORDONED: Final = Closing("is cordoned")


@dataclass(frozen=True, slots=True)
class Node:
    """A node that exists. Amounts of `allocatable` as in `contracts.scheduling.requests`."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True

    # ------------------------------------------------------------------ what it is called

    @property
    def tags(self) -> frozenset[str]:
        """The tags that it carries, in our form and in the original's."""
        return tags_of(self.labels)

    @property
    def hosts(self) -> frozenset[str]:
        """Its name, and its addresses in their canonical form."""
        return frozenset((self.name, *(normalised(each) or each for each in self.addresses)))

    @property
    def hostname(self) -> str:
        """Its label `kubernetes.io/hostname`, mostly its name; empty without the label."""
        return str(self.labels.get(HOSTNAME, ""))

    # ------------------------------------------------------------------ whether it takes pods

    @property
    def is_open(self) -> bool:
        """Whether it takes pods that tolerate its taints."""
        return self.ready and not self.unschedulable

    @property
    def closings(self) -> tuple[Closing, ...]:
        """What keeps pods off it. Kubernetes also says a cordon by a taint: that counts once."""
        found = [] if self.ready else [NOT_READY]
        if self.unschedulable:
            found.append(CORDONED)
        taints = (
            Closing(f"has the taint {taint}", taint)
            for taint in self.taints
            if taint.repels and not (self.unschedulable and taint.key == CORDON)
        )
        return (*found, *taints)

    def untolerated(self, tolerations: Collection[Toleration]) -> tuple[Taint, ...]:
        """The taints that keep a pod with these tolerations off."""
        return tuple(
            taint
            for taint in self.taints
            if taint.repels and not any(each.tolerates(taint) for each in tolerations)
        )

    def takes(self, tolerations: Collection[Toleration] = ()) -> bool:
        """Whether it takes pods with these tolerations."""
        return self.is_open and not self.untolerated(tolerations)

    @property
    def drives_pods_away(self) -> bool:
        """Whether pods that run on it have to go, or are about to: as before or in a drain."""
        return self.unschedulable or any(each.effect == NO_EXECUTE for each in self.taints)

    @property
    def is_out_of_service(self) -> bool:
        """Whether people say that nothing runs on it any more."""
        return any(each.key == OUT_OF_SERVICE_TAINT for each in self.taints)

    # ------------------------------------------------------------------ our marks on it

    @property
    def exclusive_taints(self) -> tuple[Taint, ...]:
        """Its taints under our key; the value is the uid of the HostPool that holds it."""
        return tuple(each for each in self.taints if each.key == EXCLUSIVE_TAINT)

    @property
    def places(self) -> dict[str, str]:
        """Its place in each host pool that it is marked for, by the HostPool's uid."""
        return member_places(self.labels)

    def without_marks(self) -> Node:
        """The node without all of these."""
        return replace(
            self,
            labels={k: v for k, v in self.labels.items() if not k.startswith(MEMBER_PREFIX)},
            taints=tuple(each for each in self.taints if each.key != EXCLUSIVE_TAINT),
        )


def node_of(name: str, data: Mapping[str, Any]) -> Node:
    """The node of a projection. Raises ObjectUnreadable."""
    return Node(
        name=name,
        labels=data["metadata"]["labels"],
        addresses=tuple(str(each.get("address") or "") for each in data["addresses"]),
        allocatable=_amounts(tuple((k, str(v)) for k, v in data["allocatable"].items())),
        taints=tuple(map(taint_of, data["taints"])),
        unschedulable=data["unschedulable"],
        ready=data["ready"],
    )


@lru_cache(maxsize=ALLOCATABLE_KEPT_MAX)
def _amounts(written: tuple[tuple[str, str], ...]) -> Mapping[str, int]:
    """Amounts that nodes share: hundreds of a cluster have one size."""
    return amounts_of(dict(written))
