"""Effects against a sandboxed cluster: the guards that need a look at the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from contracts import labels
from sandbox.http.in_process import Fault, When
from sandbox.store.deleting import DeleteOptions
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Partition
from services.chassis.process.errors import Superseded, Transient
from services.chassis.table.table import Table
from services.node_tainter.adapters import intake
from services.node_tainter.adapters.carry_out import CarryOut
from services.node_tainter.adapters.intake import HOST_POOL, NODE
from services.node_tainter.core.deciding import decide
from services.node_tainter.core.snapshot import Key, NodeKey, PoolKey
from tests.builders import Builder, Obj
from tests.sandboxed import MERGE, Sandboxed, SandboxTransport
from tests.virtual_time import run_virtually

NODE_NAME = "node-0"
KEY = NodeKey(NODE_NAME)
FOREIGN = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


class Cluster:
    """A sandboxed cluster with one node, and the table of a service that gets facts."""

    def __init__(self) -> None:
        self.sandbox = Sandboxed()
        self.table = Table()
        self.table.declare_indexes(intake.INDEXES)
        self.table.expect(dict.fromkeys(intake.KINDS, (Partition("millrace.cluster", 0),)))
        client = self.sandbox.client()
        transport = client._transport
        assert isinstance(transport, SandboxTransport)
        self.asked = transport.asked
        self.writer = Writer(client, self.table, now=self.sandbox.clock.now)
        self.carry_out = CarryOut(self.table, self.writer, client)
        self.tell_node()

    # what there is

    def node(self) -> Obj:
        return dict(self.sandbox.cluster.store.get(self.sandbox.kind(NODE), None, NODE_NAME))

    def patch_node(self, patch: dict[str, Any]) -> None:
        """Somebody else writes; the table is not told."""
        self.sandbox.cluster.store.patch(self.sandbox.kind(NODE), None, NODE_NAME, patch, MERGE)

    def mark(self, *taints: Obj, **places: str) -> None:
        """Somebody else marks the node."""
        marks = {labels.member_label(uid): place for uid, place in places.items()}
        self.patch_node({"metadata": {"labels": marks}, "spec": {"taints": list(taints)}})

    def carried(self) -> tuple[list[Obj], dict[str, str]]:
        """Taints, and places by the uid of the pool."""
        node = self.node()
        marks = node["metadata"].get("labels") or {}
        places = {
            key.removeprefix(labels.MEMBER_PREFIX): value
            for key, value in marks.items()
            if key.startswith(labels.MEMBER_PREFIX)
        }
        return node["spec"].get("taints") or [], places

    def hide_pool(
        self,
        name: str,
        *members: str,
        finalizers: tuple[str, ...] = (),
        namespace: str = "default",
    ) -> Obj:
        """An exclusive pool that the table does not know."""
        meta = {"name": name, "namespace": namespace, "finalizers": list(finalizers)}
        hostpool = {"name": name, "membershipMode": "exclusive"}
        body = {"metadata": meta, "spec": {"hostpool": hostpool}}
        if members:
            body["status"] = {"members": list(members)}
        return self.sandbox.create(Builder(HOST_POOL, body))

    def have_pool(self, name: str, *members: str) -> str:
        """An exclusive pool that the table knows, with our finalizer; its uid."""
        created = self.hide_pool(name, *members, finalizers=(labels.NODE_CLAIMS_FINALIZER,))
        self.writer.observe(HOST_POOL, created)
        return str(created["metadata"]["uid"])

    def pool(self, name: str) -> Obj:
        kind = self.sandbox.kind(HOST_POOL)
        return dict(self.sandbox.cluster.store.get(kind, "default", name))

    def pools(self) -> list[str]:
        pools = self.sandbox.cluster.store.list(self.sandbox.kind(HOST_POOL), "default")
        return [pool["metadata"]["name"] for pool in pools.items]

    def set_members(self, name: str, *members: str) -> Obj:
        kind, patch = self.sandbox.kind(HOST_POOL), {"status": {"members": list(members)}}
        store = self.sandbox.cluster.store
        return dict(store.patch(kind, "default", name, patch, MERGE, subresource="status"))

    def delete_pool(self, name: str) -> None:
        kind = self.sandbox.kind(HOST_POOL)
        self.sandbox.cluster.store.delete(kind, "default", name, DeleteOptions())

    # what the service is reported and does

    def tell_node(self) -> None:
        self.writer.observe(NODE, self.node())

    def tell_pool(self, name: str) -> None:
        self.writer.observe(HOST_POOL, self.pool(name))

    async def act(self, key: Key = KEY) -> list[str]:
        """Decide once, and carry out what was decided."""
        snapshot = intake.snapshot_of(self.table, key)
        effects = decide(snapshot).effects
        return [await self.carry_out.run(key, snapshot, effect) for effect in effects]

    def patches(self) -> int:
        return sum(method == "PATCH" for method, _ in self.asked)


def taint(uid: str) -> Obj:
    return {"key": labels.EXCLUSIVE_TAINT, "value": uid, "effect": "NoSchedule"}


def with_cluster(test: Callable[[Cluster], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(Cluster())

    run_virtually(run())


def test_label_and_taint_are_one_patch_and_nothing_follows_it() -> None:
    """The answer of the write is an observation."""

    async def test(cluster: Cluster) -> None:
        cluster.patch_node({"spec": {"taints": [FOREIGN]}})
        cluster.tell_node()
        uid = cluster.have_pool("p", "", NODE_NAME)
        assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([FOREIGN, taint(uid)], {uid: "1"})
        assert await cluster.act() == []
        assert cluster.patches() == 1

    with_cluster(test)


def test_a_heartbeat_that_no_fact_reported_of_does_not_hold_up_the_patch() -> None:
    """The version differs, what it says does not."""

    async def test(cluster: Cluster) -> None:
        uid = cluster.have_pool("p", NODE_NAME)
        cluster.patch_node({"metadata": {"annotations": {"example.com/beat": "1"}}})
        assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([taint(uid)], {uid: "0"})

    with_cluster(test)


def test_a_foreign_taint_that_came_meanwhile_is_kept() -> None:
    """The version fences the patch of the whole list; the next one is made of the new list."""

    async def test(cluster: Cluster) -> None:
        uid = cluster.have_pool("p", NODE_NAME)
        cluster.patch_node({"spec": {"taints": [FOREIGN]}})
        with pytest.raises(Superseded):
            await cluster.act()
        assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([FOREIGN, taint(uid)], {uid: "0"})

    with_cluster(test)


def test_another_owner_s_taint_that_came_meanwhile_wins() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.have_pool("mine", NODE_NAME)
        other = cluster.hide_pool("other", NODE_NAME)["metadata"]["uid"]
        cluster.mark(taint(other), **{other: "0"})
        with pytest.raises(Superseded):  # the node changed
            await cluster.act()
        with pytest.raises(Superseded):  # its owner, of whom nobody told, lives
            await cluster.act()
        assert await cluster.act() == []
        assert cluster.carried() == ([taint(other)], {other: "0"})

    with_cluster(test)


def test_marks_of_a_pool_that_is_nowhere_go() -> None:
    """Somebody removed its finalizer while we were down."""

    async def test(cluster: Cluster) -> None:
        cluster.mark(FOREIGN, taint("gone"), gone="0", older="1")
        cluster.tell_node()
        assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([FOREIGN], {})

    with_cluster(test)


@pytest.mark.parametrize("namespace", ["default", "kube-system"])
def test_marks_of_a_pool_that_no_fact_shows_stay(namespace: str) -> None:
    """Whatever its namespace: facts may be limited to some. From then on it is known."""

    async def test(cluster: Cluster) -> None:
        uid = cluster.hide_pool("late", NODE_NAME, namespace=namespace)["metadata"]["uid"]
        cluster.mark(taint(uid), **{uid: "0"})
        cluster.tell_node()
        with pytest.raises(Superseded):
            await cluster.act()
        assert await cluster.act() == []
        assert cluster.carried() == ([taint(uid)], {uid: "0"})
        assert cluster.patches() == 0

    with_cluster(test)


def test_a_uid_that_is_nowhere_is_looked_for_once() -> None:
    """It never comes back: a list for each of a thousand nodes would tell nothing new."""

    async def test(cluster: Cluster) -> None:
        for _ in range(2):
            cluster.mark(taint("gone"), gone="0")
            cluster.tell_node()
            assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([], {})
        listed = [path for method, path in cluster.asked if "streamshostpools?" in path]
        assert len(listed) == 1

    with_cluster(test)


def test_members_that_are_newer_than_what_was_reported_are_looked_at_before_marks_go() -> None:
    """Another instance has seen them, and marked the node already."""

    async def test(cluster: Cluster) -> None:
        uid = cluster.have_pool("p")
        cluster.set_members("p", NODE_NAME)
        cluster.mark(taint(uid), **{uid: "0"})
        cluster.tell_node()
        with pytest.raises(Superseded):
            await cluster.act()
        assert await cluster.act() == []
        assert cluster.carried() == ([taint(uid)], {uid: "0"})

    with_cluster(test)


def test_a_pool_that_lists_the_node_no_more_loses_it() -> None:
    async def test(cluster: Cluster) -> None:
        uid = cluster.have_pool("p")
        cluster.mark(taint(uid), **{uid: "0"})
        cluster.tell_node()
        assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([], {})

    with_cluster(test)


def test_a_node_that_came_back_under_its_name_is_not_written_to_for_the_old_one() -> None:
    async def test(cluster: Cluster) -> None:
        uid = cluster.have_pool("p", NODE_NAME)
        store, kind = cluster.sandbox.cluster.store, cluster.sandbox.kind(NODE)
        store.delete(kind, None, NODE_NAME, DeleteOptions())
        meta = {"name": NODE_NAME, "labels": {"zone": "z1"}}
        store.create(kind, None, {"apiVersion": "v1", "kind": NODE, "metadata": meta})
        with pytest.raises(Superseded):
            await cluster.act()
        assert cluster.carried() == ([], {})
        assert await cluster.act() == ["patched"]
        assert cluster.carried() == ([taint(uid)], {uid: "0"})

    with_cluster(test)


@pytest.mark.parametrize("when", When)
def test_a_patch_whose_answer_is_lost_is_looked_at_and_never_doubled(when: When) -> None:
    async def test(cluster: Cluster) -> None:
        uid = cluster.have_pool("p", NODE_NAME)
        cluster.sandbox.faults = lambda method, _: Fault(lost=when) if method == "PATCH" else None
        with pytest.raises(Transient):
            await cluster.act()
        cluster.sandbox.faults = lambda _method, _path: None
        assert await cluster.act() == ([] if when is When.AFTER else ["patched"])
        assert cluster.carried() == ([taint(uid)], {uid: "0"})

    with_cluster(test)


# --------------------------------------------------------------------------- finalizers


def test_a_finalizer_is_put_beside_those_of_others() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.hide_pool("p", NODE_NAME, finalizers=("example.com/theirs",))
        cluster.tell_pool("p")
        assert await cluster.act() == []  # no mark before the finalizer
        assert await cluster.act(PoolKey("default", "p")) == ["patched"]
        finalizers = cluster.pool("p")["metadata"]["finalizers"]
        assert finalizers == ["example.com/theirs", labels.NODE_CLAIMS_FINALIZER]
        assert await cluster.act() == ["patched"]

    with_cluster(test)


def test_a_pool_that_is_being_deleted_by_now_gets_no_finalizer() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.hide_pool("p", NODE_NAME, finalizers=("example.com/theirs",))
        cluster.tell_pool("p")
        cluster.delete_pool("p")
        with pytest.raises(Superseded):
            await cluster.act(PoolKey("default", "p"))
        assert await cluster.act(PoolKey("default", "p")) == await cluster.act() == []
        assert cluster.pool("p")["metadata"]["finalizers"] == ["example.com/theirs"]

    with_cluster(test)


@pytest.mark.parametrize("has_taint", [True, False])
def test_a_finalizer_stays_while_a_node_carries_marks_that_no_fact_shows(has_taint: bool) -> None:
    """Another instance, which has not heard of the deletion yet, has marked it just now."""

    async def test(cluster: Cluster) -> None:
        key = PoolKey("default", "p")
        uid = cluster.have_pool("p", NODE_NAME)
        cluster.delete_pool("p")
        cluster.tell_pool("p")
        if has_taint:
            cluster.mark(taint(uid))
        else:
            cluster.mark(**{uid: "0"})
        with pytest.raises(Superseded):
            await cluster.act(key)
        assert await cluster.act(key) == []  # held until the node is released
        assert await cluster.act() == ["patched"]
        await cluster.act(key)
        assert cluster.pools() == []

    with_cluster(test)


def test_pools_that_are_deleted_together_share_the_lists_of_nodes() -> None:
    """A list of thousands of nodes for each of a hundred pools would be most of the work."""

    async def test(cluster: Cluster) -> None:
        names = [f"p{number}" for number in range(9)]
        for name in names:
            cluster.have_pool(name)
            cluster.delete_pool(name)
            cluster.tell_pool(name)
        cluster.sandbox.faults = lambda method, _: Fault(delay_s=0.1) if method == "GET" else None
        await asyncio.gather(*(cluster.act(PoolKey("default", name)) for name in names))
        assert cluster.pools() == []
        assert len([path for _, path in cluster.asked if "/nodes?" in path]) == 2

    with_cluster(test)


def test_a_list_of_nodes_that_fails_lets_no_pool_go() -> None:
    """Not even one that only waited for it."""

    async def test(cluster: Cluster) -> None:
        for name in ("p", "q"):
            cluster.have_pool(name)
            cluster.delete_pool(name)
            cluster.tell_pool(name)
        cluster.sandbox.faults = lambda method, _: Fault(status=503) if method == "GET" else None
        acts = (cluster.act(PoolKey("default", name)) for name in ("p", "q"))
        ended = await asyncio.gather(*acts, return_exceptions=True)
        assert [type(each) for each in ended] == [Transient, Transient]
        assert cluster.pools() == ["p", "q"]

    with_cluster(test)
