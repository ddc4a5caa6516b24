"""A lost node breaks the placement of each job that has PEs there, whatever it requires."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.hostpool_manager.scene import Scene, a_class
from tests.virtual_time import run_virtually


@pytest.mark.parametrize("is_required", [True, False])
def test_pes_of_a_lost_node_are_placed_again(is_required: bool) -> None:
    """Also those of a job whose constraints are preferences."""

    async def test() -> None:
        scene = Scene()
        for name in ("n1", "n2", "n3"):
            scene.node(name)
        scene.placement("shop", a_class("0-1", exLocations=["apart"]), required=is_required)
        async with scene.running():
            before = scene.nodes_of()
            (free,) = {"n1", "n2", "n3"} - set(before.values())
            scene.delete("Node", before["0"])
            await asyncio.sleep(5)
            assert scene.nodes_of() == {"0": free, "1": before["1"]}
            assert scene.status()["phase"] == "Placed"

    run_virtually(test())


def test_a_lost_node_without_pes_of_a_job_breaks_nothing() -> None:
    async def test() -> None:
        scene = Scene()
        for name in ("n1", "n2", "n3"):
            scene.node(name)
        scene.placement("shop", a_class("0-1", exLocations=["apart"]))
        async with scene.running():
            before = scene.get("Placement", "shop")
            (free,) = {"n1", "n2", "n3"} - set(scene.nodes_of().values())
            scene.delete("Node", free)
            await asyncio.sleep(5)
            assert scene.get("Placement", "shop") == before

    run_virtually(test())
