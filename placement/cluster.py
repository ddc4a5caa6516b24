"""What is known of the cluster: nodes, what runs or is promised on them, and who holds them.

`Node`, `Pod` (`taken.py`) and `Claim` are plain values that facts and Placements are turned into;
`Cluster.of` makes arrays of them once, and every decision of a pass over all waiting jobs reads the
same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from contracts.hosts import normalised
from contracts.labels import HOSTNAME
from contracts.scheduling.node_affinity import NodeAffinity
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import PASSING, Taint, Toleration
from placement.columns import Columns, Ints, capped
from placement.taken import Amounts, Pod

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

T = TypeVar("T")

REMEMBERED_MAX: Final = 1_000
"""The most values that a Cluster remembers; each has some kilobytes."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a job's pool on a node.

    Exclusive pools claim their members; shared ones only where the application counts or names
    them: others hold on to no node, so that an exclusive pool may take it.
    """

    node: str
    job: str
    pool: str
    is_exclusive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """The cluster as arrays with one entry for each node, sorted by name. Do not change the
    arrays."""

    nodes: tuple[Node, ...]
    index: Mapping[str, int]
    addresses: Mapping[str, tuple[int, ...]]
    tagged: Mapping[str, Bools]
    unready: Bools
    cordoned: Bools
    tainted: tuple[tuple[tuple[Taint, ...], Ints], ...]
    allocatable: Mapping[str, Ints]
    used: Mapping[str, Ints]
    streams_pods: Ints
    pods: Mapping[str, tuple[Pod, ...]]
    claims: tuple[Claim, ...]
    claims_of: Mapping[str, tuple[Claim, ...]]
    held: Ints
    held_exclusively: Ints
    remembered: dict[Hashable, Any] = field(default_factory=dict)
    """Values that follow from the cluster alone, kept for other jobs."""

    @classmethod
    def of(
        cls, nodes: Iterable[Node], pods: Iterable[Pod] = (), claims: Iterable[Claim] = ()
    ) -> Cluster:
        """Arrays of values. Pods and claims on unknown nodes count on no node.

        If several nodes have one name, the last one counts: it is the newest.
        """
        by_name = {node.name: node for node in nodes}
        ordered = tuple(by_name[name] for name in sorted(by_name))
        index = {node.name: at for at, node in enumerate(ordered)}
        taken = Columns()
        for number, pod in enumerate(pods):
            taken.put(number, pod)
        used, streams_pods = taken.arrays(index)
        claimed = tuple(sorted(claims, key=lambda claim: (claim.node, claim.job, claim.pool)))
        return cls(
            nodes=ordered,
            index=index,
            addresses=addresses_of(ordered),
            tagged=_tagged(ordered),
            unready=np.array([not node.ready for node in ordered], bool),
            cordoned=np.array([node.unschedulable for node in ordered], bool),
            tainted=tainted_of(ordered),
            allocatable=_columns([node.allocatable for node in ordered]),
            used=used,
            streams_pods=streams_pods,
            pods=taken.of_jobs(),
            claims=claimed,
            claims_of=by_job(claimed),
            held=held_of(claimed, index),
            held_exclusively=held_of((each for each in claimed if each.is_exclusive), index),
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def remember(self, what: Hashable, make: Callable[[], T]) -> T:
        """What was made of the cluster under this name; nobody writes into it."""
        if what in self.remembered:
            found: T = self.remembered[what]
            return found
        made = make()
        if len(self.remembered) < REMEMBERED_MAX:
            self.remembered[what] = made
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return self.remember("names", lambda: tuple(node.name for node in self.nodes))

    def free(self, resource: str) -> Ints:
        """What is left of a resource on each node; below 0 where more is promised than there is."""

        def made() -> Ints:
            nothing = np.zeros(len(self), np.int64)
            return self.allocatable.get(resource, nothing) - self.used.get(resource, nothing)

        return self.remember(("free", resource), made)

    def node_of(self, host: str) -> int | None:
        """The node of this name or, where it reads as one, with this address.

        Of several with one address it is the first that is ready: the others are what it was before
        it was set up again.
        """
        address = normalised(host)
        if address is None:
            return self.index.get(host)
        return self._first(self.addresses.get(address, ()))

    def named(self, hosts: Iterable[str]) -> tuple[str, ...]:
        """The nodes of hosts in their order, each once; "" for each host that has none."""
        found: dict[int | str, str] = {}
        for host in hosts:
            at = self.node_of(host)
            if at is None:
                found.setdefault(host, "")
            else:
                found.setdefault(at, self.nodes[at].name)
        return tuple(found.values())

    def among(self, hosts: Iterable[str]) -> Bools:
        """The nodes of hosts, as far as they exist."""
        found = np.zeros(len(self), bool)
        found[[at for host in hosts if (at := self.node_of(host)) is not None]] = True
        return found

    def _first(self, nodes: tuple[int, ...]) -> int | None:
        return min(nodes, key=lambda at: (self.unready[at], at), default=None)

    def open_to(
        self, tolerations: tuple[Toleration, ...], *, cordons: bool = True, readiness: bool = True
    ) -> Bools:
        """Nodes that are ready and not cordoned, and whose taints all are tolerated.

        Without `cordons` cordons and taints count for nothing, without `readiness` it does not
        matter whether a node is up yet.
        """

        def made() -> Bools:
            found = ~(self.unready & readiness | self.cordoned & cordons)
            for taints, where in self.tainted:
                minded = [each for each in taints if (cordons, readiness)[each.key in PASSING]]
                if not all(any(each.tolerates(taint) for each in tolerations) for taint in minded):
                    found[where] = False
            return found

        return self.remember(("open", tolerations, cordons, readiness), made)

    def with_tags(self, tags: Iterable[str]) -> Bools:
        """Nodes that carry all of these tags."""
        found = np.ones(len(self), bool)
        for tag in tags:
            found &= self.tagged.get(tag, np.zeros(len(self), bool))
        return found

    def selected(self, selector: NodeAffinity) -> Bools:
        """Nodes that the template of a pod selects by their labels."""

        def made() -> Bools:
            each = (selector.selects(node.name, node.labels) for node in self.nodes)
            return np.fromiter(each, bool, len(self))

        return self.remember(("selected", selector), made)

    def held_by_others(self, job: str, *, exclusive_only: bool) -> Bools:
        """Nodes that pools of other jobs hold."""
        own = [
            claim
            for claim in self.claims_of.get(job, ())
            if claim.is_exclusive or not exclusive_only
        ]
        total = self.held_exclusively if exclusive_only else self.held
        found: Bools = total > held_of(own, self.index)
        return found

    def used_by_others(self, job: str) -> Bools:
        """Nodes that have pods of other jobs, bound or promised."""
        own = [self.index[pod.node] for pod in self.pods.get(job, ()) if pod.node in self.index]
        found: Bools = self.streams_pods > np.bincount(np.array(own, np.int64), minlength=len(self))
        return found

    def domains(self, topology_key: str) -> Ints:
        """The index of each node's topology domain; -1 if it has none."""

        def made() -> Ints:
            if topology_key == HOSTNAME:
                return np.arange(len(self))
            values = [node.labels.get(topology_key) for node in self.nodes]
            numbers = {value: at for at, value in enumerate(sorted({v for v in values if v}))}
            return np.array([numbers[v] if v else -1 for v in values], np.int64)

        return self.remember(("domains", topology_key), made)


def addresses_of(nodes: Sequence[Node]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for at, node in enumerate(nodes):
        for address in {normalised(each) or each for each in node.addresses}:
            found.setdefault(address, []).append(at)
    return {address: tuple(where) for address, where in found.items()}


def _tagged(nodes: Sequence[Node]) -> dict[str, Bools]:
    members: dict[str, list[int]] = {}
    for at, node in enumerate(nodes):
        for tag in node.tags:
            members.setdefault(tag, []).append(at)
    found = {tag: np.zeros(len(nodes), bool) for tag in members}
    for tag, where in members.items():
        found[tag][where] = True
    return found


def tainted_of(nodes: Sequence[Node]) -> tuple[tuple[tuple[Taint, ...], Ints], ...]:
    """Node indices by the taints that repel pods."""
    kinds: dict[tuple[Taint, ...], list[int]] = {}
    for at, node in enumerate(nodes):
        if node.taints:
            taints = tuple(taint for taint in node.taints if taint.repels)
            kinds.setdefault(taints, []).append(at)
    return tuple((taints, np.array(where, np.int64)) for taints, where in kinds.items())


def _columns(amounts: Sequence[Amounts]) -> dict[str, Ints]:
    names = {name for each in amounts for name in each}
    return {
        name: np.array([capped(each.get(name, 0)) for each in amounts], np.int64)
        for name in sorted(names)
    }


def by_job(claims: Iterable[Claim]) -> dict[str, tuple[Claim, ...]]:
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.job, []).append(claim)
    return {job: tuple(each) for job, each in found.items()}


def held_of(claims: Iterable[Claim], index: Mapping[str, int]) -> Ints:
    """How many of these claims each node has."""
    found = np.zeros(len(index), np.int64)
    for claim in claims:
        if claim.node in index:
            found[index[claim.node]] += 1
    return found
