"""What is asked that nobody can be given, or that is too large to count, and clusters that are not
there yet: each ends in a clear answer, whatever was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from contracts.scheduling.requests import AMOUNT_MAX
from contracts.scheduling.taints import Taint
from placement.answers import Answer, Family, Placed, Refused
from placement.checking import violations
from placement.cluster import Claim, Cluster
from placement.deciding import decide
from placement.job import Job, Pe, Pool
from placement.taken import Pod


def node(number: int, *tags: str, **more: object) -> Node:
    labels = {f"tag.streams.ibm.com/{tag}": "" for tag in tags}
    made = Node(f"n{number}", labels, (f"10.0.0.{number}",), {"cpu": 4000, "pods": 10})
    return replace(made, **more)  # type: ignore[arg-type]


NODES = tuple(node(number, *(["blue"] if number < 3 else [])) for number in range(5))


def job(*pes: Pe, pools: tuple[Pool, ...] = ()) -> Job:
    return Job("default/job", pes, pools)


def answer(asked: Job, *nodes: Node, pods: tuple[Pod, ...] = ()) -> Answer:
    cluster = Cluster.of(nodes or NODES, pods)
    decided = decide(cluster, asked)
    if isinstance(decided, Placed):
        assert violations(cluster, asked, decided) == []
    return decided


# --------------------------------------------------------------------------- amounts


@pytest.mark.parametrize("amount", [2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30])
def test_requests_of_any_size_are_refused_by_what_nodes_lack(amount: int) -> None:
    pes = tuple(Pe(at, {"cpu": amount, "memory": amount}) for at in range(3))
    decided = answer(job(*pes, Pe(9, {"cpu": 1})))
    assert isinstance(decided, Refused)
    assert decided.why is Reason.INSUFFICIENT_CAPACITY
    assert decided.waits


@pytest.mark.parametrize("amount", [2**62, 2**63, 10**30])
def test_nodes_that_have_more_than_can_be_counted_have_as_much_as_can(amount: int) -> None:
    large = node(0, allocatable={"cpu": amount, "memory": amount, "pods": 5000})
    pes = tuple(Pe(at, {"cpu": 2**42, "memory": 2**43}) for at in range(1000))
    assert isinstance(answer(job(*pes), large), Placed)
    assert isinstance(
        answer(job(*(replace(pe, colocations=frozenset("c")) for pe in pes))), Refused
    )


@pytest.mark.parametrize("amount", [2**53, 2**61, 10**30])
def test_what_cannot_be_counted_is_decided_all_the_same(amount: int) -> None:
    """Such a request and such a node were called Unknown for ever."""
    large = node(0, allocatable={"cpu": amount, "pods": 10})
    assert isinstance(answer(job(Pe(0, {"cpu": amount})), large), Placed)
    assert isinstance(answer(job(*(Pe(at, {"cpu": amount}) for at in range(2))), large), Refused)


def test_what_many_pods_take_together_never_turns_into_room() -> None:
    pods = tuple(Pod("n0", {"cpu": AMOUNT_MAX}) for _ in range(2100))
    own = tuple(Pod("n0", {"cpu": 10**30}, "default/job", at) for at in range(1100))
    pes = tuple(Pe(at, {"cpu": 10**30}) for at in range(1101))
    for running in ((), own):
        decided = answer(job(*pes), node(0), pods=(*pods, *running))
        assert isinstance(decided, Refused)
        assert decided.why is Reason.INSUFFICIENT_CAPACITY


def test_amounts_below_nothing_count_as_none() -> None:
    assert isinstance(answer(job(Pe(0, {"cpu": -5}), Pe(1, {"cpu": 4000})), node(0)), Placed)


# --------------------------------------------------------------------------- clusters in the making


@pytest.mark.parametrize(
    "asked",
    [
        job(Pe(0, {"cpu": 1})),
        job(Pe(0), Pe(1, is_isolated=True)),
        job(Pe(0, exlocations=frozenset("e")), Pe(1, exlocations=frozenset("e"))),
        job(Pe(0, pool=0), pools=(Pool(0, "P", size=2),)),
        job(Pe(0, pool=0, in_pool_index=1), pools=(Pool(0, "P", is_exclusive=True),)),
        job(Pe(0, node_selector={"disk": "ssd"})),
    ],
    ids=["requests", "isolation", "exlocation", "size", "place", "selector"],
)
def test_a_cluster_without_nodes_lets_a_job_wait(asked: Job) -> None:
    decided = decide(Cluster.of(()), asked)
    assert isinstance(decided, Refused)
    assert decided.why is Reason.INSUFFICIENT_CAPACITY
    assert decided.waits
    assert "no node" in decided.message


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (job(Pe(0, host="n0")), Reason.HOST_MISSING),
        (job(Pe(0, host="10.0.0.1")), Reason.HOST_MISSING),
        (job(Pe(0), pools=(Pool(0, "P", hosts=("n0",)),)), Reason.HOST_MISSING),
        (job(Pe(0, pool=0), pools=(Pool(0, "P", tags=("blue",)),)), Reason.TAG_MISSING),
    ],
)
def test_names_and_tags_are_missed_at_once_also_where_there_are_no_nodes(
    asked: Job, reason: Reason
) -> None:
    decided = decide(Cluster.of(()), asked)
    assert isinstance(decided, Refused)
    assert decided.why is reason
    assert not decided.waits


@pytest.mark.parametrize(
    "starting",
    [{"ready": False}, {"taints": (Taint("node.kubernetes.io/not-ready"),)}],
    ids=["not ready", "tainted by Kubernetes"],
)
@pytest.mark.parametrize(
    "asked",
    [
        job(Pe(0, {"cpu": 1})),
        job(Pe(0, host="n1")),
        job(Pe(0, pool=0), pools=(Pool(0, "P", tags=("blue",), size=3),)),
    ],
    ids=["any", "host", "pool"],
)
def test_nodes_that_are_not_ready_yet_let_a_job_wait(
    starting: dict[str, object], asked: Job
) -> None:
    decided = answer(asked, *(replace(each, **starting) for each in NODES))  # type: ignore[arg-type]
    assert isinstance(decided, Refused)
    assert decided.families == (Family.CAPACITY,)
    assert decided.waits
    assert "n0" in decided.message or "n1" in decided.message


def test_cordoned_nodes_that_are_not_ready_either_refuse_at_once() -> None:
    closed = (replace(each, ready=False, unschedulable=True) for each in NODES)
    decided = answer(job(Pe(0)), *closed)
    assert isinstance(decided, Refused)
    assert not decided.waits


# --------------------------------------------------------------------------- what cannot be meant

_BLUE = Pool(0, "P", tags=("blue",))


@pytest.mark.parametrize(
    ("asked", "reason", "words"),
    [
        (
            job(Pe(0, pool=0), pools=(_BLUE, replace(_BLUE, name="Q"))),
            Reason.CONSTRAINTS_CONTRADICT,
            ["P and Q", "index 0"],
        ),
        (
            job(Pe(0, pool=0), pools=(_BLUE, _BLUE)),
            Reason.CONSTRAINTS_CONTRADICT,
            ["P and P", "index 0"],
        ),
        (job(Pe(3), Pe(3)), Reason.CONSTRAINTS_CONTRADICT, ["PE 3", "2 times"]),
        (
            job(Pe(0), pools=(replace(_BLUE, size=-1),)),
            Reason.CONSTRAINTS_CONTRADICT,
            ["pool P", "-1 nodes"],
        ),
        (
            job(Pe(4, pool=0), pools=(replace(_BLUE, size=0),)),
            Reason.CONSTRAINTS_CONTRADICT,
            ["pool P", "0 nodes", "PE 4"],
        ),
        (
            job(Pe(4, pool=0, in_pool_index=-1), pools=(_BLUE,)),
            Reason.CONSTRAINTS_CONTRADICT,
            ["PE 4", "place -1", "pool P"],
        ),
        (
            job(Pe(4, pool=0), pools=(replace(_BLUE, hosts=("n0",)),)),
            Reason.CONSTRAINTS_CONTRADICT,
            ["pool P", "hosts", "tags"],
        ),
        (
            job(Pe(4, pool=0, in_pool_index=1), pools=(Pool(0, "P", hosts=("n1", "10.0.0.1")),)),
            Reason.CONSTRAINTS_CONTRADICT,
            ["pool P", "n1 twice", "10.0.0.1", "which PE 4 asks for: name it once"],
        ),
        (
            job(Pe(4, pool=0), pools=(Pool(0, "P", size=3, hosts=("n0", "n1", "10.0.0.1")),)),
            Reason.POOL_TOO_SMALL,
            ["pool P asks for 3 nodes, and names 2"],
        ),
        (job(Pe(4, pool=7), pools=(_BLUE,)), Reason.CONSTRAINTS_CONTRADICT, ["PE 4", "pool 7"]),
    ],
)
def test_what_no_pool_can_be_is_refused_by_its_name(
    asked: Job, reason: Reason, words: list[str]
) -> None:
    decided = answer(asked)
    assert isinstance(decided, Refused)
    assert decided.why is reason
    assert not decided.waits
    assert [word for word in words if word not in decided.message] == [], decided.message


def test_a_pool_of_no_nodes_that_nobody_uses_is_no_obstacle() -> None:
    decided = answer(job(Pe(0), pools=(replace(_BLUE, size=0),)))
    assert isinstance(decided, Placed)
    assert decided.pools[0].nodes == ()


def test_hosts_that_are_named_twice_are_one_member_where_nobody_asks_for_a_place() -> None:
    asked = job(Pe(0, pool=0), pools=(Pool(0, "P", hosts=("n1", "10.0.0.1")),))
    decided = answer(asked)
    assert isinstance(decided, Placed)
    assert decided.assignment == {0: "n1"}
    assert decided.pools[0].nodes == ("n1",)


def test_of_nodes_with_one_name_the_last_counts() -> None:
    twice = (node(0, allocatable={"cpu": 1, "pods": 10}), node(0))
    assert isinstance(answer(job(Pe(0, {"cpu": 4000})), *twice), Placed)
    assert isinstance(answer(job(Pe(0, {"cpu": 4000})), *reversed(twice)), Refused)


def test_an_address_of_two_nodes_is_that_of_the_first_that_is_ready() -> None:
    """The other one is what it was before somebody set it up again."""
    shared = (node(0, addresses=("10.1.1.1",)), node(1, addresses=("10.1.1.1",)))
    asked = job(Pe(0, host="10.1.1.1"))
    old = replace(shared[0], ready=False)
    found = answer(asked, *shared), answer(asked, old, shared[1])
    assert [isinstance(each, Placed) and each.assignment[0] for each in found] == ["n0", "n1"]


def test_an_address_is_that_of_the_node_that_is_ready_where_an_old_one_has_it_too() -> None:
    shared = (node(0, addresses=("10.1.1.1",), ready=False), node(1, addresses=("10.1.1.1",)))
    decided = answer(job(Pe(0, host="10.1.1.1")), *shared)
    assert isinstance(decided, Placed)
    assert decided.assignment == {0: "n1"}


def test_what_reads_as_an_address_is_none_s_name() -> None:
    """The original's rule: whatever is an address is looked up as one."""
    named = node(0, name="10.9.9.9")
    decided = answer(job(Pe(0, host="10.9.9.9")), named, node(1))
    assert isinstance(decided, Refused)
    assert decided.why is Reason.HOST_MISSING
    assert "as its name" in decided.message
    both = answer(job(Pe(0, host="10.0.0.1")), node(0, name="10.0.0.1"), node(1))
    assert isinstance(both, Placed)
    assert both.assignment == {0: "n1"}


# --------------------------------------------------------------------------- mixes of pools


def _pools(*modes: str) -> tuple[Pool, ...]:
    return tuple(
        Pool(at, f"P{at}", is_exclusive="x" in mode, size=2 if "s" in mode else None)
        for at, mode in enumerate(modes)
    )


@pytest.mark.parametrize("one", ["shared", "", "xs", "x"])
@pytest.mark.parametrize("other", ["shared", "", "xs", "x"])
@pytest.mark.parametrize("outside", [False, True])
def test_what_must_be_together_may_be_of_two_pools_only_where_both_are_shared(
    one: str, other: str, outside: bool
) -> None:
    pes = [Pe(at, pool=at, colocations=frozenset("c")) for at in range(2)]
    if outside:
        pes.append(Pe(2, colocations=frozenset("c")))
    decided = answer(job(*pes, pools=_pools(one, other)))
    if "x" in one + other:
        assert isinstance(decided, Refused)
    else:
        assert isinstance(decided, Placed)
        assert len(set(decided.assignment.values())) == 1


def test_pools_that_must_share_a_member_and_are_full_are_settled_by_the_exact_search() -> None:
    """Neither pool alone says which node the other has to have as well."""
    apart = [Pe(at, {"cpu": 3000}, pool=at % 2, exlocations=frozenset("e")) for at in range(2)]
    both = [Pe(at, {"cpu": 2000}, pool=at % 2, colocations=frozenset("c")) for at in (2, 3)]
    decided = answer(job(*apart, *both, pools=_pools("shared", "shared")), *NODES[:3])
    assert isinstance(decided, Placed)
    tight = answer(job(*apart, *both, pools=_pools("shared", "shared")), *NODES[:2])
    assert isinstance(tight, Refused)


def test_claims_of_nodes_that_are_gone_hold_nothing() -> None:
    cluster = Cluster.of(NODES, (), (Claim("gone", "a/x", "Q", is_exclusive=True),))
    assert isinstance(decide(cluster, job(Pe(0))), Placed)
