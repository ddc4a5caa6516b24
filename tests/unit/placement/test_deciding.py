"""Deciding where a job runs: placed where there is a way, and told why where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import Taint, Toleration
from placement.answers import Answer, Family, Placed, Refused
from placement.checking import violations
from placement.cluster import Claim, Cluster
from placement.deciding import decide
from placement.job import DEFAULT_POOL, Job, Pe, Pool
from placement.taken import Pod

GIB = 1 << 30


def node(number: int, *tags: str, cpu: int = 4000, zone: str = "") -> Node:
    labels = {f"tag.streams.ibm.com/{tag}": "" for tag in tags} | ({"zone": zone} if zone else {})
    allocatable = {"cpu": cpu, "memory": 8 * GIB, "pods": 10}
    return Node(f"n{number}", labels, (f"10.0.0.{number}", f"fd00::{number}"), allocatable)


NODES = tuple(node(number, *(["blue"] if number < 3 else [])) for number in range(6))


def job(*pes: Pe, pools: tuple[Pool, ...] = (), **more: object) -> Job:
    return replace(Job("default/job", pes, pools), **more)  # type: ignore[arg-type]


def answer(
    asked: Job, *pods: Pod, nodes: tuple[Node, ...] = NODES, claims: tuple[Claim, ...] = ()
) -> Answer:
    """What is decided, and a placement is looked at again."""
    cluster = Cluster.of(nodes, pods, claims)
    decided = decide(cluster, asked)
    if isinstance(decided, Placed):
        assert violations(cluster, asked, decided) == []
    assert decided == decide(cluster, asked)
    return decided


def placed(decided: Answer) -> dict[int, str]:
    assert isinstance(decided, Placed), decided
    return dict(decided.assignment)


def refused(decided: Answer, why: Reason, *words: str) -> Refused:
    assert isinstance(decided, Refused), decided
    assert decided.why is why, decided
    told = " ".join([decided.message, *map(str, decided.nearest)])
    assert [word for word in words if word not in told] == [], told
    return decided


# --------------------------------------------------------------------------- hosts


@pytest.mark.parametrize("host", ["n4", "10.0.0.4", "fd00::4", "FD00:0:0::4"])
def test_a_host_is_a_name_or_an_address_in_any_form(host: str) -> None:
    assert placed(answer(job(Pe(0, host=host), Pe(1))))[0] == "n4"


@pytest.mark.parametrize("host", ["n9", "10.9.9.9"])
def test_a_host_that_no_node_is_fails_at_once(host: str) -> None:
    decided = refused(answer(job(Pe(0, host=host))), Reason.HOST_MISSING, host)
    assert not decided.waits


def test_a_host_that_takes_no_pods_is_refused_by_what_closes_it() -> None:
    nodes = (*NODES[:4], replace(NODES[4], unschedulable=True), NODES[5])
    decided = answer(job(Pe(0, host="n4")), nodes=nodes)
    assert not refused(decided, Reason.NODES_CLOSED, "n4 is cordoned").waits
    tainted = (*NODES[:4], replace(NODES[4], taints=(Taint("gpu", "a"),)), NODES[5])
    refused(
        answer(job(Pe(0, host="n4")), nodes=tainted),
        Reason.NODES_CLOSED,
        "has the taint gpu=a:NoSchedule",
    )
    tolerant = Pe(0, host="n4", tolerations=(Toleration("gpu", "Equal", "a"),))
    assert placed(answer(job(tolerant), nodes=tainted)) == {0: "n4"}


def test_a_host_that_is_full_waits_and_says_how_much_it_lacks() -> None:
    full = Pod("n4", {"cpu": 3500})
    decided = answer(job(Pe(0, {"cpu": 1000}, host="n4")), full)
    assert refused(decided, Reason.INSUFFICIENT_CAPACITY, "n4 lacks 500m cpu").waits


# --------------------------------------------------------------------------- pools


def pool(**asked: object) -> Pool:
    return replace(Pool(0, "P"), **asked)  # type: ignore[arg-type]


def test_a_pool_of_tags_runs_where_all_of_them_are_also_in_the_original_s_form() -> None:
    original = Node("old", {"streams.ibm.com/hostpool": "blue"}, (), {"cpu": 9000, "pods": 9})
    nodes = (node(0, "red"), node(1, "red", "blue"), original)
    both = answer(job(Pe(0, pool=0), pools=(pool(tags=("red", "blue")),)), nodes=nodes)
    assert placed(both) == {0: "n1"}
    one = answer(job(Pe(0, {"cpu": 8000}, pool=0), pools=(pool(tags=("blue",)),)), nodes=nodes)
    assert placed(one) == {0: "old"}


def test_a_tag_that_no_node_has_is_refused_although_no_pe_is_in_the_pool() -> None:
    colourful = job(Pe(0), pools=(pool(tags=("blue", "red")),))
    refused(answer(colourful), Reason.TAG_MISSING, "n0 lacks the tag red")


@pytest.mark.parametrize("is_exclusive", [False, True])
def test_a_pool_has_as_many_members_as_its_size_says_or_fails_at_once(is_exclusive: bool) -> None:
    sized = pool(size=3, tags=("blue",), is_exclusive=is_exclusive)
    decided = answer(job(Pe(0, pool=0), Pe(1), pools=(sized,)))
    assert isinstance(decided, Placed)
    assert set(decided.pools[0].nodes) == {"n0", "n1", "n2"}
    assert (decided.assignment[1] in decided.pools[0].nodes) is False or not is_exclusive
    larger = job(Pe(0, pool=0), pools=(replace(sized, size=4),))
    small = refused(answer(larger), Reason.POOL_TOO_SMALL, "4 nodes", "3 qualify", "n3 lacks")
    assert not small.waits


@pytest.mark.parametrize("is_exclusive", [False, True])
def test_members_are_first_nodes_that_the_pes_of_the_pool_may_enter(is_exclusive: bool) -> None:
    """Of nodes with the tags: the others would be held for nothing."""
    nodes = tuple(node(at, "quiet", zone="mine" if at in (3, 5) else "theirs") for at in range(6))
    pes = (Pe(at, pool=0, node_selector={"zone": "mine"}) for at in range(10))
    quiet = pool(tags=("quiet",), size=3, is_exclusive=is_exclusive)
    found = answer(job(*pes, pools=(quiet,)), nodes=nodes)
    assert set(placed(found).values()) == {"n3", "n5"}
    assert isinstance(found, Placed)
    assert {"n3", "n5"} < set(found.pools[0].nodes)


def test_the_default_pool_asks_for_nothing_wherever_it_stands() -> None:
    default, sized = Pool(0, DEFAULT_POOL), Pool(1, "P", size=2, is_exclusive=True)
    orders = (default, sized), (sized, default)
    first, last = (placed(answer(job(Pe(0, pool=1), Pe(1, pool=0), pools=o))) for o in orders)
    assert first == last


def test_hosts_of_a_pool_are_its_members_in_their_order() -> None:
    named = pool(hosts=("n3", "10.0.0.1"))
    decided = answer(
        job(Pe(0, pool=0, in_pool_index=1), Pe(1, pool=0, in_pool_index=0), pools=(named,))
    )
    assert placed(decided) == {0: "n1", 1: "n3"}
    assert isinstance(decided, Placed)
    assert decided.pools[0].nodes == ("n3", "n1")
    refused(answer(job(Pe(0), pools=(pool(hosts=("n3", "n8")),))), Reason.HOST_MISSING, "n8")


def test_an_exclusive_pool_takes_no_node_that_somebody_has_or_uses() -> None:
    asked = job(Pe(0, pool=0), pools=(pool(tags=("blue",), is_exclusive=True),))
    claims = (
        Claim("n0", "default/x", "Q", is_exclusive=True),
        Claim("n1", "default/y", "R", is_exclusive=False),
    )
    decided = answer(asked, claims=claims)
    assert placed(decided) == {0: "n2"}
    foreign = Pod("n2", {}, job="default/z", pe=3)
    decided = answer(asked, foreign, claims=claims)
    assert not refused(decided, Reason.NODES_CLAIMED, "n0 is held by the pool Q of default/x").waits
    assert placed(answer(asked, Pod("n2", {}), claims=claims)) == {0: "n2"}, "not a pod of Streams"


def test_nothing_else_of_the_job_runs_on_an_exclusive_pool_s_nodes() -> None:
    pools = (pool(size=1, is_exclusive=True), Pool(1, "Q", is_exclusive=True))
    decided = answer(job(*(Pe(at, {"cpu": 1}, pool=at) for at in range(2)), Pe(2), pools=pools))
    assert len(set(placed(decided).values())) == 3


def test_a_node_held_exclusively_by_others_takes_no_pe_at_all() -> None:
    claims = tuple(Claim(f"n{at}", "default/x", "Q", is_exclusive=True) for at in range(5))
    assert placed(answer(job(Pe(0)), claims=claims)) == {0: "n5"}


# --------------------------------------------------------------------------- places of a pool


def test_what_must_be_together_is_not_half_in_an_exclusive_pool() -> None:
    both = Pe(0, pool=0, colocations=frozenset("c")), Pe(1, colocations=frozenset("c"))
    exclusive = job(*both, pools=(pool(is_exclusive=True),))
    refused(answer(exclusive), Reason.CONSTRAINTS_CONTRADICT, "PE 0 with PE 1", "not all of it")
    assert len(set(placed(answer(job(*both, pools=(pool(),)))).values())) == 1


def test_places_of_a_pool_are_different_nodes_and_stay_what_they_were() -> None:
    pes = tuple(Pe(at, pool=0, in_pool_index=at % 2) for at in range(4))
    first = answer(job(*pes, pools=(pool(tags=("blue",)),)))
    assert isinstance(first, Placed)
    where = placed(first)
    assert where[0] == where[2] == first.pools[0].nodes[0] != where[1] == where[3]
    members = ("n2", "n0", "n1")
    kept = answer(job(*pes, pools=(pool(tags=("blue",), members=members),)))
    assert isinstance(kept, Placed)
    assert kept.pools[0].nodes == members
    assert placed(kept)[0] == "n2"


def test_a_member_that_is_gone_is_replaced_in_its_place_and_no_other_moves() -> None:
    members = ("n2", "gone", "n0")
    pes = (Pe(0, pool=0, in_pool_index=1), Pe(1, pool=0, in_pool_index=2))
    decided = answer(job(*pes, pools=(pool(tags=("blue",), size=3, members=members),)))
    assert isinstance(decided, Placed)
    assert decided.pools[0].nodes == ("n2", "n1", "n0")
    unsized = pool(tags=("blue",), members=("gone", "n0", "n1", "n2"))
    short = answer(job(Pe(0, pool=0, in_pool_index=2), pools=(unsized,)))
    assert isinstance(short, Placed)
    assert short.pools[0].nodes == ("", "n0", "n1", "n2")


def test_a_pool_grows_when_a_node_with_its_tags_joins() -> None:
    asked = job(Pe(0, pool=0), pools=(pool(tags=("blue",), members=("n2", "n0", "n1")),))
    decided = answer(asked, nodes=(*NODES, node(7, "blue")))
    assert isinstance(decided, Placed)
    assert decided.pools[0].nodes == ("n2", "n0", "n1", "n7")


@pytest.mark.parametrize("size", [2, None])
def test_a_place_beyond_the_pool_is_refused(size: int | None) -> None:
    asked = job(Pe(0, pool=0, in_pool_index=3), pools=(pool(size=size, tags=("blue",)),))
    decided = answer(asked)
    assert isinstance(decided, Refused)
    assert not decided.waits
    assert "pool P" in decided.message


# --------------------------------------------------------------------------- together and apart


def test_what_must_be_together_fits_on_one_node_together_or_waits() -> None:
    pes = tuple(Pe(at, {"cpu": 2000}, colocations=frozenset({"c"})) for at in range(2))
    assert len(set(placed(answer(job(*pes))).values())) == 1
    decided = answer(job(*pes, Pe(2, {"cpu": 1000}, colocations=frozenset({"c"}))))
    assert refused(decided, Reason.INSUFFICIENT_CAPACITY, "lacks 1 cpu").waits


def test_more_of_an_exlocation_than_nodes_fail_at_once() -> None:
    pes = tuple(Pe(at, exlocations=frozenset({"e"})) for at in range(7))
    assert len(set(placed(answer(job(*pes[:6]))).values())) == 6
    assert not refused(answer(job(*pes)), Reason.EXLOCATION_IMPOSSIBLE, "6 like it").waits


def test_an_isolated_pe_is_alone_among_those_of_its_job() -> None:
    pes = (Pe(0, is_isolated=True), *(Pe(at) for at in range(1, 9)))
    where = placed(answer(job(*pes), Pod("n0", {}, job="default/x", pe=0)))
    assert list(where.values()).count(where[0]) == 1
    refused(answer(job(*pes), nodes=NODES[:1]), Reason.EXLOCATION_IMPOSSIBLE)


@pytest.mark.parametrize(
    ("left", "right", "word"),
    [
        ({"exlocations": frozenset({"e"})}, {"exlocations": frozenset({"e"})}, "exlocation e"),
        ({"is_isolated": True}, {}, "of its own"),
        ({"host": "n1"}, {"host": "n2"}, "another host"),
        ({"pool": 0, "in_pool_index": 0}, {"pool": 0, "in_pool_index": 1}, "another place"),
    ],
)
def test_contradictions_are_refused_by_the_pes(
    left: dict[str, object], right: dict[str, object], word: str
) -> None:
    together = frozenset({"c"})
    one, other = Pe(3, colocations=together), Pe(4, colocations=together)
    asked = job(replace(one, **left), replace(other, **right), pools=(pool(tags=("blue",)),))  # type: ignore[arg-type]
    decided = refused(answer(asked), Reason.CONSTRAINTS_CONTRADICT, "PE 3", "PE 4", word)
    assert not decided.waits


def test_what_is_preferred_is_given_up_before_the_job_is() -> None:
    pes = tuple(Pe(at, exlocations=frozenset({"e"})) for at in range(7))
    decided = answer(job(*pes, is_required=False))
    assert isinstance(decided, Placed)
    assert not decided.is_as_preferred
    fits = answer(job(*pes[:6], is_required=False))
    assert isinstance(fits, Placed)
    assert fits.is_as_preferred


def test_hosts_may_be_zones() -> None:
    nodes = tuple(node(at, zone="ab"[at % 2] if at < 4 else "") for at in range(6))
    apart = tuple(Pe(at, exlocations=frozenset({"e"})) for at in range(2))
    together = tuple(Pe(at, {"cpu": 3000}, colocations=frozenset({"c"})) for at in (2, 3))
    zone = {name.name: name.labels.get("zone") for name in nodes}
    where = placed(answer(job(*apart, *together, topology_key="zone"), nodes=nodes))
    assert {zone[where[0]], zone[where[1]]} == {"a", "b"}
    assert zone[where[2]] == zone[where[3]] is not None
    assert where[2] != where[3]
    more = job(*apart, Pe(9, exlocations=frozenset({"e"})), topology_key="zone")
    refused(answer(more, nodes=nodes), Reason.EXLOCATION_IMPOSSIBLE)


# --------------------------------------------------------------------------- what runs


def test_what_runs_stays_and_the_rest_is_placed_beside_it() -> None:
    pes = tuple(Pe(at, {"cpu": 1000}, exlocations=frozenset({"e"})) for at in range(3))
    pods = tuple(Pod(f"n{at + 4}", {"cpu": 1000}, "default/job", at) for at in range(2))
    nodes = (*NODES[:4], replace(NODES[4], unschedulable=True), NODES[5])
    where = placed(answer(job(*pes), *pods, nodes=nodes))
    assert where[0] == "n4"
    assert where[1] == "n5"
    assert where[2] in {"n0", "n1", "n2", "n3"}


def test_a_place_of_a_pool_is_shared_with_the_pe_that_runs_there() -> None:
    pes = tuple(Pe(at, pool=0, in_pool_index=0) for at in range(2))
    running = Pod("n1", {}, "default/job", 1)
    asked = job(*pes, pools=(pool(tags=("blue",), size=2, members=("n1", "n2")),))
    assert placed(answer(asked, running)) == {0: "n1", 1: "n1"}


def test_a_place_whose_node_is_cordoned_moves_although_others_of_the_pool_run_there() -> None:
    nodes = (replace(NODES[0], unschedulable=True), *NODES[1:])
    pes = (Pe(0, pool=0, in_pool_index=0), Pe(1, pool=0))
    asked = job(*pes, pools=(pool(tags=("blue",), members=("n0", "n1", "n2")),))
    where = placed(answer(asked, Pod("n0", {}, "default/job", 1), nodes=nodes))
    assert where[1] == "n0"
    assert where[0] in {"n1", "n2"}


def test_what_leaves_counts_as_free() -> None:
    leaving = tuple(Pod("n3", {"cpu": 2000}, "default/job", at) for at in (5, 6))
    assert placed(answer(job(Pe(0, {"cpu": 4000}, host="n3")), *leaving)) == {0: "n3"}


def test_an_assignment_stays_and_is_decided_again_where_its_node_is_gone() -> None:
    pes = (Pe(0, assigned="n4"), Pe(1, assigned="gone"), Pe(2))
    where = placed(answer(job(*pes)))
    assert where[0] == "n4"
    assert where[1] in {node.name for node in NODES}


def test_an_assignment_gives_way_where_the_job_has_no_place_otherwise() -> None:
    small = (node(0, cpu=1000), node(1, cpu=2000))
    pes = (Pe(0, {"cpu": 1000}, assigned="n1"), Pe(1, {"cpu": 2000}))
    assert placed(answer(job(*pes), nodes=small)) == {0: "n0", 1: "n1"}


def test_a_pod_whose_node_is_gone_stays_where_it_says() -> None:
    where = placed(answer(job(Pe(0), Pe(1)), Pod("gone", {}, "default/job", 0)))
    assert where[0] == "gone"


def test_a_running_pe_that_asks_for_more_than_its_node_has_waits() -> None:
    pods = (Pod("n0", {"cpu": 1000}, "default/job", 0), Pod("n0", {"cpu": 2000}))
    decided = answer(job(Pe(0, {"cpu": 3000})), *pods)
    assert refused(decided, Reason.INSUFFICIENT_CAPACITY).waits
    assert placed(answer(job(Pe(0, {"cpu": 2000})), *pods)) == {0: "n0"}


def test_a_promise_to_another_job_takes_room_before_its_pods_exist() -> None:
    promised = Pod("n0", {"cpu": 3000}, "default/x", 1, is_bound=False)
    decided = answer(job(Pe(0, {"cpu": 2000}, host="n0")), promised)
    assert refused(decided, Reason.INSUFFICIENT_CAPACITY, "n0 lacks 1 cpu").waits


# --------------------------------------------------------------------------- the search


def test_capacity_and_another_family_together_do_not_wait() -> None:
    small = (node(0, "blue", cpu=1000), node(1, cpu=1000))
    pes = tuple(Pe(at, {"cpu": 2000}, exlocations=frozenset({"e"})) for at in range(3))
    decided = answer(job(*pes), nodes=small)
    assert refused(decided, Reason.NO_PLACEMENT).families == (Family.CAPACITY, Family.EXLOCATION)
    assert not decided.waits if isinstance(decided, Refused) else False


def test_a_cluster_without_nodes_refuses() -> None:
    assert isinstance(answer(job(Pe(0)), nodes=()), Refused)


def test_a_job_without_pes_is_placed() -> None:
    assert placed(answer(job())) == {}
