"""What the texts about placement claim beyond the examples: spellings, shapes, hands and hours.

Each test is one sentence of the promise seen through the Kubernetes API alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from contracts import labels
from loadtest.api import CORE, MERGE
from tests.e2e.hosted import Hosted
from tests.e2e.nodes import (
    OF_TEST,
    another_node,
    change,
    node_of,
    remove,
    taint,
    these_nodes,
    until_node,
    wanted_by,
)
from tests.e2e.placing import (
    Ground,
    Traits,
    condition_of_job,
    exclusive_taint,
    ground,
    marks_of,
    members_of,
    nodes_of_operators,
    on,
    placement_of,
    pod_of,
    pool_of,
    taints_of,
    term,
    terms_of,
    until_free,
    until_marked,
    until_members,
)
from tests.e2e.watching import PATHS, TEST_S_MAX, Cluster, JobObjects, Obj

COVERS = ("services/hostpool_manager/core/*", "placement/ro*.py")

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(TEST_S_MAX),
    pytest.mark.parametrize("system", ["sandbox"], indirect=True),
]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TAGGED = Traits(("calm",))
SMALL = Traits(("calm",), cpu="4")
GUESTS: Mapping[str, Obj] = {
    "requests": {"containers": {"requests": {"cpu": "3"}}},
    "limits": {"containers": {"limits": {"cpu": "3"}}},
    "init": {"containers": {}, "init": "3"},
    "overhead": {"containers": {"requests": {"cpu": "1"}}, "overhead": {"cpu": "2"}},
}
"""Pods of nobody's that take 3 cpu."""


def exclusive(size: int) -> Hosted:
    """Two PEs in an exclusive pool, each in a place of its own where there are two."""
    application = Hosted().pool("P", size=size, tags=["calm"], exclusive=True)
    return application.operator("a", pool="P", place=0).operator("b", pool="P", place=size - 1)


def requests(cpu: str) -> Obj:
    """Pods that ask for this much."""
    return {"resources": {"requests": {"cpu": cpu}}}


def uids_of_pods(job: JobObjects) -> set[str]:
    """The pods that there are."""
    return {pod["metadata"]["uid"] for pod in job.of("pods").values()}


# --------------------------------------------------------------------------- what names a host


async def test_an_address_is_the_same_however_it_is_spelt(cluster: Cluster) -> None:
    """Capitals, zeros and the dotted end of IPv6; the Node has its own spelling."""
    spellings = ("FD00:91::ABCD", "fd00:0091:0:0::abcd", "fd00:91::0.0.171.205")
    traits = (Traits(addresses=["fd00:91:0:0:0:0:0:abcd"]), Traits())
    async with ground(cluster, "spelt", *traits) as there:

        async def runs(number: int, spelling: str) -> None:
            async with cluster.job(f"spelt-{number}") as job:
                application = Hosted().operator("a", host=spelling).operator("b")
                assert (await there.run(job, application))["a"] == there.nodes[0]
                assert terms_of(pod_of(job, "a")) == [term(on(there.nodes[0]))]

        await asyncio.gather(*(runs(*each) for each in enumerate(spellings)))


async def test_what_is_no_address_is_a_name_and_names_are_exact(cluster: Cluster) -> None:
    """Leading zeros, brackets, a prefix length, capitals, spaces: no node has such a name."""
    async with ground(cluster, "exact", Traits(addresses=["10.91.1.1"])) as there:
        (node,) = there.nodes
        names = ("010.091.001.001", "[10.91.1.1]", "10.91.1.1/32", node.upper(), "läuft nicht")

        async def is_refused(number: int, name: str) -> None:
            async with cluster.job(f"exact-{number}") as job:
                application = Hosted().operator("a", host=name).operator("b")
                status = await there.refused(job, application)
                assert status["reason"] == "HostMissing"
                assert name in status["message"]

        await asyncio.gather(*(is_refused(*each) for each in enumerate(names)))


async def test_a_node_is_found_whose_label_is_not_its_name_or_that_has_none(
    cluster: Cluster,
) -> None:
    """Pinned by the label's value, or by the field; the value of the label is no name of a host."""
    renamed, bare = another_node(), another_node()
    renamed["metadata"]["labels"][labels.HOSTNAME] = "called-otherwise"
    del bare["metadata"]["labels"][labels.HOSTNAME]
    async with (
        these_nodes(cluster.api, "label-less", [renamed, bare]) as names,
        cluster.job("label-less") as job,
        cluster.job("by-label") as other,
    ):
        there = Ground(cluster, "label-less", names)
        application = Hosted().operator("a", host=names[0]).operator("b", host=names[1])
        assert await there.run(job, application) == {"a": names[0], "b": names[1]}
        assert terms_of(pod_of(job, "a")) == [term(on("called-otherwise"))]
        required = pod_of(job, "b")["spec"]["affinity"]["nodeAffinity"][REQUIRED]
        field = {"key": "metadata.name", "operator": "In", "values": [names[1]]}
        assert required == {"nodeSelectorTerms": [{"matchFields": [field]}]}
        application = Hosted().operator("a", host="called-otherwise").operator("b")
        assert (await there.refused(other, application))["reason"] == "HostMissing"


# --------------------------------------------------------------------------- what objects look like


async def test_a_pool_and_the_places_of_its_pes_say_what_the_application_says(
    cluster: Cluster,
) -> None:
    """Names, labels, owner and finalizer; a shared pool of which nobody asks for a place has none
    and writes nothing to nodes."""
    async with ground(cluster, "shape", TAGGED, TAGGED) as there, cluster.job("shape") as job:
        name = 'läuft "mit" <&> [0] ::Pool'
        application = Hosted().pool(name, size=1, tags=["calm"], exclusive=True)
        application.pool("S", tags=["calm"]).operator("a", pool=name, place=0, together=["t"])
        application.operator("b", pool="S", apart=["x", "y"]).operator("c")
        await there.run(job, application)
        held, shared, default = pool_of(job, 1), pool_of(job, 2), pool_of(job, 0)
        declared = {"name": name, "index": 1, "membershipMode": "exclusive", "size": 1}
        assert held["spec"]["hostpool"] == {**declared, "tags": ["calm"], "hosts": []}
        assert default["spec"]["hostpool"]["name"] == "$default"
        assert held["metadata"]["finalizers"] == [labels.NODE_CLAIMS_FINALIZER]
        assert not shared["metadata"].get("finalizers")
        for each in (held, shared, placement_of(job)):
            assert each["metadata"]["labels"][labels.JOB] == job.job
            (owner,) = each["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["uid"]) == ("Job", job.uid)
            assert (owner["controller"], owner["blockOwnerDeletion"]) == (True, True)
        assert held["metadata"]["annotations"][labels.APPLICATION_SCOPE] == "Default"
        for node in there.nodes:
            assert shared["metadata"]["uid"] not in marks_of(await node_of(cluster.api, node))[1]
        asked = {o: pe for pe in job.of("pes").values() for o in pe["spec"]["operators"]}
        first, second = (asked[name]["spec"]["placement"] for name in ("a", "b"))
        assert first["hostPoolLocation"] == {"poolIndex": 1, "inpoolIndex": 0}
        assert (first["coLocations"], second["exLocations"]) == (["t"], ["x", "y"])
        assert "placement" not in asked["c"]["spec"]


async def test_what_the_template_of_the_pods_asks_for_stands_beside_the_pin(
    cluster: Cluster,
) -> None:
    """Its alternatives with each of ours, its other affinity kept; its toleration opens a node."""
    disk = {"key": "e2e.millrace.dev/disk", "operator": "Exists"}
    rack = {"key": "e2e.millrace.dev/rack", "operator": "Exists"}
    either = [{"matchExpressions": [disk]}, {"matchExpressions": [rack]}]
    busy = {"labelSelector": {"matchLabels": {"busy": "1"}}, "topologyKey": labels.HOSTNAME}
    apart = {PREFERRED: [{"weight": 7, "podAffinityTerm": busy}]}
    async with ground(cluster, "given", TAGGED, TAGGED) as there, cluster.job("given") as job:
        node = there.nodes[1]
        await change(cluster.api, node, {"metadata": {"labels": {disk["key"]: ""}}})
        await taint(cluster.api, node, "e2e.millrace.dev/dedicated", "NoSchedule")
        template = wanted_by("given")
        template["spec"]["affinity"] = {
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": either}},
            "podAntiAffinity": apart,
        }
        tolerated = {"key": "e2e.millrace.dev/dedicated", "operator": "Exists"}
        template["spec"]["tolerations"] = [tolerated]
        application = Hosted().pool("P", tags=["calm"]).operator("a", pool="P", apart=["x"])
        found = await there.run(job, application, template={"podTemplate": template})
        assert found == {"a": node}
        pod = pod_of(job, "a")
        terms = terms_of(pod)
        assert len(terms) == 4
        for each in terms:
            assert on(node) in each["matchExpressions"]
            assert (disk in each["matchExpressions"]) != (rack in each["matchExpressions"])
        avoided = pod["spec"]["affinity"]["podAntiAffinity"]
        assert avoided[PREFERRED] == apart[PREFERRED]
        assert len(avoided[REQUIRED]) == 1


# --------------------------------------------------------------------------- what counts as room


@asynccontextmanager
async def guest(
    cluster: Cluster, node: str, containers: Obj, *, init: str = "", **spec: object
) -> AsyncIterator[str]:
    """A pod of nobody's that is bound to a node."""
    name = f"guest-of-{node}"
    body: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "none", "resources": containers}],
            **spec,
        },
    }
    if init:
        first = {"name": "i", "image": "none", "resources": {"requests": {"cpu": init}}}
        body["spec"]["initContainers"] = [first]
    await cluster.api.call("POST", f"{CORE}/pods", body)
    try:
        yield name
    finally:
        await cluster.api.call("DELETE", f"{CORE}/pods/{name}")


async def test_what_every_bound_pod_asks_for_is_taken_until_it_is_gone(cluster: Cluster) -> None:
    """Requests, limits without them, init containers, overhead; what has ended takes nothing."""
    async with ground(cluster, "full", *[Traits(cpu="4")] * len(GUESTS)) as there:

        async def waits(node: str, name: str) -> None:
            application = Hosted().operator("a", host=node)
            async with cluster.job(f"full-{name}") as job:
                async with guest(cluster, node, **GUESTS[name]):
                    await there.submit(job, application, template=requests("2"))
                    await job.until("waiting for room", lambda: _waits(job))
                    assert node in condition_of_job(job, "Placed")["message"]
                    assert {kind for kind, _ in job.versions()} == {"jobs", "placements", "pools"}
                await job.until("running", job.is_settled)

        await asyncio.gather(*(waits(*each) for each in zip(there.nodes, GUESTS, strict=True)))
        node = there.nodes[0]
        async with guest(cluster, node, {"requests": {"cpu": "3"}}) as name:
            ended = {"status": {"phase": "Succeeded"}}
            await cluster.api.call("PATCH", f"{CORE}/pods/{name}/status", ended, MERGE)
            async with cluster.job("full-of-ended") as job:
                await there.run(job, Hosted().operator("a", host=node), template=requests("2"))


def _waits(job: JobObjects) -> bool:
    placed = condition_of_job(job, "Placed")
    return (placed.get("status"), placed.get("reason")) == ("False", "InsufficientCapacity")


async def test_a_job_that_waits_holds_nothing_and_what_fits_passes_it(cluster: Cluster) -> None:
    """When its requests are lowered, it is placed."""
    async with (
        ground(cluster, "queue", SMALL, SMALL) as there,
        cluster.job("queue-1") as waiting,
        cluster.job("queue-2") as passing,
    ):
        application = exclusive(2).operator("c", pool="P")
        await there.submit(waiting, application, template=requests("3"))
        await waiting.until("waiting for room", lambda: _waits(waiting))
        await there.run(passing, exclusive(1), template=requests("1"))
        for node in {*there.nodes} - {*members_of(passing, 1)}:
            assert marks_of(await node_of(cluster.api, node)) == ([], {})
        await cluster.delete(passing)
        less = {"spec": {"processingElement": requests("1")}}
        await cluster.api.call("PATCH", waiting.path, less, MERGE)
        await waiting.until("running", waiting.is_settled)


# --------------------------------------------------------------------------- places and hands


async def test_a_member_that_no_pe_needs_is_replaced_at_its_place(cluster: Cluster) -> None:
    """Marks move with it; a member whose PE runs keeps place and marks though its tag is gone."""
    untagged = {"metadata": {"labels": {f"{labels.TAG_PREFIX}calm": None}}}
    async with ground(cluster, "moved", *[TAGGED] * 4) as there, cluster.job("moved") as job:
        await there.run(job, exclusive(3))
        pods = uids_of_pods(job)
        first, middle, last = members_of(job, 1)
        (spare,) = {*there.nodes} - {first, middle, last}
        await change(cluster.api, first, untagged)
        await change(cluster.api, middle, untagged)
        await until_members(job, 1, [first, spare, last])
        await until_marked(cluster.api, spare, pool_of(job, 1), 1)
        await until_free(cluster.api, middle)
        await until_marked(cluster.api, first, pool_of(job, 1), 0)
        assert uids_of_pods(job) == pods


async def test_places_stay_when_a_node_goes_and_it_has_its_own_again_when_it_is_back(
    cluster: Cluster,
) -> None:
    """Under the same name, with the tag in the original's form, without a mark at first."""
    async with ground(cluster, "again", *[TAGGED] * 3) as there, cluster.job("again") as job:
        application = Hosted().pool("P", tags=["calm"]).operator("a", pool="P", place=2)
        await there.run(job, application)
        first, second, third = members_of(job, 1)
        await remove(cluster.api, first)
        await until_members(job, 1, ["", second, third])
        await cluster.api.call("POST", "/api/v1/nodes", _node_called(first, "again"))
        await until_members(job, 1, [first, second, third])
        uid = pool_of(job, 1)["metadata"]["uid"]
        await until_node(cluster.api, first, lambda node: marks_of(node) == ([], {uid: "0"}))
        await job.until("running as before", job.is_settled)
        assert nodes_of_operators(job) == {"a": third}


def _node_called(name: str, owner: str) -> Obj:
    body = Traits(original_tag="calm").body()
    body["metadata"]["name"] = body["metadata"]["labels"][labels.HOSTNAME] = name
    body["metadata"]["labels"][OF_TEST] = owner
    return body


async def test_marks_that_hands_changed_are_put_right_beside_those_of_others(
    cluster: Cluster,
) -> None:
    """A wrong place, a label taken away, a claim of nobody, a foreign taint put before ours."""
    async with ground(cluster, "hands", TAGGED, TAGGED) as there, cluster.job("hands") as job:
        await there.run(job, exclusive(1))
        (node,) = members_of(job, 1)
        (free,) = {*there.nodes} - {node}
        pool, pods = pool_of(job, 1), uids_of_pods(job)
        place, nobody = labels.member_label(pool["metadata"]["uid"]), labels.member_label("0-dead")
        foreign = {"key": "e2e.millrace.dev/theirs", "effect": "PreferNoSchedule", "value": "v"}
        await change(cluster.api, node, {"metadata": {"labels": {place: "7", nobody: "0"}}})
        await until_marked(cluster.api, node, pool, 0)
        await change(cluster.api, node, {"metadata": {"labels": {place: None}}})
        await change(cluster.api, node, {"spec": {"taints": [foreign]}})
        found = await until_marked(cluster.api, node, pool, 0)
        assert taints_of(found) == [foreign, exclusive_taint(pool)]
        dead = {"key": labels.EXCLUSIVE_TAINT, "value": "0-dead", "effect": "NoSchedule"}
        await change(cluster.api, free, {"spec": {"taints": [dead, foreign]}})
        await until_node(cluster.api, free, lambda each: taints_of(each) == [foreign])
        assert uids_of_pods(job) == pods


async def test_a_pool_or_placement_that_hands_deleted_or_changed_is_what_it_was(
    cluster: Cluster,
) -> None:
    """Same members, same answer, other uid and marks; no pod is touched."""
    async with ground(cluster, "torn", *[TAGGED] * 3) as there, cluster.job("torn") as job:
        await there.run(job, exclusive(2))
        members, answer, pods = members_of(job, 1), _answer(job), uids_of_pods(job)
        old = {kind: set(_uids(job, kind)) for kind in ("pools", "placements")}
        pool, placement = f"{PATHS['pools']}/torn-1", f"{PATHS['placements']}/torn"
        shared = {"spec": {"hostpool": {"membershipMode": "shared"}}}
        await cluster.api.call("PATCH", pool, shared, MERGE)
        await cluster.api.call("PATCH", placement, {"spec": {"classes": []}}, MERGE)
        await job.until("put back", lambda: _is_whole(job))
        await cluster.api.call("DELETE", pool)
        await cluster.api.call("DELETE", placement)
        await job.until(
            "new ones",
            lambda: (
                _uids(job, "pools") - old["pools"] != set()
                and not _uids(job, "placements") & old["placements"]
                and _is_whole(job)
                and _answer(job) == answer
                and members_of(job, 1) == members
            ),
        )
        for place, node in enumerate(members):
            await until_marked(cluster.api, node, pool_of(job, 1), place)
        await job.until("running as before", job.is_settled)
        assert uids_of_pods(job) == pods


def _uids(job: JobObjects, kind: str) -> set[str]:
    return {each["metadata"]["uid"] for each in job.of(kind).values()}


def _is_whole(job: JobObjects) -> bool:
    if not {"torn-1"} <= job.of("pools").keys() or not job.of("placements"):
        return False
    is_exclusive = pool_of(job, 1)["spec"]["hostpool"]["membershipMode"] == "exclusive"
    return is_exclusive and bool(placement_of(job)["spec"]["classes"])


def _answer(job: JobObjects) -> Sequence[Obj]:
    return (placement_of(job).get("status") or {}).get("assignments") or ()
