"""Hostile and damaged objects: refused with field and value, healed, and no delay for others."""

from __future__ import annotations

import asyncio

import pytest

from contracts import labels
from services.hostpool_manager.adapters.reading import placement_of
from services.hostpool_manager.core.specs import Specs
from tests.builders import a_placement
from tests.unit.hostpool_manager.scene import Obj, Scene, a_class, a_pool
from tests.virtual_time import run_virtually, virtually

SPECS: dict[str, tuple[Obj, str]] = {
    "runs": ({"classes": [a_class("3-1")]}, "spec.classes[0].pes is '3-1'"),
    "words": ({"classes": [a_class("all")]}, "spec.classes[0].pes is 'all'"),
    "endless": ({"classes": [a_class("0-999999999")]}, "spec.classes[0].pes is '0-999999999'"),
    "many": ({"classes": [a_class("0-20000")]}, "more than 20000 PEs"),
    "twice": ({"classes": [a_class("0-2"), a_class("2")]}, "spec.classes[1].pes is '2'"),
    "no-pool": ({"classes": [a_class("0", pool=4)]}, "hostPoolLocation.poolIndex is 4"),
    "pools": ({"pools": [a_pool(1), a_pool(1)]}, "spec.pools[1].index is 1"),
}


@pytest.mark.parametrize("what", SPECS)
def test_a_spec_that_cannot_be_read_is_refused_with_field_and_value(what: str) -> None:
    spec, message = SPECS[what]

    async def test() -> None:
        scene = Scene()
        scene.node("n1")
        scene.placement("bad", *spec.get("classes", ()), pools=spec.get("pools", ()))
        scene.placement("good", a_class("0"))
        async with scene.running():
            status = scene.status("bad")
            assert (status["phase"], status["reason"]) == ("Refused", "SpecInvalid")
            assert message in status["message"]
            assert not status["waits"]
            assert scene.status("good")["phase"] == "Placed"

    run_virtually(test())


@virtually
async def test_a_status_damaged_by_hand_is_decided_again() -> None:
    scene = Scene()
    for name in ("n1", "n2"):
        scene.node(name, "gpu")
    pool = a_pool(tags=["gpu"], size=1)
    scene.host_pool("shop", pool)
    scene.placement("shop", a_class("0-1", pool=0), pools=[pool])
    async with scene.running():
        whole = scene.status()
        damages: list[Obj] = [
            {"assignments": [{"node": "n7", "pes": "0-1"}]},
            {"assignments": [{"node": "n1", "pes": "everybody"}]},
            {"pools": [{"index": 0, "members": ["n7"]}]},
            {"pools": []},
            {"phase": None, "observedGeneration": None, "pools": None, "assignments": None},
        ]
        for damage in damages:
            scene.patch("Placement", "shop", {"status": damage}, subresource="status")
            await asyncio.sleep(70)
            status = scene.status()
            assert status["phase"] == "Placed", damage
            assert status["pools"] == whole["pools"], damage
            assert status["assignments"] == whole["assignments"], damage


def test_no_more_assignments_are_read_of_a_status_than_a_placement_has_pes() -> None:
    """Regression: thirty runs of a million PEs in one kilobyte took a minute and 2.6 GB."""
    runs = {f"n{at}": f"{at}0000-{at}9999" for at in range(1, 10)} | {"n0": "0-999999"}
    read = placement_of(a_placement(runs).with_status(generation=0).entry(), Specs())
    assert sorted(read.in_force.assignments) == list(range(10_000, 30_000))


@virtually
async def test_a_generation_below_the_one_in_force_is_refused() -> None:
    """No status may fall behind: the API server would refuse it for ever."""
    scene = Scene()
    scene.node("n1")
    scene.placement("shop", a_class("0"), generation=3)
    async with scene.running():
        scene.patch("Placement", "shop", {"spec": {"generation": 2}})
        await asyncio.sleep(3)
        status = scene.status()
        assert (status["reason"], status["generation"]) == ("SpecInvalid", 3)
        assert "spec.generation is 2" in status["message"]


@virtually
async def test_pods_of_a_namesake_that_is_gone_are_those_of_another_job() -> None:
    scene = Scene()
    scene.node("n1")
    pool = a_pool(size=1, membershipMode="exclusive")
    scene.pod("shop-0-old", "n1", job="shop", pe="0", job_uid="of-another")
    scene.placement("shop", a_class("0", pool=0), pools=[pool], owner="of-this-one")
    async with scene.running():
        assert scene.status()["reason"] == "NodesClaimed"
        scene.patch("Pod", "shop-0-old", {"metadata": {"labels": {labels.JOB_UID: "of-this-one"}}})
        scene.patch("Placement", "shop", {"spec": {"generation": 1}})
        await asyncio.sleep(5)
        assert scene.status()["phase"] == "Placed"
