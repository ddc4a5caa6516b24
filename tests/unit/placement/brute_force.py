"""Whether a small job has a placement at all, by trying every one: no array, no solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

from contracts.labels import HOSTNAME
from contracts.scheduling.nodes import Node
from placement.cluster import Claim
from placement.job import Job, Pe, Pool
from placement.taken import Pod

Members = Mapping[int, frozenset[str]]


@dataclass(frozen=True)
class Case:
    """A cluster and a job, as values."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    claims: tuple[Claim, ...]
    job: Job

    @property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @property
    def running(self) -> dict[int, str]:
        ids = {pe.id for pe in self.job.pes}
        own = (pod for pod in self.pods if pod.job == self.job.name and pod.is_bound)
        return {pod.pe: pod.node for pod in own if pod.pe in ids}


def has_placement(case: Case) -> bool:
    """Whether any assignment with any choice of members holds every constraint."""
    moving = [pe for pe in case.job.pes if pe.id not in case.running]
    for members in _choices(case):
        options = [
            [node for node in case.nodes if _may_run(case, pe, node, members)] for pe in moving
        ]
        for nodes in product(*options):
            where = dict(case.running)
            where.update({pe.id: node.name for pe, node in zip(moving, nodes, strict=True)})
            if _holds(case, where, {pe.id for pe in moving}, members):
                return True
    return False


def _is_open(node: Node) -> bool:
    return node.ready and not node.unschedulable and not node.taints


def _named(case: Case, host: str) -> str | None:
    for node in sorted(case.nodes, key=lambda node: node.name):
        if host == node.name or host in node.addresses:
            return node.name
    return None


def _pools(case: Case) -> list[Pool]:
    return [pool for pool in case.job.pools if not pool.is_default]


def _least(case: Case, pool: Pool) -> int:
    places = [pe.in_pool_index for pe in case.job.pes if pe.pool == pool.index]
    return max([0, int(bool(pool.tags)), *(place + 1 for place in places if place is not None)])


def _runs(case: Case, pool: Pool) -> frozenset[str]:
    ids = {pe.id for pe in case.job.pes if pe.pool == pool.index}
    others = [claim for claim in case.claims if claim.job != case.job.name]
    held = {claim.node for claim in others if claim.is_exclusive or pool.is_exclusive}
    return frozenset(node for pe, node in case.running.items() if pe in ids) - held


def _may_be_member(case: Case, pool: Pool, node: Node) -> bool:
    if node.name in _runs(case, pool):
        return True
    if pool.hosts:
        if node.name not in [_named(case, host) for host in pool.hosts]:
            return False
    elif not (_is_open(node) and set(pool.tags) <= node.tags):
        return False
    others = [each for each in case.claims if each.node == node.name and each.job != case.job.name]
    if any(claim.is_exclusive or pool.is_exclusive for claim in others):
        return False
    if not pool.is_exclusive:
        return True
    others_of_job = [each.index for each in _pools(case) if each.index != pool.index]
    ids = {pe.id for pe in case.job.pes if pe.pool in others_of_job}
    outside = [pe for pe, at in case.running.items() if at == node.name and pe in ids]
    foreign = [pod for pod in case.pods if pod.job not in ("", case.job.name)]
    return not outside and all(pod.node != node.name for pod in foreign)


def _choices(case: Case) -> Iterator[Members]:
    """Every way to choose the members of every pool."""
    pools = _pools(case)
    for chosen in product(*(_member_sets(case, pool) for pool in pools)):
        members = {pool.index: found for pool, found in zip(pools, chosen, strict=True)}
        exclusive = [pool for pool in pools if pool.is_exclusive]
        for pool in pools:
            if not (pool.is_exclusive or pool.hosts or pool.size is not None):
                taken = frozenset(chain.from_iterable(members[each.index] for each in exclusive))
                members[pool.index] -= taken
        apart = all(
            not members[one.index] & members[other.index]
            for one in exclusive
            for other in pools
            if other is not one
        )
        enough = all(pool.hosts or len(members[pool.index]) >= _least(case, pool) for pool in pools)
        if apart and enough:
            yield members


def _member_sets(case: Case, pool: Pool) -> list[frozenset[str]]:
    names = [node.name for node in case.nodes if _may_be_member(case, pool, node)]
    if pool.hosts:
        asked = frozenset(_named(case, host) or "?" for host in pool.hosts)
        return [asked] if asked <= set(names) else []
    if pool.size is not None:
        sets: Sequence[frozenset[str]] = [frozenset(s) for s in combinations(names, pool.size)]
    elif pool.is_exclusive:
        sizes = range(len(names) + 1)
        sets = [frozenset(each) for size in sizes for each in combinations(names, size)]
    else:
        sets = [frozenset(names)]
    return [each for each in sets if _runs(case, pool) <= each]


def _may_run(case: Case, pe: Pe, node: Node, members: Members) -> bool:
    if not _is_open(node) or (pe.host and _named(case, pe.host) != node.name):
        return False
    if any(node.labels.get(key) != value for key, value in pe.node_selector.items()):
        return False
    if pe.node_selector_terms and node.labels.get("zone") == "x" and node.name != "n0":
        return False  # the only terms that cases have
    if pe.pool is not None and pe.pool in members and node.name not in members[pe.pool]:
        return False
    for pool in _pools(case):
        if pool.is_exclusive and pool.index != pe.pool and node.name in members[pool.index]:
            return False
    return not any(
        claim.is_exclusive and claim.node == node.name and claim.job != case.job.name
        for claim in case.claims
    )


def _holds(case: Case, where: Mapping[int, str], moving: set[int], members: Members) -> bool:
    return (
        _fits(case, where, moving)
        and (not case.job.is_required or _neighbours_agree(case, where, moving))
        and all(_places_agree(case, pool, where) for pool in _pools(case))
    )


def _fits(case: Case, where: Mapping[int, str], moving: set[int]) -> bool:
    by_id = {pe.id: pe for pe in case.job.pes}
    for name in {where[pe] for pe in moving}:
        allocatable = case.by_name[name].allocatable
        here = [by_id[pe].requests for pe, node in where.items() if node == name]
        here += [pod.requests for pod in case.pods if pod.node == name and pod.job != case.job.name]
        for resource in {key for requests in here for key in requests}:
            asked = sum(each.get(resource, 0) for each in here)
            new = [pe for pe in moving if where[pe] == name]
            asks = any(by_id[pe].requests.get(resource) for pe in new)
            if asks and asked > allocatable.get(resource, 0):
                return False
        if len(here) > allocatable.get("pods", 0):
            return False
    return True


def _domain(case: Case, name: str) -> str | None:
    key = case.job.topology_key
    return name if key == HOSTNAME else case.by_name[name].labels.get(key)


def _neighbours_agree(case: Case, where: Mapping[int, str], moving: set[int]) -> bool:
    place = {pe: _domain(case, name) for pe, name in where.items()}
    for pe in case.job.pes:
        asks = pe.colocations or pe.exlocations or pe.is_isolated
        if asks and pe.id in moving and place[pe.id] is None:
            return False
    for one, other in combinations(case.job.pes, 2):
        if not {one.id, other.id} & moving:
            continue
        is_same = place[one.id] is not None and place[one.id] == place[other.id]
        if one.colocations & other.colocations and not is_same:
            return False
        is_apart = one.exlocations & other.exlocations or one.is_isolated or other.is_isolated
        if is_same and is_apart:
            return False
    return True


def _places_agree(case: Case, pool: Pool, where: Mapping[int, str]) -> bool:
    """pool[i] is one node, of named hosts the i-th, and no other place's."""
    places: dict[int, set[str]] = {}
    for pe in case.job.pes:
        if pe.pool == pool.index and pe.in_pool_index is not None:
            places.setdefault(pe.in_pool_index, set()).add(where[pe.id])
    if pool.hosts:
        return all(
            at < len(pool.hosts) and nodes == {_named(case, pool.hosts[at])}
            for at, nodes in places.items()
        )
    nodes = [node for each in places.values() for node in each]
    return all(len(each) == 1 for each in places.values()) and len(set(nodes)) == len(nodes)
