"""Owners go, and what happens to their dependents depends on how they were deleted."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.controllers.settings import Settings
from sandbox.store.resources import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, NODE, POD
from tests.unit.sandbox.controllers.living import (
    LivingCluster,
    config_map,
    names,
    owned_by,
    pod,
)

pytestmark = pytest.mark.looptime


async def test_background_deletion_takes_dependents_of_dependents_along(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        middle = cluster.create(CONFIG_MAP, config_map("middle", owned_by(owner)))
        cluster.create(CONFIG_MAP, config_map("leaf", owned_by(middle)))
        await asyncio.sleep(1)
        assert names(cluster) == {"owner", "middle", "leaf"}
        cluster.delete(CONFIG_MAP, "owner")
        await asyncio.sleep(1)
        assert names(cluster) == set()


async def test_one_owner_that_is_left_keeps_the_object_and_the_other_reference_goes(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        one = cluster.create(CONFIG_MAP, config_map("one"))
        two = cluster.create(CONFIG_MAP, config_map("two"))
        cluster.create(CONFIG_MAP, config_map("shared", owned_by(one), owned_by(two)))
        cluster.delete(CONFIG_MAP, "one")
        await asyncio.sleep(1)
        assert cluster.get(CONFIG_MAP, "shared")["metadata"]["ownerReferences"] == [owned_by(two)]
        cluster.delete(CONFIG_MAP, "two")
        await asyncio.sleep(1)
        assert names(cluster) == set()


async def test_foreground_deletion_waits_for_blocking_dependents_only(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        held = {"finalizers": ["test.millrace.dev/hold"]}
        cluster.create(CONFIG_MAP, config_map("blocking", owned_by(owner, blocking=True), **held))
        cluster.create(CONFIG_MAP, config_map("lax", owned_by(owner), **held))
        cluster.create(CONFIG_MAP, config_map("free", owned_by(owner, blocking=True)))
        cluster.delete(CONFIG_MAP, "owner", "Foreground")
        await asyncio.sleep(1)
        assert names(cluster) == {"owner", "blocking", "lax"}
        for name in ("blocking", "lax"):
            assert "deletionTimestamp" in cluster.get(CONFIG_MAP, name)["metadata"]
        cluster.merge(CONFIG_MAP, "blocking", {"metadata": {"finalizers": None}})
        await asyncio.sleep(1)
        assert names(cluster) == {"lax"}


async def test_foreground_deletion_goes_from_the_leaves_to_the_root(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        root = cluster.create(CONFIG_MAP, config_map("root"))
        middle = cluster.create(CONFIG_MAP, config_map("middle", owned_by(root, blocking=True)))
        cluster.create(CONFIG_MAP, config_map("leaf", owned_by(middle, blocking=True)))
        before = cluster.store.version
        cluster.delete(CONFIG_MAP, "root", "Foreground")
        await asyncio.sleep(1)
        changes = cluster.store.watch(CONFIG_MAP, "default", since=before).take()
        gone = [item.object["metadata"]["name"] for item in changes if item.type == "DELETED"]
        assert gone[-1] == "root"
        assert set(gone) == {"leaf", "middle", "root"}


async def test_foreground_deletion_of_a_circle_comes_to_an_end(cluster: LivingCluster) -> None:
    async with cluster.living():
        one = cluster.create(CONFIG_MAP, config_map("one"))
        two = cluster.create(CONFIG_MAP, config_map("two", owned_by(one, blocking=True)))
        reference = owned_by(two, blocking=True)
        cluster.merge(CONFIG_MAP, "one", {"metadata": {"ownerReferences": [reference]}})
        await asyncio.sleep(1)
        cluster.delete(CONFIG_MAP, "one", "Foreground")
        await asyncio.sleep(1)
        assert names(cluster) == set()


async def test_orphan_deletion_leaves_dependents_without_the_reference(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        cluster.create(CONFIG_MAP, config_map("child", owned_by(owner)))
        cluster.delete(CONFIG_MAP, "owner", "Orphan")
        await asyncio.sleep(1)
        assert names(cluster) == {"child"}
        assert "ownerReferences" not in cluster.get(CONFIG_MAP, "child")["metadata"]


async def test_an_object_created_with_an_owner_that_is_gone_is_deleted(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        cluster.delete(CONFIG_MAP, "owner")
        await asyncio.sleep(1)
        cluster.create(CONFIG_MAP, config_map("late", owned_by(owner)))
        await asyncio.sleep(1)
        assert names(cluster) == set()


async def test_an_owner_of_the_same_name_with_another_uid_does_not_count(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        first = cluster.create(CONFIG_MAP, config_map("owner"))
        cluster.create(CONFIG_MAP, config_map("child", owned_by(first)))
        cluster.delete(CONFIG_MAP, "owner")
        second = cluster.create(CONFIG_MAP, config_map("owner"))
        cluster.create(CONFIG_MAP, config_map("new-child", owned_by(second)))
        await asyncio.sleep(1)
        assert names(cluster) == {"owner", "new-child"}


async def test_an_owner_in_another_namespace_is_absent_and_an_event_says_so(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"), "kube-system")
        await asyncio.sleep(1)
        cluster.create(CONFIG_MAP, config_map("child", owned_by(owner)))
        await asyncio.sleep(1)
        assert names(cluster) == set()
        assert [reason for reason, _ in cluster.events("child")] == ["OwnerRefInvalidNamespace"]


async def test_an_object_of_the_cluster_with_a_namespaced_owner_is_left_alone(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        cluster.merge(NODE, "node-0", {"metadata": {"ownerReferences": [owned_by(owner)]}})
        cluster.delete(CONFIG_MAP, "owner")
        await asyncio.sleep(1)
        assert cluster.find(NODE, "node-0") is not None
        assert "OwnerRefInvalidNamespace" in [reason for reason, _ in cluster.events("node-0")]


async def test_an_owner_of_a_kind_that_is_not_served_protects_until_it_is_served(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        reference = {"apiVersion": "test.dev/v1", "kind": "Widget", "name": "w", "uid": "gone"}
        cluster.create(CONFIG_MAP, config_map("child", reference))
        await asyncio.sleep(60)
        assert names(cluster) == {"child"}
        cluster.create(CUSTOM_RESOURCE_DEFINITION, WIDGET_DEFINITION)
        await asyncio.sleep(1)
        assert names(cluster) == set()


async def test_dependents_of_custom_resources_are_collected(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(CUSTOM_RESOURCE_DEFINITION, WIDGET_DEFINITION)
        await asyncio.sleep(1)
        widgets = cluster.store.registry.find("test.dev", "v1", "widgets")
        assert widgets is not None
        widget = cluster.create(
            widgets, {"apiVersion": "test.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}
        )
        cluster.create(CONFIG_MAP, config_map("child", owned_by(widget)))
        await asyncio.sleep(1)
        cluster.delete(widgets, "w")
        await asyncio.sleep(1)
        assert names(cluster) == set()


async def test_pods_are_collected_with_their_grace(cluster: LivingCluster) -> None:
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        body = pod("p")
        body["metadata"]["ownerReferences"] = [owned_by(owner)]
        cluster.create(POD, body)
        await asyncio.sleep(1)
        cluster.delete(CONFIG_MAP, "owner")
        await asyncio.sleep(1)
        assert names(cluster, POD) == set()


@pytest.mark.parametrize(("per_s", "at_least_left"), [(None, 0), (20.0, 100)])
async def test_the_rate_limit_of_a_real_cluster_can_be_had(
    per_s: float | None, at_least_left: int
) -> None:
    cluster = LivingCluster(Settings(gc_requests_per_s=per_s))
    async with cluster.living():
        owner = cluster.create(CONFIG_MAP, config_map("owner"))
        for number in range(200):
            cluster.create(CONFIG_MAP, config_map(f"child-{number}", owned_by(owner)))
        await asyncio.sleep(1)
        cluster.delete(CONFIG_MAP, "owner")
        await asyncio.sleep(3)
        left = len(names(cluster))
        assert left >= at_least_left
        assert left <= at_least_left + 15
        await asyncio.sleep(10)
        assert names(cluster) == set()


WIDGET_DEFINITION = {
    "metadata": {"name": "widgets.test.dev"},
    "spec": {
        "group": "test.dev",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
