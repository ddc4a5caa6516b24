"""PEs run on the hosts that their operators ask for, and their pods say so field by field."""

from __future__ import annotations

import asyncio

import pytest

from contracts import labels
from tests.e2e.hosted import Hosted
from tests.e2e.nodes import node_of
from tests.e2e.placing import (
    ZONE,
    Ground,
    Traits,
    bears,
    beside,
    condition_of_job,
    ground,
    has,
    in_order,
    marks_of,
    members_of,
    nodes_of_operators,
    on,
    pe_of,
    placement_of,
    pod_of,
    pool_of,
    term,
    terms_of,
    token_labels_of,
)
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = (
    "placement/deciding.py",
    "placement/checking.py",
    "placement/building.py",
    "placement/cluster.py",
    "placement/job.py",
    "services/pod_state_machine/core/pod_placement.py",
    "planner/fusion/placing.py",
    "planner/fusion/cohosting.py",
    "planner/fusion/constraints.py",
    "contracts/scheduling/*",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]

IPV4, IPV6 = "10.77.0.9", "fd00:77::9"
SAME_IPV6 = "fd00:77:0::0009"
"""The same address, as somebody may write it."""
TOGETHER = "streams.ibm.com/hostcolocation.9034ff9e2b8f00b47a44dfaf3c2a37176c101e2a"
APART = "streams.ibm.com/hostexlocation.b76ade163d874cc5bc0f408d70cfc165667eec5f"
SINK_ALONE = "streams.ibm.com/hostisolation.e53e8d5300c878019a997d4cfb7201c7ed2ee003"
"""As the seed and the specification write them: SHA-1 of `together`, `apart` and `Sink`."""


@pytest.mark.scenario(22)
async def test_every_way_to_ask_for_a_host_leads_to_it(cluster: Cluster) -> None:
    """Name, IPv4, IPv6, a pool, a place of a pool; what asks for nothing is not pinned."""
    traits = (Traits(), Traits(addresses=(IPV4,)), Traits(addresses=(IPV6,)), Traits(("ssd",)))
    async with ground(cluster, "host", *traits, Traits(("ssd",))) as there, cluster.job("a") as job:
        name, v4, v6, *ssd = there.nodes
        application = Hosted().pool("fast", tags=["ssd"]).operator("named", host=name)
        application.operator("v4", host=IPV4).operator("v6", host=SAME_IPV6)
        application.operator("any", pool="fast").operator("second", pool="fast", place=1)
        application.operator("free")
        found = await there.run(job, application)
        assert (found["named"], found["v4"], found["v6"]) == (name, v4, v6)
        assert found["any"] in ssd
        assert sorted(members_of(job, 1)) == sorted(ssd)
        assert found["second"] == members_of(job, 1)[1]
        for operator in ("named", "v4", "v6"):
            assert terms_of(pod_of(job, operator)) == [term(on(found[operator]))]
            assert pod_of(job, operator)["spec"]["affinity"].keys() == {"nodeAffinity"}
            annotations = pod_of(job, operator)["metadata"]["annotations"]
            assert annotations[labels.ASSIGNED_NODE] == found[operator]
        assert "affinity" not in pod_of(job, "free")["spec"]
        assert placement_of(job)["status"]["phase"] == "Placed"
        placed = condition_of_job(job, "Placed")
        assert (placed["status"], placed["reason"]) == ("True", "Placed")
        await _checks_place_one(there, job, found["second"])


async def _checks_place_one(there: Ground, job: JobObjects, node: str) -> None:
    """The pod asks for the label of its place, which the node bears and no taint with it."""
    uid = pool_of(job, 1)["metadata"]["uid"]
    member = bears(f"member.streams.ibm.com/{uid}", "1")
    tagged, original = has("tag.streams.ibm.com/ssd"), bears("streams.ibm.com/hostpool", "ssd")
    expected = in_order(term(tagged, on(node), member), term(original, on(node), member))
    assert terms_of(pod_of(job, "second")) == expected
    assert marks_of(await node_of(there.cluster.api, node)) == ([], {uid: "1"})


async def test_a_job_that_asks_for_no_host_has_no_placement(cluster: Cluster) -> None:
    """Not even where it says how constraints would count; $default alone asks for nothing."""
    async with ground(cluster, "plain", Traits()) as there, cluster.job("plain") as job:
        await there.run(job, Hosted().operator("a").operator("b"), placement={"required": False})
        assert job.of("placements") == {}
        assert set(job.of("pools")) == {"plain-0"}
        assert condition_of_job(job, "Placed")["reason"] == "NoConstraints"


@pytest.mark.scenario(22)
async def test_tags_mean_all_of_them_and_one_may_be_the_original_s(cluster: Cluster) -> None:
    """A node with one of two tags will not do; a tag that is no value of a label has one form."""
    traits = (
        Traits(("ib",)),
        Traits(("ib", "blue")),
        Traits(("blue",), original_tag="ib"),
        Traits(original_tag="source"),
    )
    async with ground(cluster, "tags", *traits) as there, cluster.job("tags") as job:
        _, both, mixed, original = there.nodes
        application = Hosted().pool("P", tags=["ib", "blue"]).pool("S", tags=["source"])
        application.operator("one", pool="P", apart=["x"]).operator("two", pool="P", apart=["x"])
        found = await there.run(job, application.operator("three", pool="S"))
        assert {found["one"], found["two"]} == {both, mixed}
        assert found["three"] == original
        here = on(found["one"])
        ib, blue = has("tag.streams.ibm.com/ib"), has("tag.streams.ibm.com/blue")
        assert terms_of(pod_of(job, "one")) == in_order(
            term(ib, blue, here),
            term(bears("streams.ibm.com/hostpool", "ib"), blue, here),
            term(ib, bears("streams.ibm.com/hostpool", "blue"), here),
        )
        assert terms_of(pod_of(job, "three")) == in_order(
            term(bears("streams.ibm.com/hostpool", "source"), on(original)),
            term(has("tag.streams.ibm.com/source"), on(original)),
        )


@pytest.mark.scenario(22)
async def test_what_belongs_together_apart_or_alone_is_so_and_the_pods_say_it(
    cluster: Cluster,
) -> None:
    """The worked examples of the seed, scoped to the job."""
    async with ground(cluster, "tokens", *[Traits()] * 3) as there, cluster.job("tokens") as job:
        application = Hosted().operator("Source", together=["together"], apart=["apart"])
        application.operator("Work", together=["together"]).operator("Other", apart=["apart"])
        found = await there.run(job, application.operator("Sink", alone=True))
        assert found["Source"] == found["Work"] != found["Other"]
        assert found["Sink"] not in {found["Source"], found["Other"]}
        together, apart, alone = (TOGETHER, "together"), (APART, "apart"), (SINK_ALONE, "Sink")
        _asks(job, "Source", near=[together], far=[apart], bears=[together, apart, alone])
        _asks(job, "Work", near=[together], far=[], bears=[together, alone])
        _asks(job, "Other", near=[], far=[apart], bears=[apart, alone])
        _asks(job, "Sink", near=[], far=[alone], bears=[])


def _asks(
    job: JobObjects,
    operator: str,
    *,
    near: list[tuple[str, str]],
    far: list[tuple[str, str]],
    bears: list[tuple[str, str]],
) -> None:
    """The affinity of an operator's pod, and the labels by which others find it."""
    pod = pod_of(job, operator)
    affinity = pod["spec"]["affinity"]
    assert terms_of(pod) == [term(on(pod["spec"]["nodeName"]))]
    for part, tokens in (("podAffinity", near), ("podAntiAffinity", far)):
        terms = [beside(job, *token) for token in tokens]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        assert affinity.get(part) == (required if terms else None), f"{operator}: {part}"
    assert token_labels_of(pod) == dict(bears), operator


@pytest.mark.scenario(22)
async def test_names_and_tokens_that_are_no_values_of_labels_hold_all_the_same(
    cluster: Cluster,
) -> None:
    """`Work[0]` and `Work[1]`, each alone, and a token with spaces and signs."""
    async with ground(cluster, "odd", *[Traits()] * 3) as there, cluster.job("odd") as job:
        token = "läuft, mit Leerzeichen:[1] "
        application = Hosted().operator("a", together=[token]).operator("b", together=[token])
        application.operator("c", alone=True).region("c", 2).operator("d", together=[token])
        found = await there.run(job, application)
        assert found["a"] == found["b"] == found["d"]
        assert len({found["a"], found["c[0]"], found["c[1]"]}) == 3
        values = token_labels_of(pod_of(job, "c[0]"))
        assert set(values.values()) == {"c-1"}


@pytest.mark.scenario(22)
async def test_operators_of_one_host_share_a_pe_whose_pod_asks_once(cluster: Cluster) -> None:
    """The original refused it; what they ask for is merged."""
    async with ground(cluster, "merged", *[Traits()] * 2) as there, cluster.job("merged") as job:
        host = there.nodes[1]
        application = Hosted().operator("a", host=host, apart=["apart"], fused="one")
        application.operator("b", host=host, together=["together"], fused="one")
        found = await there.run(job, application.operator("c", together=["together"]))
        assert found == {"a": host, "b": host, "c": host}
        assert pe_of(job, "a") == pe_of(job, "b") != pe_of(job, "c")
        _asks(
            job,
            "a",
            near=[(TOGETHER, "together")],
            far=[(APART, "apart")],
            bears=[(TOGETHER, "together"), (APART, "apart")],
        )


@pytest.mark.scenario(22)
async def test_jobs_with_equal_tokens_have_nothing_to_do_with_each_other(cluster: Cluster) -> None:
    """Both fill two nodes with what is apart, and each finds its own `together`."""

    async def runs(there: Ground, name: str, host: str) -> None:
        async with cluster.job(name) as job:
            application = Hosted().operator("a", host=host, together=["t"], apart=["apart"])
            application.operator("b", together=["t"]).operator("c", apart=["apart"])
            found = await there.run(job, application)
            assert found["a"] == found["b"] == host
            assert {found["a"], found["c"]} == set(there.nodes)
            await both_run.wait()

    both_run = asyncio.Barrier(2)
    async with ground(cluster, "equal", Traits(), Traits()) as there, asyncio.TaskGroup() as jobs:
        for number, host in enumerate(there.nodes):
            jobs.create_task(runs(there, f"equal-{number}", host))


async def test_what_is_only_preferred_gives_way(cluster: Cluster) -> None:
    """Three on two nodes that should be apart; two of them are."""
    async with ground(cluster, "soft", *[Traits()] * 2) as there, cluster.job("soft") as job:
        application = Hosted()
        for name in ("a", "b", "c"):
            application.operator(name, apart=["apart"])
        await there.run(job, application, placement={"required": False})
        assert set(nodes_of_operators(job).values()) <= set(there.nodes)
        assert placement_of(job)["status"]["asPreferred"] is False
        preferred = [{"weight": 100, "podAffinityTerm": beside(job, APART, "apart")}]
        anti = pod_of(job, "a")["spec"]["affinity"]["podAntiAffinity"]
        assert anti == {"preferredDuringSchedulingIgnoredDuringExecution": preferred}


async def test_hosts_may_be_zones(cluster: Cluster) -> None:
    """What is apart is in different zones, what is together in one."""
    zones = (Traits(zone="east"), Traits(zone="east"), Traits(zone="west"))
    async with ground(cluster, "zones", *zones) as there, cluster.job("zones") as job:
        west = there.nodes[2]
        application = Hosted().operator("a", apart=["apart"], host=west)
        application.operator("b", apart=["apart"]).operator("c", together=["together"])
        application.operator("d", together=["together"], host=there.nodes[0])
        found = await there.run(job, application, placement={"topologyKey": ZONE})
        assert found["b"] in there.nodes[:2]
        assert found["c"] in there.nodes[:2]
        anti = pod_of(job, "a")["spec"]["affinity"]["podAntiAffinity"]
        required: Obj = {
            "requiredDuringSchedulingIgnoredDuringExecution": [beside(job, APART, "apart", ZONE)]
        }
        assert anti == required
        async with cluster.job("three-zones") as other:
            third = Hosted().operator("a", apart=["apart"]).operator("b", apart=["apart"])
            third.operator("c", apart=["apart"])
            status = await there.refused(other, third, placement={"topologyKey": ZONE})
            assert status["reason"] == "ExlocationImpossible"


async def test_pods_are_bound_by_name_where_a_job_asks_for_it(cluster: Cluster) -> None:
    """Past the scheduler: there is nothing that it would have to look at."""
    async with ground(cluster, "bound", Traits(), Traits()) as there, cluster.job("bound") as job:
        application = Hosted().operator("a", host=there.nodes[1]).operator("b")
        found = await there.run(job, application, placement={"nodeName": True})
        assert found["a"] == there.nodes[1]
        assert "affinity" not in pod_of(job, "a")["spec"]
        scheduled = await cluster.events(pod_of(job, "a")["metadata"]["name"])
        assert "Scheduled" not in {each["reason"] for each in scheduled}


@pytest.mark.scenario(5)
async def test_hosts_that_exclude_each_other_raise_the_number_of_pes_above_the_request(
    cluster: Cluster,
) -> None:
    """One PE was requested; what asks for nothing joins one of the others."""
    async with ground(cluster, "split", Traits(), Traits()) as there, cluster.job("split") as job:
        first, second = there.nodes
        application = Hosted().operator("a", host=first).operator("b", host=second)
        found = await there.run(job, application, fusion={"manual": 1})
        assert found == {"a": first, "b": second}
        assert len(job.of("pes")) == 2
