"""What is known of the cluster: nodes, what runs or is promised on them, and who holds them.

`Node`, `Pod` and `Claim` are plain values that facts and Placements are turned into; `Cluster.of`
makes arrays of them once, and every decision of a pass over all waiting jobs reads the same arrays.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Amounts = Mapping[str, int]
"""By resource: "cpu" in milli-CPU, "memory" in bytes, "pods" and others as they are counted."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

HOSTNAME = "kubernetes.io/hostname"
TAG_PREFIX = "tag.streams.ibm.com/"
ORIGINAL_TAG = "streams.ibm.com/hostpool"
PODS = "pods"
KEEPS_OUT = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod; an empty key or effect stands for every one."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether the taint does not keep the pod out."""
        if self.effect not in ("", taint.effect):
            return False
        if self.operator == "Exists":
            return self.key in ("", taint.key)
        return self.key == taint.key and self.value == taint.value


@dataclass(frozen=True, slots=True)
class Node:
    """A node; `taints` without those that node-tainter puts there for a claim."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    allocatable: Amounts = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True

    @property
    def tags(self) -> frozenset[str]:
        """The tags that it carries, in our form and in the original's."""
        found = {key.removeprefix(TAG_PREFIX) for key in self.labels if key.startswith(TAG_PREFIX)}
        original = self.labels.get(ORIGINAL_TAG, "")
        return frozenset(found | {original} if original else found)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that is bound to a node; or one that will be, of a PE whose job has been placed there.

    `job` (namespace/name) is empty where the pod is none of Streams; `is_bound` tells the two
    apart: what is bound stays where it is. `requests` does not count the pod itself.
    """

    node: str
    requests: Amounts
    job: str = ""
    pe: int = -1
    is_bound: bool = True


@dataclass(frozen=True, slots=True)
class Claim:
    """That a pool of a job has a node.

    Exclusive pools claim their members; shared ones only where the application counts or names
    them: others hold on to no node, so that an exclusive pool may take it.
    """

    node: str
    job: str
    pool: str
    is_exclusive: bool


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """The cluster as arrays over its nodes, by name. Nobody writes into the arrays."""

    nodes: tuple[Node, ...]
    index: Mapping[str, int]
    addresses: Mapping[str, int]
    tagged: Mapping[str, Bools]
    closed: Bools
    tainted: tuple[tuple[tuple[Taint, ...], Ints], ...]
    allocatable: Mapping[str, Ints]
    used: Mapping[str, Ints]
    streams_pods: Ints
    pods: Mapping[str, tuple[Pod, ...]]
    claims: tuple[Claim, ...]

    @classmethod
    def of(
        cls, nodes: Iterable[Node], pods: Iterable[Pod] = (), claims: Iterable[Claim] = ()
    ) -> Cluster:
        """Arrays of values. What speaks of a node that does not exist counts nowhere."""
        ordered = tuple(sorted(nodes, key=lambda node: node.name))
        index = {node.name: at for at, node in enumerate(ordered)}
        used, streams_pods, of_jobs = _taken(pods, index)
        return cls(
            nodes=ordered,
            index=index,
            addresses=_addresses(ordered),
            tagged=_tagged(ordered),
            closed=np.array([node.unschedulable or not node.ready for node in ordered], bool),
            tainted=_tainted(ordered),
            allocatable=_columns([node.allocatable for node in ordered]),
            used=used,
            streams_pods=streams_pods,
            pods={job: tuple(each) for job, each in of_jobs.items()},
            claims=tuple(sorted(claims, key=lambda claim: (claim.node, claim.job, claim.pool))),
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def free(self, resource: str) -> Ints:
        """What is left of a resource on each node; below 0 where more is promised than there is."""
        nothing = np.zeros(len(self), np.int64)
        return self.allocatable.get(resource, nothing) - self.used.get(resource, nothing)

    def node_of(self, host: str) -> int | None:
        """The node of this name or, where it reads as one, with this address."""
        address = normalised(host)
        return self.index.get(host) if address is None else self.addresses.get(address)

    def open_to(self, tolerations: Iterable[Toleration]) -> Bools:
        """Nodes that are ready, not cordoned, and whose taints all are tolerated."""
        tolerated = tuple(tolerations)
        found = ~self.closed
        for taints, where in self.tainted:
            if not all(any(each.tolerates(taint) for each in tolerated) for taint in taints):
                found[where] = False
        return found

    def with_tags(self, tags: Iterable[str]) -> Bools:
        """Nodes that carry all of these tags."""
        found = np.ones(len(self), bool)
        for tag in tags:
            found &= self.tagged.get(tag, np.zeros(len(self), bool))
        return found

    def domains(self, topology_key: str) -> Ints:
        """The number of each node's topology domain; -1 where a node is in none."""
        if topology_key == HOSTNAME:
            return np.arange(len(self))
        values = [node.labels.get(topology_key) for node in self.nodes]
        numbers = {value: at for at, value in enumerate(sorted({v for v in values if v}))}
        return np.array([numbers[v] if v else -1 for v in values], np.int64)


def normalised(host: str) -> str | None:
    """An IPv4 or IPv6 address in its one form; None for what is no address."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return None


def _addresses(nodes: Sequence[Node]) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, node in enumerate(nodes):
        for address in node.addresses:
            found.setdefault(normalised(address) or address, at)
    return found


def _tagged(nodes: Sequence[Node]) -> dict[str, Bools]:
    members: dict[str, list[int]] = {}
    for at, node in enumerate(nodes):
        for tag in node.tags:
            members.setdefault(tag, []).append(at)
    found = {tag: np.zeros(len(nodes), bool) for tag in members}
    for tag, where in members.items():
        found[tag][where] = True
    return found


def _tainted(nodes: Sequence[Node]) -> tuple[tuple[tuple[Taint, ...], Ints], ...]:
    """Nodes by what keeps pods out of them."""
    kinds: dict[tuple[Taint, ...], list[int]] = {}
    for at, node in enumerate(nodes):
        if node.taints:
            taints = tuple(taint for taint in node.taints if taint.effect in KEEPS_OUT)
            kinds.setdefault(taints, []).append(at)
    return tuple((taints, np.array(where, np.int64)) for taints, where in kinds.items())


def _columns(amounts: Sequence[Amounts]) -> dict[str, Ints]:
    names = {name for each in amounts for name in each}
    return {
        name: np.array([each.get(name, 0) for each in amounts], np.int64) for name in sorted(names)
    }


def _taken(
    pods: Iterable[Pod], index: Mapping[str, int]
) -> tuple[dict[str, Ints], Ints, dict[str, list[Pod]]]:
    used: dict[str, Ints] = {PODS: np.zeros(len(index), np.int64)}
    streams_pods = np.zeros(len(index), np.int64)
    of_jobs: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.job:
            of_jobs.setdefault(pod.job, []).append(pod)
        at = index.get(pod.node)
        if at is None:
            continue
        used[PODS][at] += 1
        streams_pods[at] += bool(pod.job)
        for name, amount in pod.requests.items():
            if name not in used:
                used[name] = np.zeros(len(index), np.int64)
            used[name][at] += amount
    return used, streams_pods, of_jobs
