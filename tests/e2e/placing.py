"""Nodes of a test's own for jobs that say where they run, and what the jobs and nodes then say.

The template of the pods asks for the nodes of the test, so that jobs of one test disturb no other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from contracts import labels
from loadtest.api import MERGE, Api
from tests.e2e.hosted import Hosted
from tests.e2e.nodes import (
    NODES,
    another_node,
    node_of,
    nodes_of,
    these_nodes,
    until_node,
    wanted_by,
)
from tests.e2e.watching import Cluster, JobObjects, Obj

ZONE = "topology.kubernetes.io/zone"
Cpu = str


@dataclass(frozen=True, slots=True)
class Traits:
    """What a node has beside a name: tags, one in the original's form, addresses, a zone, CPU."""

    tags: Sequence[str] = ()
    original_tag: str = ""
    addresses: Sequence[str] = ()
    zone: str = ""
    cpu: Cpu = ""

    def body(self) -> Obj:
        """A node that the cluster does not have yet."""
        body = another_node()
        body["metadata"]["labels"] |= self.labels()
        status = body["status"]
        status["addresses"] += [{"type": "InternalIP", "address": each} for each in self.addresses]
        if self.cpu:
            for amounts in ("capacity", "allocatable"):
                status[amounts]["cpu"] = self.cpu
        return body

    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        found = {f"{labels.TAG_PREFIX}{tag}": "" for tag in self.tags}
        if self.original_tag:
            found[labels.ORIGINAL_TAG] = self.original_tag
        if self.zone:
            found[ZONE] = self.zone
        return found


@dataclass(frozen=True, slots=True)
class Ground:
    """The nodes of a test, in the order of its traits, and a way to run jobs on them."""

    cluster: Cluster
    owner: str
    nodes: Sequence[str]

    async def submit(
        self, job: JobObjects, application: Hosted, *, template: Obj | None = None, **more: object
    ) -> None:
        """Create the Job, one PE an operator, with `more` in its spec."""
        name = f"{job.job}.sab"
        (self.cluster.system.bundles / name).write_bytes(application.bundle())
        pods = {"podTemplate": wanted_by(self.owner), **(template or {})}
        spec = {"fusion": {"legacy": True}, "processingElement": pods, **more}
        await self.cluster.submit(job.job, {"bundle": {"name": name}, **spec})

    async def run(self, job: JobObjects, application: Hosted, **more: object) -> Mapping[str, str]:
        """Create the Job and wait until it runs; the node of each operator."""
        await self.submit(job, application, **more)  # type: ignore[arg-type]
        await job.until("running where it may", job.is_settled)
        return nodes_of_operators(job)

    async def refused(self, job: JobObjects, application: Hosted, **more: object) -> Obj:
        """Create the Job and wait until it has failed and nothing of it is left.

        Returns its status as of `until_refused`.
        """
        await self.submit(job, application, **more)  # type: ignore[arg-type]
        return await until_refused(job)


@asynccontextmanager
async def ground(cluster: Cluster, owner: str, *traits: Traits) -> AsyncIterator[Ground]:
    """Nodes with these traits, ready for pods; removed at the end, when they bear no mark."""
    bodies = [each.body() for each in traits]
    async with these_nodes(cluster.api, owner, bodies) as names:
        yield Ground(cluster, owner, names)
        for name in names:
            await until_free(cluster.api, name)


@asynccontextmanager
async def joining(there: Ground, traits: Traits) -> AsyncIterator[str]:
    """One node more."""
    async with these_nodes(there.cluster.api, there.owner, [traits.body()]) as (name,):
        yield name


async def until_refused(job: JobObjects) -> Obj:
    """Wait until a job has failed and nothing of it is left but the Job.

    Returns the status in which it had failed: on a busy machine the next attempt may have begun
    before the last trace of this one is gone.
    """
    seen: list[Obj] = []

    def is_refused() -> bool:
        if job.phase == "Failed":
            seen.append(job.status)
        return bool(seen)

    await job.until("refused", is_refused)
    await job.until("nothing left of it", lambda: {kind for kind, _ in job.versions()} == {"jobs"})
    return seen[0]


async def try_again(job: JobObjects, value: str) -> None:
    """Ask for another attempt of a failed job."""
    asked = {"metadata": {"annotations": {labels.RETRY: value}}}
    await job.api.call("PATCH", job.path, asked, MERGE)


async def time_out(job: JobObjects, seconds: int) -> None:
    """Let a job wait no longer than this from when it began: so a test need not be as fast."""
    asked = {"spec": {"submissionTimeOutInSeconds": seconds}}
    await job.api.call("PATCH", job.path, asked, MERGE)


# --------------------------------------------------------------------------- what a job says


def nodes_of_operators(job: JobObjects) -> Mapping[str, str]:
    """The node that each operator runs on."""
    places = nodes_of(job)
    return {
        operator: places[name]
        for name, pe in job.of("pes").items()
        for operator in pe["spec"]["operators"]
    }


def pe_of(job: JobObjects, operator: str) -> str:
    """The name of the PE that has an operator."""
    (found,) = (n for n, pe in job.of("pes").items() if operator in pe["spec"]["operators"])
    return found


def pod_of(job: JobObjects, operator: str) -> Obj:
    """The one live pod of an operator's PE."""
    (pod,) = job.pods_of_pes()[pe_of(job, operator)]
    return pod


def placement_of(job: JobObjects) -> Obj:
    """The job's Placement."""
    return job.of("placements")[job.job]


def pool_of(job: JobObjects, index: int) -> Obj:
    """One of its HostPools."""
    return job.of("pools")[f"{job.job}-{index}"]


def members_of(job: JobObjects, index: int) -> list[str]:
    """The members that a HostPool's status names; none before there is one."""
    pool = job.of("pools").get(f"{job.job}-{index}") or {}
    return list((pool.get("status") or {}).get("members") or ())


async def until_members(job: JobObjects, index: int, names: Sequence[str]) -> None:
    """Wait until a pool has exactly these members in this order."""
    await job.until(f"members {names}", lambda: members_of(job, index) == list(names))


def condition_of_job(job: JobObjects, type_: str) -> Obj:
    """A condition of the Job; empty if it does not exist."""
    return next((each for each in job.status.get("conditions", ()) if each["type"] == type_), {})


# --------------------------------------------------------------------------- what nodes bear


def taints_of(node: Obj) -> list[Obj]:
    """All of its taints; the times at which they came are not compared."""
    found = node["spec"].get("taints") or ()
    return [{key: each.get(key, "") for key in ("key", "value", "effect")} for each in found]


def exclusive_taint(pool: Obj) -> Obj:
    """The taint of a node that an exclusive pool holds."""
    uid = pool["metadata"]["uid"]
    return {"key": labels.EXCLUSIVE_TAINT, "value": uid, "effect": "NoSchedule"}


def marks_of(node: Obj) -> tuple[list[str], dict[str, str]]:
    """The uids in taints of ours, and the places in labels of ours by uid."""
    taints = [each["value"] for each in taints_of(node) if each["key"] == labels.EXCLUSIVE_TAINT]
    places = {
        key.removeprefix(labels.MEMBER_PREFIX): value
        for key, value in node["metadata"]["labels"].items()
        if key.startswith(labels.MEMBER_PREFIX)
    }
    return taints, places


async def until_free(api: Api, name: str) -> None:
    """Wait until a node, if it is there, bears no mark of a pool."""
    listing = await api.call("GET", f"{NODES}?fieldSelector=metadata.name%3D{name}")
    if listing["items"]:
        await until_node(api, name, lambda node: marks_of(node) == ([], {}))


async def until_marked(api: Api, name: str, pool: Obj, place: int) -> Obj:
    """Wait until a node bears the marks of an exclusive pool, and of no other; the node."""
    uid = pool["metadata"]["uid"]
    await until_node(api, name, lambda node: marks_of(node) == ([uid], {uid: str(place)}))
    return await node_of(api, name)


# --------------------------------------------------------------------------- what pods ask for


def term(*expressions: Obj) -> Obj:
    """Expressions over a node's labels that must hold together, their order without meaning."""
    return {"matchExpressions": sorted(expressions, key=json.dumps)}


def on(node: str) -> Obj:
    """The expression that pins a pod."""
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}


def has(label: str) -> Obj:
    """The expression that asks for a label whatever its value."""
    return {"key": label, "operator": "Exists"}


def bears(label: str, value: str) -> Obj:
    """The expression that asks for a label with one value."""
    return {"key": label, "operator": "In", "values": [value]}


def terms_of(pod: Obj) -> list[Obj]:
    """The alternatives of a pod's required node affinity, their order without meaning."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    assert affinity.keys() <= {"requiredDuringSchedulingIgnoredDuringExecution"}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    return in_order(*(term(*each["matchExpressions"]) for each in required["nodeSelectorTerms"]))


def in_order(*terms: Obj) -> list[Obj]:
    """Alternatives as they are compared."""
    return sorted(terms, key=json.dumps)


def beside(job: JobObjects, key: str, value: str, topology: str = labels.HOSTNAME) -> Obj:
    """A term of affinity or anti-affinity: pods of the same job with a label of this value."""
    of_job = bears(labels.JOB, job.job)
    return {
        "labelSelector": {"matchExpressions": [bears(key, value), of_job]},
        "topologyKey": topology,
    }


def token_labels_of(pod: Obj) -> Mapping[str, str]:
    """The labels by which the pods of a job find or avoid each other."""
    kinds = ("hostcolocation", "hostexlocation", "hostisolation")
    prefixes = tuple(f"{labels.PREFIX}/{kind}." for kind in kinds)
    return {k: v for k, v in pod["metadata"]["labels"].items() if k.startswith(prefixes)}
