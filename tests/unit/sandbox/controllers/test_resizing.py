"""What the kubelet of a node reports of resources that it has no room for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sandbox.store.resources import POD
from tests.unit.sandbox.controllers.living import LivingCluster, pod

pytestmark = pytest.mark.looptime
STRATEGIC = "application/strategic-merge-patch+json"


async def resize(cluster: LivingCluster, name: str, cpu: str) -> None:
    patch = {"spec": {"containers": [{"name": "pe", "resources": {"requests": {"cpu": cpu}}}]}}
    cluster.store.patch(POD, "default", name, patch, STRATEGIC, subresource="resize")
    await asyncio.sleep(1)


def pending(cluster: LivingCluster, name: str) -> str:
    """The reason of PodResizePending; empty without it."""
    conditions = cluster.pod(name)["status"]["conditions"]
    return next((each["reason"] for each in conditions if each["type"] == "PodResizePending"), "")


def in_force(cluster: LivingCluster, name: str) -> Any:
    (container,) = cluster.pod(name)["status"]["containerStatuses"]
    return container["resources"]["requests"]["cpu"]


async def test_a_resize_is_infeasible_or_deferred_and_in_force_when_there_is_room(
    cluster: LivingCluster,
) -> None:
    """The node has 64 CPUs."""
    async with cluster.living():
        cluster.create(POD, pod("p", requests={"cpu": "20"}))
        cluster.create(POD, pod("other", requests={"cpu": "30"}))
        await asyncio.sleep(1)
        await resize(cluster, "p", "65")
        assert (pending(cluster, "p"), in_force(cluster, "p")) == ("Infeasible", "20")
        await resize(cluster, "p", "40")
        assert (pending(cluster, "p"), in_force(cluster, "p")) == ("Deferred", "20")
        await resize(cluster, "other", "24")
        assert (pending(cluster, "p"), in_force(cluster, "p")) == ("", "40")
