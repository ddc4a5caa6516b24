"""A deleted namespace is emptied and then gone."""

from __future__ import annotations

import asyncio

import pytest

from sandbox.store.resources import CONFIG_MAP, NAMESPACE, POD, SERVICE_ACCOUNT
from tests.unit.sandbox.controllers.living import MERGE, LivingCluster, config_map, pod

pytestmark = pytest.mark.looptime


async def test_a_namespace_goes_with_everything_in_it(cluster: LivingCluster) -> None:
    async with cluster.living():
        cluster.create(NAMESPACE, {"metadata": {"name": "team"}})
        cluster.create(CONFIG_MAP, config_map("c"), "team")
        cluster.create(POD, pod("p"), "team")
        cluster.create(CONFIG_MAP, config_map("other"))
        await asyncio.sleep(1)
        assert cluster.find(SERVICE_ACCOUNT, "default", "team") is not None
        cluster.delete(NAMESPACE, "team")
        await asyncio.sleep(1)
        assert cluster.find(NAMESPACE, "team") is None
        assert cluster.find(POD, "p", "team") is None
        assert cluster.find(CONFIG_MAP, "other") is not None


async def test_a_namespace_stays_terminating_while_something_in_it_is_held(
    cluster: LivingCluster,
) -> None:
    async with cluster.living():
        cluster.create(NAMESPACE, {"metadata": {"name": "team"}})
        held = config_map("held", finalizers=["test.millrace.dev/hold"])
        cluster.create(CONFIG_MAP, held, "team")
        await asyncio.sleep(1)
        cluster.delete(NAMESPACE, "team")
        await asyncio.sleep(10)
        assert cluster.get(NAMESPACE, "team")["status"]["phase"] == "Terminating"
        free = {"metadata": {"finalizers": None}}
        cluster.store.patch(CONFIG_MAP, "team", "held", free, MERGE)
        await asyncio.sleep(1)
        assert cluster.find(NAMESPACE, "team") is None
