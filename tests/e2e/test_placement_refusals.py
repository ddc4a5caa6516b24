"""What the cluster cannot give fails with the reason, the nodes that came closest, and no traces.

Each kind of demand is a job of its own on three nodes; all of them are refused at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from contracts.labels import TAG_PREFIX
from contracts.moments import unix_s_of
from tests.e2e.hosted import Hosted
from tests.e2e.nodes import change, cordon, node_of
from tests.e2e.placing import (
    Ground,
    Traits,
    condition_of_job,
    ground,
    joining,
    marks_of,
    placement_of,
    time_out,
    try_again,
    until_refused,
)
from tests.e2e.watching import TEST_S_MAX, Cluster
from tests.patience import patient

COVERS = (
    "placement/explaining.py",
    "placement/nearing.py",
    "placement/contradicting.py",
    "placement/answers.py",
    "services/hostpool_manager/core/answering.py",
    "services/fusion_backend/core/placement_states.py",
    "services/fusion_backend/core/wording_conditions.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
RACK = "e2e.millrace.dev/rack"
"""A label that no node has."""
Nodes = Sequence[str]
"""Names: one without traits, one with the tag `ib`, one with `blue` that is cordoned."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What cannot be had, the reason of the refusal, and the words that its message has."""

    application: Callable[[Nodes], Hosted]
    reason: str
    says: Callable[[Nodes], Sequence[str]]
    spec: dict[str, object] = field(default_factory=dict)


def pair(first: dict[str, object], second: dict[str, object], *pools: dict[str, object]) -> Hosted:
    """Two operators, a and b."""
    application = Hosted()
    for pool in pools:
        application.pool(**pool)  # type: ignore[arg-type]
    return application.operator("a", **first).operator("b", **second)  # type: ignore[arg-type]


def pooled(**pool: object) -> Hosted:
    """An operator in the pool P, and one that is not."""
    return pair({"pool": "P"}, {}, {"name": "P", **pool})


def four(**constraint: object) -> Hosted:
    """Operators with the same constraint, more than there are nodes."""
    application = Hosted()
    for name in ("a", "b", "c", "d"):
        application.operator(name, **constraint)  # type: ignore[arg-type]
    return application


DEMANDS: dict[str, Demand] = {
    "unknown-name": Demand(
        lambda nodes: pair({"host": f"{nodes[0]}x"}, {}),
        "HostMissing",
        lambda nodes: [f"{nodes[0]}x", f"{nodes[0]} is not"],
    ),
    "unknown-ipv4": Demand(
        lambda _: pair({"host": "10.255.255.1"}, {}), "HostMissing", lambda _: ["10.255.255.1"]
    ),
    "unknown-ipv6": Demand(
        lambda _: pair({"host": "fd00::dead"}, {}), "HostMissing", lambda _: ["fd00::dead"]
    ),
    "unknown-in-pool": Demand(
        lambda nodes: pooled(hosts=[nodes[0], "nowhere"]), "HostMissing", lambda _: ["nowhere", "P"]
    ),
    "unknown-address-in-pool": Demand(
        lambda nodes: pooled(hosts=[nodes[0], "fd00::dead"]),
        "HostMissing",
        lambda _: ["fd00::dead", "P"],
    ),
    "unknown-tag": Demand(
        lambda _: pooled(tags=["nobody-has-it"]), "TagMissing", lambda _: ["nobody-has-it", "P"]
    ),
    "not-all-tags": Demand(
        lambda _: pooled(tags=["ib", "blue"]),
        "TagMissing",
        lambda nodes: ["ib", "blue", f"{nodes[1]} lacks the tag blue"],
    ),
    "too-few": Demand(
        lambda _: pooled(size=2, tags=["ib"]),
        "PoolTooSmall",
        lambda _: ["P", "2 nodes", "lacks the tag ib"],
    ),
    "place-beyond-size": Demand(
        lambda _: pair({"pool": "P", "place": 2}, {}, {"name": "P", "size": 2}),
        "ConstraintsContradict",
        lambda _: ["place 2", "P"],
    ),
    "apart": Demand(
        lambda _: four(apart=["x"]),
        "ExlocationImpossible",
        lambda _: ["places", "apart"],
    ),
    "alone": Demand(lambda _: four(alone=True), "ExlocationImpossible", lambda _: ["apart"]),
    "together-nowhere": Demand(
        lambda _: pair({"together": ["t"]}, {"together": ["t"]}),
        "ColocationImpossible",
        lambda nodes: [RACK, "together"],
        {"placement": {"topologyKey": RACK}},
    ),
    "together-in-two-pools": Demand(
        lambda nodes: pair(
            {"pool": "P", "together": ["t"]},
            {"pool": "Q", "together": ["t"]},
            {"name": "P", "hosts": [nodes[0]]},
            {"name": "Q", "hosts": [nodes[1]]},
        ),
        "ConstraintsContradict",
        lambda nodes: ["'a'", "'b'", *nodes[:2]],
    ),
    "together-on-two-hosts": Demand(
        lambda nodes: pair(
            {"host": nodes[0], "together": ["t"]}, {"host": nodes[1], "together": ["t"]}
        ),
        "ConstraintsContradict",
        lambda nodes: ["'a'", "'b'", *nodes[:2]],
    ),
    "together-and-apart": Demand(
        lambda _: pair({"together": ["t"], "apart": ["x"]}, {"together": ["t"], "apart": ["x"]}),
        "ConstraintsContradict",
        lambda _: ["'a'", "'b'"],
    ),
    "apart-on-one-host": Demand(
        lambda nodes: pair({"host": nodes[0], "apart": ["x"]}, {"host": nodes[0], "apart": ["x"]}),
        "ConstraintsContradict",
        lambda nodes: ["'a'", "'b'", nodes[0]],
    ),
    "apart-in-a-pool-of-one": Demand(
        lambda nodes: pair(
            {"pool": "P", "apart": ["x"]},
            {"pool": "P", "apart": ["x"]},
            {"name": "P", "hosts": [nodes[0]]},
        ),
        "ExlocationImpossible",
        lambda nodes: [nodes[0]],
    ),
    "cordoned": Demand(
        lambda nodes: pair({"host": nodes[2]}, {}),
        "NodesClosed",
        lambda nodes: [f"{nodes[2]} is cordoned"],
    ),
    "host-without-the-label-of-another": Demand(
        lambda nodes: pair({"host": nodes[0]}, {}),
        "HostUnfit",
        lambda nodes: [f"{nodes[0]} lacks the label {TAG_PREFIX}ib="],
        {"template": {"podTemplate": {"spec": {"nodeSelector": {f"{TAG_PREFIX}ib": ""}}}}},
    ),
    "labels-of-nobody": Demand(
        lambda nodes: pair({"host": nodes[0]}, {}),
        "LabelsMissing",
        lambda nodes: [f"{nodes[0]} lacks the label {RACK}=none"],
        {"template": {"podTemplate": {"spec": {"nodeSelector": {RACK: "none"}}}}},
    ),
}


async def test_each_demand_that_cannot_be_met_is_refused_by_name_and_leaves_nothing(
    cluster: Cluster,
) -> None:
    """The Job fails with the reason; requirement and nodes that came closest are in its message."""
    async with ground(cluster, "demands", Traits(), Traits(("ib",)), Traits(("blue",))) as there:
        await cordon(cluster.api, there.nodes[2])
        refusing = (_is_refused(there, name) for name in DEMANDS)
        outcomes = await asyncio.gather(*refusing, return_exceptions=True)
    failures = [each for each in outcomes if isinstance(each, Exception)]
    if failures:
        raise ExceptionGroup("demands that were not refused as they should be", failures)


async def _is_refused(there: Ground, name: str) -> None:
    demand = DEMANDS[name]
    async with there.cluster.job(f"no-{name}") as job:
        try:
            status = await there.refused(job, demand.application(there.nodes), **demand.spec)
            assert status["reason"] == demand.reason, status
            for words in demand.says(there.nodes):
                assert words in status["message"], f"{words!r} is not said"
        except AssertionError as failure:
            failure.add_note(f"demand {name}: {job.status}")
            raise


async def test_a_refused_job_is_placed_when_the_node_is_open_and_somebody_asks_again(
    cluster: Cluster,
) -> None:
    """The annotation `retry` begins again."""
    async with ground(cluster, "shut", Traits()) as there, cluster.job("shut") as job:
        (host,) = there.nodes
        await cordon(cluster.api, host)
        await there.refused(job, Hosted().operator("a", host=host).operator("b"))
        await change(cluster.api, host, {"spec": {"unschedulable": None}})
        await try_again(job, "1")
        await job.until("running", job.is_settled)


async def test_a_job_waits_for_room_and_is_placed_when_a_node_joins(cluster: Cluster) -> None:
    """Meanwhile its condition `Placed` says what is missing, and there is no PE of it."""
    traits = Traits(("big",), cpu="4")
    async with ground(cluster, "room", traits) as there, cluster.job("room") as job:
        large = {"resources": {"requests": {"cpu": "3"}}}
        application = Hosted().pool("P", tags=["big"])
        application.operator("a", pool="P").operator("b", pool="P")
        await there.submit(job, application, template=large)
        await job.until(
            "waiting for room",
            lambda: condition_of_job(job, "Placed").get("reason") == "InsufficientCapacity",
        )
        placed = condition_of_job(job, "Placed")
        assert placed["status"] == "False"
        assert there.nodes[0] in placed["message"]
        assert placement_of(job)["status"]["waits"] is True
        assert job.phase == "Submitting"
        assert job.of("pes") == job.of("pods") == job.of("config_maps") == {}
        async with joining(there, traits) as added:
            await job.until("running", job.is_settled)
            nodes = {pod["spec"]["nodeName"] for pod in job.of("pods").values()}
            assert nodes == {*there.nodes, added}
            assert condition_of_job(job, "Placed")["status"] == "True"
            await cluster.delete(job)


async def test_a_job_without_room_fails_after_its_time_out_and_leaves_nothing(
    cluster: Cluster,
) -> None:
    """The reason is the time-out's; what it waited for, and the node, are in the message."""
    async with ground(cluster, "no-room", Traits()) as there, cluster.job("no-room") as job:
        (host,) = there.nodes
        template = {"resources": {"requests": {"cpu": "40"}}}
        await there.submit(job, pair({"host": host}, {}), template=template)
        await job.until(
            "waiting for room",
            lambda: condition_of_job(job, "Placed").get("reason") == "InsufficientCapacity",
        )
        await time_out(job, 1)
        refused = await until_refused(job)
        assert refused["reason"] == "SubmissionTimedOut"
        assert "InsufficientCapacity" in refused["message"]
        assert f"{host} lacks 8 cpu" in refused["message"]


async def test_a_refusal_marks_no_node(cluster: Cluster) -> None:
    """Of two exclusive pools one could be had: not even that one is taken."""
    async with ground(cluster, "half", Traits(("ib",))) as there, cluster.job("half") as job:
        application = Hosted().pool("P", size=1, tags=["ib"], exclusive=True)
        application.pool("Q", size=2, tags=["ib"], exclusive=True)
        await there.refused(job, application.operator("a", pool="P").operator("b", pool="Q"))
        node = await node_of(cluster.api, there.nodes[0])
        assert marks_of(node) == ([], {})


async def test_a_job_that_lacks_a_tag_runs_within_seconds_when_a_node_gets_it(
    cluster: Cluster,
) -> None:
    """Its back-off is at 10 s then; a node that does not carry the tag starts no attempt."""
    async with ground(cluster, "tag-late", Traits()) as there, cluster.job("tag-late") as job:
        await there.submit(job, pooled(tags=["tag-late"]))
        await job.until("tried twice", lambda: job.status.get("attempts") == 2)
        await until_refused(job)
        assert job.status["awaitedNodes"] == [{"tags": ["tag-late"], "count": 1}]
        next_at = unix_s_of(job.status["nextAttemptAt"])
        async with joining(there, Traits(tags=["another"])):
            await asyncio.sleep(1.0)
            assert job.status["attempts"] == 2
        async with joining(there, Traits(tags=["tag-late"])):
            began = time.time()
            await job.until("begun", lambda: job.phase != "Failed")
            assert time.time() < min(began + patient(4.0), next_at)
            await job.until("running", job.is_settled)
            assert "awaitedNodes" not in job.status
            await cluster.delete(job)
