"""Host pools of every kind have their members in order, and exclusive ones keep others out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.e2e.hosted import Hosted
from tests.e2e.nodes import NODES, change, node_of, taint
from tests.e2e.placing import (
    Ground,
    Traits,
    exclusive_taint,
    ground,
    has,
    joining,
    marks_of,
    members_of,
    on,
    pod_of,
    pool_of,
    taints_of,
    term,
    terms_of,
    until_free,
    until_marked,
    until_members,
)
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects
from tests.places import corpus

COVERS = (
    "services/hostpool_manager/core/pool_rules.py",
    "services/hostpool_manager/core/statuses.py",
    "services/node_tainter/core/marking.py",
    "services/node_tainter/core/pool_rules.py",
    "placement/pooling.py",
    "contracts/resources/host_pool.py",
    "services/fusion_backend/core/pool_settling.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
TAGS = ("ib", "blue")
TAGGED = Traits(TAGS)
FOREIGN = "e2e.millrace.dev/foreign"
PREFERS = "PreferNoSchedule"


@dataclass(frozen=True, slots=True)
class Variant:
    """A pool as `createPool` or a literal declares it, how many members it gets, on tagged nodes.

    `members` is None where every node of the cluster that is open to pods is one.
    """

    declared: Mapping[str, object] = field(default_factory=dict)
    members: int | None = None
    is_tagged: bool = False


VARIANTS = {
    "sized-tagged-shared": Variant({"size": 2, "tags": TAGS}, 2, is_tagged=True),
    "sized-tagged-exclusive": Variant(
        {"size": 2, "tags": TAGS, "exclusive": True}, 2, is_tagged=True
    ),
    "sized-shared": Variant({"size": 2}, 2),
    "sized-exclusive": Variant({"size": 2, "exclusive": True}, 2),
    "tagged-shared": Variant({"tags": TAGS}, 3, is_tagged=True),
    "shared": Variant(),
}
"""The six of the seed."""


@pytest.mark.scenario(23)
@pytest.mark.parametrize("variant", VARIANTS)
async def test_each_kind_of_created_pool_has_its_members_and_its_pes_run_there(
    cluster: Cluster, variant: str
) -> None:
    """Of four nodes three have the tags; nodes bear the marks of exclusive pools alone."""
    kind = VARIANTS[variant]
    async with (
        ground(cluster, variant, TAGGED, Traits(), TAGGED, TAGGED) as there,
        cluster.job(variant) as job,
    ):
        application = Hosted().pool("P", **kind.declared)  # type: ignore[arg-type]
        application.operator("a", pool="P", apart=["x"]).operator("b", pool="P", apart=["x"])
        found = await there.run(job, application)
        members = members_of(job, 1)
        assert {found["a"], found["b"]} <= set(members)
        assert len(members) == len(set(members))
        if kind.members is not None:
            assert len(members) == kind.members
        else:
            assert set(there.nodes) <= set(members)
        if kind.is_tagged:
            assert set(members) <= {*there.nodes} - {there.nodes[1]}
        await _bears_what_it_should(there, job, members)
        condition = pool_of(job, 1)["status"]["conditions"][0]
        assert (condition["type"], condition["status"]) == ("Ready", "True")
        await cluster.delete(job)
        for node in members:
            await until_free(cluster.api, node)


async def _bears_what_it_should(there: Ground, job: JobObjects, members: list[str]) -> None:
    pool = pool_of(job, 1)
    is_exclusive = pool["spec"]["hostpool"]["membershipMode"] == "exclusive"
    uid = pool["metadata"]["uid"]
    for place, name in enumerate(members):
        node = await node_of(there.cluster.api, name)
        expected: object = ([uid], {uid: str(place)}) if is_exclusive else ([], {})
        assert marks_of(node) == expected
        assert taints_of(node) == ([exclusive_taint(pool)] if is_exclusive else [])
    for operator in ("a", "b"):
        tolerated = [
            {"operator": "Equal", **exclusive_taint(pool)},
        ]
        ours = [
            each
            for each in pod_of(job, operator)["spec"].get("tolerations") or ()
            if each.get("key") == "streams.ibm.com/exclusive"
        ]
        assert ours == (tolerated if is_exclusive else [])
    if is_exclusive:
        assert sorted(pool["status"]["claimed"]) == sorted(members)
        assert pool["metadata"]["finalizers"] == ["streams.ibm.com/node-claims"]


@pytest.mark.scenario(23)
async def test_pools_of_names_and_addresses_keep_the_order_of_the_application(
    cluster: Cluster,
) -> None:
    """`Names[0]` is the host that is named first, whatever sorts before it; addresses likewise."""
    address = "10.77.1.1"
    traits = (Traits(), Traits(addresses=[address]), Traits())
    async with ground(cluster, "named", *traits) as there, cluster.job("named") as job:
        first, second, third = there.nodes
        application = Hosted().pool("Names", hosts=[third, first]).pool("IPs", hosts=[address])
        application.operator("a", pool="Names", place=0).operator("b", pool="Names", place=1)
        found = await there.run(job, application.operator("c", pool="IPs"))
        assert found == {"a": third, "b": first, "c": second}
        assert members_of(job, 1) == [third, first]
        assert members_of(job, 2) == [second]
        assert terms_of(pod_of(job, "c")) == [term(on(second))]


@pytest.mark.scenario(23)
async def test_a_place_of_a_pool_is_the_same_node_for_all_and_after_a_relaunch(
    cluster: Cluster,
) -> None:
    """Two PEs of P[1] share its node, P[0] is another; a new launch goes where the old one was."""
    restarted = {"restartDeletedPod": True}
    async with ground(cluster, "place", TAGGED, TAGGED) as there, cluster.job("place") as job:
        application = Hosted().pool("P", size=2, tags=TAGS, exclusive=True)
        application.operator("a", pool="P", place=1).operator("b", pool="P", place=0)
        application.operator("c", pool="P", place=1)
        await there.submit(job, application, template=restarted)
        await job.until("running", job.is_settled)
        before = {name: pod_of(job, name)["spec"]["nodeName"] for name in ("a", "b", "c")}
        assert before["a"] == before["c"] == members_of(job, 1)[1]
        assert before["b"] == members_of(job, 1)[0]
        name = pod_of(job, "a")["metadata"]["name"]
        await cluster.api.call("DELETE", f"/api/v1/namespaces/default/pods/{name}")
        await job.until("gone", lambda: name not in job.of("pods"))
        await job.until("running again", job.is_settled)
        assert pod_of(job, "a")["spec"]["nodeName"] == before["a"]


async def test_a_pool_without_size_grows_by_a_node_that_joins_or_gets_the_tag(
    cluster: Cluster,
) -> None:
    """New members come after those that are there; one that is gone is missed by nobody."""
    async with (
        ground(cluster, "grows", Traits(("ssd",)), Traits()) as there,
        cluster.job("grows") as job,
    ):
        first, later = there.nodes
        application = Hosted().pool("P", tags=["ssd"]).operator("a", pool="P").operator("b")
        await there.run(job, application)
        assert members_of(job, 1) == [first]
        pods = {name: pod["metadata"]["uid"] for name, pod in job.of("pods").items()}
        async with joining(there, Traits(("ssd",))) as joined:
            await until_members(job, 1, [first, joined])
            await change(cluster.api, later, {"metadata": {"labels": Traits(["ssd"]).labels()}})
            await until_members(job, 1, [first, joined, later])
        await until_members(job, 1, [first, later])
        condition = pool_of(job, 1)["status"]["conditions"][0]
        assert (condition["type"], condition["status"]) == ("Ready", "True"), condition
        assert {n: pod["metadata"]["uid"] for n, pod in job.of("pods").items()} == pods


async def test_taints_of_others_stay_as_they_are_and_ours_comes_back(cluster: Cluster) -> None:
    """Before and after, in their order; what somebody takes away of ours is put back."""
    async with ground(cluster, "others", TAGGED) as there, cluster.job("others") as job:
        (node,) = there.nodes
        await taint(cluster.api, node, FOREIGN, PREFERS)
        application = Hosted().pool("P", size=1, tags=TAGS, exclusive=True)
        await there.run(job, application.operator("a", pool="P").operator("b", pool="P"))
        foreign = {"key": FOREIGN, "value": "", "effect": PREFERS}
        ours = exclusive_taint(pool_of(job, 1))
        assert taints_of(await node_of(cluster.api, node)) == [foreign, ours]
        await taint(cluster.api, node, f"{FOREIGN}-2", PREFERS)
        second = {**foreign, "key": f"{FOREIGN}-2"}
        await change(cluster.api, node, {"spec": {"taints": [foreign, second]}})
        await until_marked(cluster.api, node, pool_of(job, 1), 0)
        assert taints_of(await node_of(cluster.api, node)) == [foreign, second, ours]
        await cluster.delete(job)
        await until_free(cluster.api, node)
        assert taints_of(await node_of(cluster.api, node)) == [foreign, second]


@pytest.mark.scenario(5)
async def test_the_real_bundle_with_pools_runs_where_nodes_have_the_tags_and_else_says_why(
    cluster: Cluster,
) -> None:
    """`apps.hostpools.HostPools`: three PEs where one was requested, three pools."""
    name = "apps.hostpools.HostPools.sab"
    (cluster.system.bundles / name).write_bytes(corpus(name).read_bytes())
    spec = {"bundle": {"name": name}, "fusion": {"manual": 1}}
    source, sink = Traits(original_tag="source_hosts"), Traits(("sink_hosts",))
    async with cluster.job("untagged") as job:
        await cluster.submit(job.job, spec)
        await job.until("refused", lambda: job.phase == "Failed")
        assert job.status["reason"] == "TagMissing"
        assert "source_hosts" in job.status["message"]
    async with ground(cluster, "real", source, sink) as there, cluster.job("tagged") as job:
        await cluster.submit(job.job, spec)
        await job.until("running", job.is_settled)
        assert set(job.of("pools")) == {"tagged-0", "tagged-1", "tagged-2"}
        assert len(job.of("pes")) == 3
        assert pod_of(job, "Src")["spec"]["nodeName"] == there.nodes[0]
        assert pod_of(job, "Snk")["spec"]["nodeName"] == there.nodes[1]
        wanted = [has("tag.streams.ibm.com/sink_hosts"), on(there.nodes[1])]
        assert term(*wanted) in terms_of(pod_of(job, "Snk"))


async def test_nodes_are_free_when_the_jobs_of_many_pools_are_gone(cluster: Cluster) -> None:
    """Four jobs at once, a node each; a node that is deleted meanwhile is nobody's."""

    async def comes_and_goes(there: Ground, number: int) -> None:
        async with cluster.job(f"many-{number}") as job:
            application = Hosted().pool("P", size=1, tags=TAGS, exclusive=True)
            await there.run(job, application.operator("a", pool="P").operator("b", pool="P"))
            taken.extend(members_of(job, 1))
            await all_run.wait()

    all_run, taken = asyncio.Barrier(4), list[str]()
    async with ground(cluster, "many", *[TAGGED] * 4) as there, asyncio.TaskGroup() as jobs:
        for number in range(4):
            jobs.create_task(comes_and_goes(there, number))
    assert sorted(taken) == sorted(there.nodes)
    listing = await cluster.api.call("GET", NODES)
    assert {str(marks_of(node)) for node in listing["items"]} == {str(([], {}))}
