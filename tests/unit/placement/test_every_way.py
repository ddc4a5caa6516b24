"""Random small clusters and jobs: placed if and only if trying every way finds a placement."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.labels import HOSTNAME
from contracts.scheduling.node_affinity import NodeSelectorTerm
from contracts.scheduling.nodes import Node
from contracts.scheduling.selectors import Requirement
from contracts.scheduling.taints import Taint
from placement.answers import Placed, Refused
from placement.checking import violations
from placement.cluster import Claim, Cluster
from placement.deciding import decide
from placement.job import DEFAULT_POOL, Job, Pe, Pool
from placement.taken import Pod
from tests.unit.placement.brute_force import Case, has_placement

OWN, OTHER = "default/job", "default/other"
TAGS = "ab"
_TERMS = (
    NodeSelectorTerm((Requirement("zone", "NotIn", ("x",)),)),
    NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ("n0",)),)),
)


def _nodes(draw: random.Random) -> tuple[Node, ...]:
    return tuple(
        Node(
            name=f"n{at}",
            labels={f"tag.streams.ibm.com/{tag}": "" for tag in TAGS if draw.random() < 0.6}
            | ({"zone": draw.choice("xy")} if draw.random() < 0.8 else {}),
            addresses=(f"10.0.0.{at}",),
            allocatable={
                "cpu": draw.choice([1, 2, 3, 4]),
                "memory": draw.choice([2, 4]),
                "pods": draw.choice([1, 2, 3, 5]),
            },
            taints=(Taint("t"),) if draw.random() < 0.05 else (),
            unschedulable=draw.random() < 0.05,
            ready=draw.random() > 0.05,
        )
        for at in range(draw.randint(1, 4))
    )


def _pools(draw: random.Random, nodes: int) -> tuple[Pool, ...]:
    found = []
    for index in range(draw.choice([0, 0, 1, 1, 2, 3])):
        if draw.random() < 0.2:
            found.append(Pool(index, DEFAULT_POOL))
            continue
        hosts: tuple[str, ...] = ()
        if draw.random() < 0.25:
            at = draw.sample(range(nodes), draw.randint(1, min(2, nodes)))
            hosts = tuple(draw.choice([f"n{each}", f"10.0.0.{each}"]) for each in at)
        found.append(
            Pool(
                index=index,
                name=f"P{index}",
                is_exclusive=draw.random() < 0.5,
                size=None if hosts else draw.choice([None, 1, 2]),
                tags=() if hosts else _some(draw, TAGS, 0.3),
                hosts=hosts,
            )
        )
    return tuple(found)


def _some(draw: random.Random, items: Sequence[str], share: float) -> tuple[str, ...]:
    return tuple(item for item in items if draw.random() < share)


def _pes(draw: random.Random, nodes: int, pools: int) -> tuple[Pe, ...]:
    found = []
    for number in range(draw.randint(1, 4)):
        pool = draw.choice([None, *range(pools)])
        host = draw.choice([f"n{draw.randrange(nodes)}", f"10.0.0.{draw.randrange(nodes)}"])
        found.append(
            Pe(
                id=number,
                requests={"cpu": draw.choice([0, 1, 2]), "memory": draw.choice([0, 1, 2])},
                host=host if draw.random() < 0.15 else "",
                pool=pool,
                in_pool_index=None if pool is None else draw.choice([None, None, 0, 1]),
                colocations=frozenset(_some(draw, "cd", 0.2)),
                exlocations=frozenset(_some(draw, "ef", 0.25)),
                is_isolated=draw.random() < 0.12,
                assigned=f"n{draw.randrange(nodes)}" if draw.random() < 0.2 else "",
                node_selector={"zone": draw.choice("xy")} if draw.random() < 0.08 else {},
                node_selector_terms=(_TERMS if draw.random() < 0.05 else ()),
            )
        )
    return tuple(found)


def a_case(seed: int) -> Case:
    """A cluster that others use as well, and a job of which pods may be leaving."""
    draw = random.Random(seed)
    nodes = _nodes(draw)
    pools = _pools(draw, len(nodes))
    pods = tuple(
        Pod(draw.choice(nodes).name, {"cpu": draw.choice([0, 1])}, job, 70 + at)
        for at, job in enumerate(draw.choices(["", OTHER, OWN], k=draw.choice([0, 0, 1, 2, 3])))
    )
    claims = [Claim(draw.choice(nodes).name, OTHER, "X", draw.random() < 0.5)]
    job = Job(
        name=OWN,
        pes=_pes(draw, len(nodes), len(pools)),
        pools=pools,
        topology_key=draw.choice([HOSTNAME, HOSTNAME, "zone"]),
        is_required=draw.random() < 0.85,
    )
    return Case(nodes, pods, tuple(claims[: draw.choice([0, 0, 1])]), job)


def judge(case: Case) -> Placed | Refused:
    """Decides, and holds the decision against every way."""
    cluster = Cluster.of(case.nodes, case.pods, case.claims)
    decided = decide(cluster, case.job)
    assert isinstance(decided, Placed | Refused), decided
    assert isinstance(decided, Placed) == has_placement(case), decided
    if isinstance(decided, Placed):
        assert violations(cluster, case.job, decided) == []
        assert _is_one_of_the_ways(case, decided)
    return decided


def _is_one_of_the_ways(case: Case, decided: Placed) -> bool:
    """Every PE, as if its node were the only one that it may have, still has a placement."""
    there = replace(
        case.job,
        pes=tuple(
            pe if pe.id in case.running else replace(pe, host=decided.assignment[pe.id])
            for pe in case.job.pes
        ),
    )
    return has_placement(replace(case, job=there))


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_a_job_is_placed_exactly_if_there_is_a_way(seed: int) -> None:
    judge(a_case(seed))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_change_of_a_job_that_runs_is_placed_exactly_if_there_is_a_way(seed: int) -> None:
    """Some PEs have their pods, one has none yet or is new, and a node may be closed meanwhile."""
    case, draw = a_case(seed), random.Random(seed)
    before = decide(Cluster.of(case.nodes, case.pods, case.claims), case.job)
    if not isinstance(before, Placed) or not before.is_as_preferred:
        return
    running = [pe for pe in case.job.pes[1:] if draw.random() < 0.7]
    pods = tuple(Pod(before.assignment[pe.id], pe.requests, OWN, pe.id) for pe in running)
    members = {each.pool: each.nodes for each in before.pools}
    closed = draw.choice([*case.nodes, None])
    after = replace(
        case,
        nodes=tuple(
            replace(each, unschedulable=each.unschedulable or each is closed) for each in case.nodes
        ),
        pods=(*case.pods, *pods),
        job=replace(
            case.job,
            pes=tuple(replace(pe, assigned=before.assignment[pe.id]) for pe in case.job.pes),
            pools=tuple(
                replace(each, members=members.get(each.index, ())) for each in case.job.pools
            ),
        ),
    )
    decided = judge(after)
    if isinstance(decided, Placed):
        for pe in running:
            assert decided.assignment[pe.id] == before.assignment[pe.id]
    if closed is None:
        assert isinstance(decided, Placed)
        assert decided.assignment == before.assignment
        assert decided.pools == before.pools
