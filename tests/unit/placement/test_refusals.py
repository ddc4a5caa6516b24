"""What people read when a job has no place: which requirement, and which nodes came closest."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import Taint
from placement.answers import Refused
from placement.cluster import Claim, Cluster
from placement.deciding import decide
from placement.job import Job, Pe, Pool
from placement.nearing import written_amount
from placement.taken import Pod


def node(name: str, *tags: str, **more: object) -> Node:
    labels = {f"tag.streams.ibm.com/{tag}": "" for tag in tags}
    return Node(name, labels, (f"10.0.0.{name[1:]}",), {"cpu": 4000, "pods": 9}, **more)  # type: ignore[arg-type]


NODES = (node("n1", "blue"), node("n2", "blue", "ib"), node("n3"), node("n4"))
APART, TOGETHER = frozenset({"Main.Sink"}), frozenset({"near"})


def _apart(count: int, **more: object) -> tuple[Pe, ...]:
    return tuple(Pe(at, exlocations=APART, **more) for at in range(count))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Demand:
    """An impossible demand, and what is reported of it."""

    name: str
    pes: tuple[Pe, ...]
    why: Reason
    message: str
    pools: tuple[Pool, ...] = ()
    nodes: tuple[Node, ...] = NODES
    pods: tuple[Pod, ...] = ()
    claims: tuple[Claim, ...] = ()
    waits: bool = False
    more: dict[str, object] = field(default_factory=dict)


DEMANDS = (
    Demand(
        "a name that no node has",
        (Pe(0, host="n5"),),
        Reason.HOST_MISSING,
        "PE 0 asks for n5, and no node has that name; "
        "closest: n4 is not n5; n3 is not n5; n2 is not n5",
    ),
    Demand(
        "a name that is like none",
        (Pe(0, host="worker"),),
        Reason.HOST_MISSING,
        "PE 0 asks for worker, and no node has that name; "
        "the cluster has 4 nodes, which `kubectl get nodes` lists",
    ),
    Demand(
        "a name in capitals",
        (Pe(0, host="N3"),),
        Reason.HOST_MISSING,
        "PE 0 asks for N3, and no node has that name; "
        "closest: n3 is not N3; n4 is not N3; n2 is not N3",
    ),
    Demand(
        "an address that no node has",
        (Pe(0, host="10.0.9.9"),),
        Reason.HOST_MISSING,
        "PE 0 asks for 10.0.9.9, and no node has that address; "
        "closest: n4 has 10.0.0.4; n3 has 10.0.0.3; n2 has 10.0.0.2",
    ),
    Demand(
        "a host of a pool that no node is",
        (Pe(0, pool=0),),
        Reason.HOST_MISSING,
        "the pool P names 10.0.9.9, and no node has that address; "
        "closest: n4 has 10.0.0.4; n3 has 10.0.0.3; n2 has 10.0.0.2",
        pools=(Pool(0, "P", hosts=("n1", "10.0.9.9")),),
    ),
    Demand(
        "tags that no node has together",
        (Pe(0, pool=0),),
        Reason.TAG_MISSING,
        "the pool P asks for nodes with the tags blue, red, and no node has them all; "
        "closest: n1 lacks the tag red; n2 lacks the tag red",
        pools=(Pool(0, "P", tags=("blue", "red")),),
    ),
    *(
        Demand(
            f"a place beyond all nodes, {mode}",
            (Pe(0, pool=0, in_pool_index=4),),
            Reason.POOL_TOO_SMALL,
            f"the {mode} pool P, which asks for 5 nodes, of which 4 qualify, finds no place: "
            "fewer nodes qualify than the pools need",
            pools=(Pool(0, "P", is_exclusive=mode == "exclusive"),),
        )
        for mode in ("shared", "exclusive")
    ),
    Demand(
        "a size that tags do not give",
        (Pe(0, pool=0),),
        Reason.POOL_TOO_SMALL,
        "the shared pool P, which asks for 3 nodes with the tag blue, of which 2 qualify, finds "
        "no place: fewer nodes qualify than the pools need (without tags there would be one); "
        "closest: n3 lacks the tag blue; n4 lacks the tag blue",
        pools=(Pool(0, "P", tags=("blue",), size=3),),
    ),
    Demand(
        "a place that the pool does not have",
        (Pe(0, pool=0, in_pool_index=2),),
        Reason.CONSTRAINTS_CONTRADICT,
        "PE 0 asks for place 2 of the pool P, which has 2",
        pools=(Pool(0, "P", hosts=("n1", "n2")),),
    ),
    Demand(
        "exclusive nodes that others hold",
        (Pe(0, pool=0),),
        Reason.NODES_CLAIMED,
        "PE 0 to be in the pool P, finds no place: nodes that qualify are held by others, or used "
        "by them (without tags there would be one); closest: n1 is held by the pool Q of "
        "default/other; n2 runs PEs of default/third; n3 lacks the tag blue",
        pools=(Pool(0, "P", tags=("blue",), is_exclusive=True),),
        claims=(Claim("n1", "default/other", "Q", is_exclusive=True),),
        pods=(Pod("n2", {}, "default/third", 1),),
    ),
    Demand(
        "exclusive nodes that other namespaces hold, whose jobs and pools are not named",
        (Pe(0, pool=0),),
        Reason.NODES_CLAIMED,
        "PE 0 to be in the pool P, finds no place: nodes that qualify are held by others, or used "
        "by them (without tags there would be one); closest: n1 is held by a pool of another "
        "namespace; n2 runs PEs of another namespace; n3 lacks the tag blue",
        pools=(Pool(0, "P", tags=("blue",), is_exclusive=True),),
        claims=(
            Claim("n1", "b/secret", "merger", is_exclusive=True),
            Claim("n1", "c/secret", "merger", is_exclusive=False),
        ),
        pods=(Pod("n2", {}, "b/other", 1), Pod("n2", {}, "ab/other", 1)),
    ),
    Demand(
        "an exclusive node that jobs of several namespaces use",
        (Pe(0, pool=0),),
        Reason.NODES_CLAIMED,
        "the exclusive pool P, which asks for 1 node, of which 0 qualify, finds no place: nodes "
        "that qualify are held by others, or used by them (without named hosts there would be "
        "one); closest: n2 runs PEs of default/z and 1 more",
        pools=(Pool(0, "P", hosts=("n2",), is_exclusive=True),),
        pods=(Pod("n2", {}, "default/z", 1), Pod("n2", {}, "b/secret", 1)),
    ),
    Demand(
        "a host that others hold",
        (Pe(0, host="n3"),),
        Reason.NODES_CLAIMED,
        "PE 0 to be on n3, finds no place: nodes that qualify are held by others, or used by them "
        "(without named hosts there would be one); closest: n3 is held by the pool Q of "
        "default/other; n1 is not n3; n2 is not n3",
        claims=(Claim("n3", "default/other", "Q", is_exclusive=True),),
    ),
    Demand(
        "more of an exlocation than hosts",
        _apart(5),
        Reason.EXLOCATION_IMPOSSIBLE,
        "PE 0 (and 4 like it) to be apart from others of exlocation Main.Sink, finds no place: "
        "there are not enough places for what must be apart (5 ask for one each, and 4 nodes "
        "qualify); closest: n1 has room for 1 of the 5; n2 has room for 1 of the 5; n3 has room "
        "for 1 of the 5",
    ),
    Demand(
        "an isolated PE beside another on one host",
        (Pe(0, is_isolated=True), Pe(1)),
        Reason.EXLOCATION_IMPOSSIBLE,
        "PE 1 finds no place: there are not enough places for what must be apart; "
        "closest: n1 is taken up by other PEs of the job",
        nodes=NODES[:1],
    ),
    Demand(
        "a colocation of two pools that share no node",
        (Pe(0, pool=0, colocations=TOGETHER), Pe(1, pool=1, colocations=TOGETHER)),
        Reason.COLOCATION_IMPOSSIBLE,
        "PE 0 with PE 1 to be in the pool P and in the pool Q, finds no place: what must be "
        "together fits on no place together (without tags there would be one); "
        "closest: n1 lacks the tag red; n2 lacks the tag red; n3 lacks the tag blue",
        pools=(Pool(0, "P", tags=("blue",)), Pool(1, "Q", tags=("red",))),
        nodes=(*NODES[:2], node("n3", "red")),
    ),
    Demand(
        "a colocation that is larger than every node",
        tuple(Pe(at, {"cpu": 2500}, colocations=TOGETHER) for at in range(2)),
        Reason.INSUFFICIENT_CAPACITY,
        "PE 0 with PE 1, which asks for 5 cpu, finds no place: nodes that qualify have too little "
        "free, or are not ready yet (without colocation there would be one); "
        "closest: n1 lacks 1 cpu; n2 lacks 1 cpu; n3 lacks 1 cpu",
        waits=True,
    ),
    Demand(
        "PEs that must and must not be together",
        (
            Pe(0, colocations=TOGETHER, exlocations=APART),
            Pe(1, colocations=TOGETHER, exlocations=APART),
        ),
        Reason.CONSTRAINTS_CONTRADICT,
        "PE 0 and PE 1 must be together, and must not be (exlocation Main.Sink)",
    ),
    Demand(
        "a request that nothing has left",
        (Pe(0, {"cpu": 6000}),),
        Reason.INSUFFICIENT_CAPACITY,
        "PE 0, which asks for 6 cpu, finds no place: nodes that qualify have too little free, or "
        "are not ready yet; closest: n1 lacks 2 cpu; n2 lacks 2 cpu; n3 lacks 2 cpu",
        waits=True,
    ),
    Demand(
        "a host that is cordoned",
        (Pe(0, host="n1"),),
        Reason.NODES_CLOSED,
        "PE 0 to be on n1, finds no place: nodes that qualify are cordoned or tainted (without "
        "named hosts there would be one); closest: n1 is cordoned and has the taint "
        "gpu=a100:NoSchedule; n2 is not n1; n3 is not n1",
        nodes=(node("n1", unschedulable=True, taints=(Taint("gpu", "a100"),)), *NODES[1:]),
    ),
    Demand(
        "a host that is cordoned and full",
        (Pe(0, {"cpu": 1000}, host="n1"),),
        Reason.NODES_CLOSED,
        "PE 0, which asks for 1 cpu, to be on n1, finds no place: nodes that qualify have too "
        "little free, or are not ready yet, and nodes that qualify are cordoned or tainted "
        "(without named hosts there would be one); closest: n1 is cordoned and lacks 500m cpu; "
        "n2 is not n1; n3 is not n1",
        nodes=(node("n1", unschedulable=True), *NODES[1:]),
        pods=(Pod("n1", {"cpu": 3500}),),
    ),
    Demand(
        "a host that another job holds, and fills",
        (Pe(0, {"cpu": 1000}, host="n1"),),
        Reason.NODES_CLAIMED,
        "PE 0, which asks for 1 cpu, to be on n1, finds no place: nodes that qualify have too "
        "little free, or are not ready yet, and nodes that qualify are held by others, or used by "
        "them (without named hosts there would be one); closest: n1 is held by the pool Q of "
        "default/x and lacks 500m cpu; n2 is not n1; n3 is not n1",
        pods=(Pod("n1", {"cpu": 3500}, "default/x", 0),),
        claims=(Claim("n1", "default/x", "Q", is_exclusive=True),),
    ),
    Demand(
        "the only node with the tag cordoned, and not ready",
        (Pe(0, pool=0),),
        Reason.NODES_CLOSED,
        "PE 0 to be in the pool P, finds no place: nodes that qualify have too little free, or "
        "are not ready yet, and nodes that qualify are cordoned or tainted (without tags there "
        "would be one); closest: n2 is not ready and is cordoned; n1 lacks the tag ib; "
        "n3 lacks the tag ib",
        pools=(Pool(0, "P", tags=("ib",)),),
        nodes=(NODES[0], node("n2", "ib", unschedulable=True, ready=False), *NODES[2:]),
    ),
    Demand(
        "more apart than nodes of which one is cordoned",
        _apart(4),
        Reason.NODES_CLOSED,
        "PE 0 (and 3 like it) to be apart from others of exlocation Main.Sink, finds no place: "
        "nodes that qualify are cordoned or tainted (without exlocation and isolation there would "
        "be one); closest: n3 is cordoned; n1 has room for 1 of the 4; n2 has room for 1 of the 4",
        nodes=(*NODES[:2], node("n3", unschedulable=True), NODES[3]),
    ),
    Demand(
        "a size that counts a node which is not ready",
        (Pe(0, pool=0),),
        Reason.INSUFFICIENT_CAPACITY,
        "the shared pool P, which asks for 2 nodes with the tag blue, of which 1 qualifies, finds "
        "no place: nodes that qualify have too little free, or are not ready yet (without pool "
        "size, or tags there would be one); closest: n2 is not ready; n3 lacks the tag blue; "
        "n4 lacks the tag blue",
        pools=(Pool(0, "P", tags=("blue",), size=2),),
        nodes=(NODES[0], node("n2", "blue", ready=False), *NODES[2:]),
        waits=True,
    ),
    Demand(
        "named hosts of which another job holds one",
        (Pe(0, pool=0),),
        Reason.NODES_CLAIMED,
        "the shared pool P, which asks for 2 nodes, of which 1 qualifies, finds no place: nodes "
        "that qualify are held by others, or used by them (without named hosts there would be "
        "one); closest: n1 is held by the pool Q of default/other",
        pools=(Pool(0, "P", hosts=("n1", "n2")),),
        claims=(Claim("n1", "default/other", "Q", is_exclusive=True),),
    ),
    Demand(
        "an exclusive pool that leaves nothing to the other one of its job",
        (Pe(0, pool=0), Pe(1, pool=1)),
        Reason.POOL_TOO_SMALL,
        "the shared pool Q, which asks for 1 node with the tag blue, of which 2 qualify, finds "
        "no place: the exclusive pool P of the same job needs nodes of its own, and too few are "
        "left (without pool size, or tags there would be one); closest: n3 lacks the tag blue; "
        "n4 lacks the tag blue",
        pools=(
            Pool(0, "P", tags=("blue",), size=2, is_exclusive=True),
            Pool(1, "Q", tags=("blue",), size=1),
        ),
    ),
    Demand(
        "an exclusive pool that leaves nothing to the rest of its job",
        (Pe(0, host="n1"), Pe(1, pool=0)),
        Reason.POOL_TOO_SMALL,
        "the exclusive pool P, which asks for 2 nodes with the tag blue, of which 2 qualify, "
        "finds no place: the rest of the job needs nodes beside it, and too few are left (without "
        "pool size, or named hosts, or tags there would be one); closest: n3 lacks the tag blue; "
        "n4 lacks the tag blue",
        pools=(Pool(0, "P", tags=("blue",), size=2, is_exclusive=True),),
    ),
    Demand(
        "a tag that no node has",
        (Pe(0, pool=0),),
        Reason.TAG_MISSING,
        "the pool P asks for nodes with the tag red, and no node has it; "
        "closest: n1 lacks the tag red; n2 lacks the tag red; n3 lacks the tag red",
        pools=(Pool(0, "P", tags=("red",)),),
    ),
    Demand(
        "tags of two pools that no node has",
        (Pe(0, pool=0), Pe(1, pool=1), Pe(2, pool=2)),
        Reason.TAG_MISSING,
        "the pool P asks for nodes with the tag red, and no node has it; the pool R asks for nodes "
        "with the tags blue, green, and no node has them all; closest: n1 lacks the tag green and "
        "lacks the tag red; n2 lacks the tag green and lacks the tag red",
        pools=(
            Pool(0, "P", tags=("red",)),
            Pool(1, "Q", tags=("blue",)),
            Pool(2, "R", tags=("blue", "green")),
        ),
    ),
    Demand(
        "a name with a space that nobody would see",
        (Pe(0, host=" n1"),),
        Reason.HOST_MISSING,
        'PE 0 asks for " n1", and no node has that name; '
        'closest: n1 is not " n1"; n4 is not " n1"; n3 is not " n1"',
    ),
    Demand(
        "labels that no node has",
        (Pe(0, node_selector={"disk": "ssd"}),),
        Reason.LABELS_MISSING,
        "PE 0 finds no place: nodes that qualify lack labels that the template of the pods asks "
        "for; closest: n1 lacks the label disk=ssd; n2 lacks the label disk=ssd; "
        "n3 lacks the label disk=ssd",
    ),
    Demand(
        "a host outside the pool",
        (Pe(0, host="n3", pool=0),),
        Reason.HOST_UNFIT,
        "PE 0 to be on n3 and in the pool P, finds no place: the hosts that are named cannot take "
        "it (without tags there would be one); closest: n3 lacks the tag blue; "
        "n1 is not n3; n2 is not n3",
        pools=(Pool(0, "P", tags=("blue",)),),
    ),
)


@pytest.mark.parametrize("demand", DEMANDS, ids=[demand.name for demand in DEMANDS])
def test_a_refusal_says_which_requirement_and_which_nodes_came_closest(demand: Demand) -> None:
    cluster = Cluster.of(demand.nodes, demand.pods, demand.claims)
    decided = decide(cluster, Job("default/job", demand.pes, demand.pools))
    assert isinstance(decided, Refused), decided
    assert decided.message == demand.message
    assert decided.why is demand.why
    assert decided.waits is demand.waits
    for near in decided.nearest:
        assert str(near) in decided.message


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        (500, "500m cpu"),
        (1000, "1 cpu"),
        (10_000, "10 cpu"),
        (68_500, "68.5 cpu"),
        (1_010, "1.01 cpu"),
    ],
)
def test_an_amount_of_cpu_is_written_as_people_write_it(amount: int, written: str) -> None:
    assert written_amount("cpu", amount) == written
