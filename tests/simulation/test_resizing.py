"""A resize touches what it touches and nothing else, and none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.store.deleting import DeleteOptions
from tests.places import corpus
from tests.simulation.applications import OUTSIDE, submit_example, with_example
from tests.simulation.mains import WIDTH_MAX
from tests.simulation.world import World, simulate

COVERS = (
    "planner/resizing.py",
    "services/fusion_backend/core/region_rules.py",
    "services/fusion_backend/core/widths.py",
)


def versions(world: World, plural: str, job: str) -> dict[str, str]:
    return {n: o["metadata"]["resourceVersion"] for n, o in world.objects(plural, job).items()}


@pytest.mark.corpus
def test_a_resize_of_the_real_bundle_restarts_exactly_its_neighbours(tmp_path: Path) -> None:
    """Region1 2 → 10: 13–20 come, 0, 2, 3, 5–9 restart, 1, 4, 10, 11, 12 are not even written."""
    bundle = corpus("apps.parallel.Parallel.sab")

    async def test(world: World) -> None:
        (world.bundles / bundle.name).write_bytes(bundle.read_bytes())
        world.start()
        spec = {
            "bundle": {"name": bundle.name},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width1": "2", "width2": "5", "width3": "4"},
        }
        world.submit("p", spec)
        await world.until("running", lambda: world.is_running("p"))
        await world.settle()
        plurals = ("streamspes", "services", "pods", "configmaps")
        before = {plural: versions(world, plural, "p") for plural in plurals}
        pods, pes = world.live_pods("p"), world.objects("streamspes", "p")
        world.resize("p", "Result.Region1", 10)
        await world.until(
            "resized", lambda: world.is_running("p") and len(world.live_pods("p")) == 21
        )
        await world.settle()
        after = world.live_pods("p")
        assert after.keys() - pods.keys() == {f"p-{n}" for n in range(13, 21)}
        changed = {n for n in pods if after[n]["metadata"]["uid"] != pods[n]["metadata"]["uid"]}
        assert changed == {f"p-{n}" for n in (0, 2, 3, 5, 6, 7, 8, 9)}
        for number in (1, 4, 10, 11, 12):
            pod = pods[f"p-{number}"]["metadata"]["name"]
            for plural, name in (
                ("streamspes", f"p-{number}"),
                ("pods", pod),
            ):
                assert versions(world, plural, "p")[name] == before[plural][name], (plural, name)
            pack = pes[f"p-{number}"]["spec"]["pack"]["name"]
            assert versions(world, "configmaps", "p")[pack] == before["configmaps"][pack]
        assert versions(world, "services", "p") == before["services"]
        launches = {
            n: pe["status"]["launchCount"] for n, pe in world.objects("streamspes", "p").items()
        }
        assert launches == {n: 2 if n in changed else 1 for n in after}

    simulate(tmp_path, test)


def test_a_second_resize_during_the_first_wins(tmp_path: Path) -> None:
    """Whenever the second width arrives, it is the one that converges."""
    for delay_s in (0.0, 0.02, 0.05, 0.1, 0.3):
        folder = tmp_path / f"d{delay_s}"
        folder.mkdir()

        async def test(world: World, delay_s: float = delay_s) -> None:
            await with_example(world, "j", width=3)
            world.resize("j", "Counted", 9)
            if delay_s:
                await world.clock.sleep(delay_s)
            world.resize("j", "Counted", 2)
            await world.settle()
            await world.until("running", lambda: world.is_running("j"))
            regions = world.objects("streamsprs", "j").values()
            assert [r["status"]["width"] for r in regions] == [2]
            assert len(world.live_pods("j")) == 2 + OUTSIDE

        simulate(folder, test)


def test_a_resize_that_is_requested_during_the_submission_is_not_lost(tmp_path: Path) -> None:
    """The width in the spec converges even when it changes before the first pods exist."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=3)
        await world.until("the region", lambda: bool(world.objects("streamsprs", "j")))
        world.resize("j", "Counted", 6)
        await world.until(
            "running", lambda: world.is_running("j") and len(world.live_pods("j")) == 6 + OUTSIDE
        )

    simulate(tmp_path, test)


def test_a_width_that_cannot_be_is_refused_and_the_last_good_one_stays(tmp_path: Path) -> None:
    """A width over the limit: the region says why; no pod is touched; a good width then works."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods = {n: p["metadata"]["uid"] for n, p in world.live_pods("j").items()}
        world.resize("j", "Counted", WIDTH_MAX + 1)
        await world.settle()
        (region,) = world.objects("streamsprs", "j").values()
        assert region["status"]["width"] == 3
        assert str(WIDTH_MAX + 1) in region["status"]["message"]
        assert {n: p["metadata"]["uid"] for n, p in world.live_pods("j").items()} == pods
        world.resize("j", "Counted", 4)
        await world.until(
            "running", lambda: world.is_running("j") and len(world.live_pods("j")) == 4 + OUTSIDE
        )

    simulate(tmp_path, test)


def test_a_newer_width_does_not_wait_for_a_resize_that_is_stuck(tmp_path: Path) -> None:
    """A pod that never ends holds up the first resize; the second is planned all the same."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        stuck = world.live_pods("j")["j-1"]["metadata"]["name"]
        world.cluster.controllers.kubelet.hang("default", stuck)
        world.resize("j", "Counted", 5)
        await world.until("the first resize", lambda: "j-8" in world.live_pods("j"))
        assert world.phase("j") == "Resizing"
        world.resize("j", "Counted", 4)
        await world.until("the second plan", lambda: "j.plan.2" in world.objects("configmaps", "j"))
        world.cluster.controllers.kubelet.release("default", stuck)
        await world.until(
            "running", lambda: world.is_running("j") and len(world.live_pods("j")) == 4 + OUTSIDE
        )

    simulate(tmp_path, test)


def test_a_width_that_is_set_in_one_breath_with_the_deletion_of_its_region_is_put_in_force(
    tmp_path: Path,
) -> None:
    """Both facts come before anybody has looked; the region comes back and asks for it."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        world.resize("j", "Counted", 5)
        (name,) = world.objects("streamsprs", "j")
        world.store.delete(world.kind("streamsprs"), "default", name, DeleteOptions())
        await world.until(
            "resized",
            lambda: world.is_running("j") and len(world.live_pods("j")) == 5 + OUTSIDE,
        )
        (region,) = world.objects("streamsprs", "j").values()
        assert (region["spec"]["width"], region["status"]["width"]) == (5, 5)

    simulate(tmp_path, test)
