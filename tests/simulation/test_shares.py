"""The shares of a job's resources after a resize: taken in place, or what is left is divided.

In both cases nothing that the resize does not change is launched again.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from contracts.bundle_format import pack
from sandbox.store.quantities import amount
from sandbox.store.resources import NODE, POD
from tests.sandboxed import MERGE
from tests.simulation.scenarios.applications import two_regions
from tests.simulation.world import World, simulate

WHOLE = {
    "limits": {"cpu": "7920m", "memory": "7920Mi"},
    "requests": {"cpu": "3960m", "memory": "7920Mi"},
}
"""What eight PEs and eleven can divide without a remainder."""


async def _running(world: World, width: int, whole: dict[str, Any] | None = None) -> None:
    world.start()
    (world.bundles / "app.sab").write_bytes(pack(two_regions().text().encode()))
    spec = {
        "bundle": {"name": "app.sab"},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"a": "2", "b": str(width)},
        "resources": whole or WHOLE,
    }
    world.submit("j", spec)
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()


async def _resized(world: World, width: int) -> None:
    world.resize("j", "B", width)
    await world.until("begun", lambda: _job(world)["status"]["phase"] != "Submitted")
    await world.until("in force", lambda: world.is_running("j"), wait_s=600)
    await world.settle()


def _job(world: World) -> dict[str, Any]:
    return world.objects("streamsjobs")["j"]


def _sums(world: World) -> dict[tuple[str, str], Fraction]:
    """What the pods have together."""
    sums: dict[tuple[str, str], Fraction] = {}
    for pod in world.live_pods("j").values():
        (container,) = pod["spec"]["containers"]
        for part, amounts in container["resources"].items():
            for name, written in amounts.items():
                sums[part, name] = sums.get((part, name), Fraction(0)) + amount(written)
    return sums


def _excess(world: World) -> list[str]:
    sums = _sums(world)
    return [
        f"{part}.{name}"
        for part, amounts in WHOLE.items()
        for name, written in amounts.items()
        if sums[part, name] > amount(written)
    ]


def _uids(world: World) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in world.live_pods("j").items()}


def _generations(world: World) -> dict[str, int]:
    pes = world.objects("streamspes", "j")
    return {name: pe["spec"]["generation"] for name, pe in pes.items()}


def _cpu_limits(world: World) -> dict[str, Fraction]:
    return {
        name: amount(pod["spec"]["containers"][0]["resources"]["limits"]["cpu"])
        for name, pod in world.live_pods("j").items()
    }


def _forget_resources(world: World, pod: dict[str, Any]) -> None:
    """Let the kubelet of a pod report no resources, as those do that cannot change them."""
    containers = [
        {key: value for key, value in each.items() if key != "resources"}
        for each in pod["status"]["containerStatuses"]
    ]
    body = {**pod, "status": {**pod["status"], "containerStatuses": containers}}
    name = pod["metadata"]["name"]
    world.store.replace(POD, "default", name, body, subresource="status")


def _condition(world: World) -> dict[str, Any]:
    conditions = _job(world)["status"]["conditions"]
    return next((each for each in conditions if each["type"] == "WithinResources"), {})


def _refusal(pe: dict[str, Any]) -> str:
    """The status of the condition that reports a refusal; empty without one."""
    conditions = pe["status"].get("conditions") or ()
    return next((each["status"] for each in conditions if each["type"] == "ResizedInPlace"), "")


def _untouched(world: World, before: dict[str, str]) -> set[str]:
    return {name for name, uid in _uids(world).items() if before.get(name) == uid}


@pytest.mark.parametrize(("first", "then"), [(3, 6), (6, 3)])
def test_after_a_resize_the_pods_share_the_whole_and_none_is_launched_for_it(
    tmp_path: Path, first: int, then: int
) -> None:
    """Untouched channels keep their pods; each pod has an equal share, a larger or smaller one."""

    async def test(world: World) -> None:
        await _running(world, first)
        before, generations = _uids(world), _generations(world)
        await _resized(world, then)
        untouched = _untouched(world, before)
        assert len(untouched) >= 3, "the other region and the source go on"
        now = _generations(world)
        assert all(now[name] == generations[name] for name in untouched), "as is their content"
        assert not _excess(world)
        assert len(set(_cpu_limits(world).values())) == 1, "equal shares"
        assert not _condition(world), "nothing to report"

    simulate(tmp_path, test, nodes=4)


def test_where_the_cluster_cannot_what_is_left_is_divided(tmp_path: Path) -> None:
    """Untouched PEs keep their share, and nobody has too much."""

    async def test(world: World) -> None:
        older = replace(POD, subresources=POD.subresources - {"resize"})
        world.cluster.store.registry.publish(older)
        await _running(world, 3)
        before, shares = _uids(world), _cpu_limits(world)
        await _resized(world, 6)
        untouched = _untouched(world, before)
        assert {_cpu_limits(world)[name] for name in untouched} == {Fraction(99, 100)}
        assert shares.items() >= {(name, shares[name]) for name in untouched}
        assert not _excess(world)
        others = {limit for name, limit in _cpu_limits(world).items() if name not in untouched}
        (share,) = others
        assert 0 < share < Fraction(72, 100)
        assert not _condition(world)

    simulate(tmp_path, test, nodes=4)


def test_a_job_reports_by_how_much_its_pods_exceed_its_resources_until_they_do_not(
    tmp_path: Path,
) -> None:
    """The API server refuses: the kubelets do not report resources, as those of an older node."""

    async def test(world: World) -> None:
        await _running(world, 3)
        for pod in world.live_pods("j").values():
            _forget_resources(world, pod)
        before = _uids(world)
        await _resized(world, 6)
        assert len(_untouched(world, before)) >= 3, "a refusal is no reason for a launch"
        stated = _condition(world)
        assert (stated["status"], stated["reason"]) == ("False", "ResourcesExceeded")
        assert "limits.cpu of the pods is 8730m, 810m more than 7920m of spec" in stated["message"]
        assert "Pod running on node without support for resize" in stated["message"]
        (event,) = [
            each
            for each in world.objects("events").values()
            if each["reason"] == "ResourcesExceeded"
        ]
        assert event["type"] == "Warning"
        for name in sorted(_untouched(world, before)):
            restart = {"metadata": {"annotations": {"streams.ibm.com/restart": "now"}}}
            world.store.patch(world.kind("streamspes"), "default", name, restart, MERGE)
        await world.until("kept", lambda: _condition(world)["status"] == "True", wait_s=600)
        await world.settle()
        assert not _excess(world)
        refusals = {_refusal(pe) for pe in world.objects("streamspes", "j").values()}
        assert refusals == {"", "True"}, "no PE reports a refusal that is over"
        world.store.delete(world.kind("streamsjobs"), "default", "j")
        await world.until("gone", lambda: not world.objects("pods", "j"), wait_s=600)

    simulate(tmp_path, test, nodes=4)


def test_a_job_reports_the_words_of_a_kubelet_that_does_not_resize_its_pods(
    tmp_path: Path,
) -> None:
    """A node lost room since its pods began, and has less than a share of them."""

    async def test(world: World) -> None:
        await _running(world, 3)
        node = next(iter(world.live_pods("j").values()))["spec"]["nodeName"]
        small = {"status": {"allocatable": {"cpu": "100m"}}}
        world.store.patch(NODE, None, node, small, MERGE, subresource="status")
        await _resized(world, 6)
        stated = _condition(world)
        assert (stated["status"], stated["reason"]) == ("False", "ResourcesExceeded")
        assert "keeps its resources: Infeasible: Node didn't have enough" in stated["message"]
        events = world.objects("events").values()
        warnings = [each for each in events if each["reason"] == "ResourcesExceeded"]
        assert [each["type"] for each in warnings] == ["Warning"]
        assert "Infeasible" in warnings[0]["message"]

    simulate(tmp_path, test, nodes=4)


def test_pods_take_their_share_once_although_services_crash(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await _running(world, 3)
        before = _uids(world)
        world.resize("j", "B", 6)
        for _ in range(4):
            await world.clock.sleep(0.05)
            for service in ("pod-state-machine", "fusion-backend"):
                await world.kill(service)
                world.start(service)
        await world.until("in force", lambda: world.is_running("j"), wait_s=600)
        await world.settle()
        assert not _excess(world)
        assert len(_untouched(world, before)) >= 3
        versions = [pod["metadata"]["generation"] for pod in world.live_pods("j").values()]
        assert max(versions) == 2, "a pod is changed once"

    simulate(tmp_path, test, nodes=4)
