"""In which order a resize starts its PEs, where not all of them fit at once."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from services.fusion_backend.core.effects import CreateChild, Effect, PatchChild
from services.fusion_backend.core.seen import PeSeen
from tests.unit.fusion_backend.world import JOB, World

NEW = ("shop-6", "shop-7", "shop-8")


class FullWorld(World):
    """Nodes on which pods are bound as far as there is room, and PEs that start last."""

    def settle(self) -> None:
        """Converge, also after what the others do last."""
        for _ in range(4):
            self.converge()

    def make_pods(self) -> None:
        super().make_pods()
        room = sum(int(each["status"]["allocatable"]["pods"]) for each in self._nodes())
        taken = sum("nodeName" in pod.get("spec", {}) for pod in self._pods())
        for pod in self._pods():
            if "nodeName" in pod.setdefault("spec", {}):
                continue
            if taken < room:
                pod["spec"]["nodeName"], taken = "node-0", taken + 1
            else:
                lacks = {"type": "PodScheduled", "status": "False", "message": "no room"}
                pod["status"] = {"phase": "Pending", "conditions": [lacks]}

    def _make_pod(self, pe: Any) -> None:
        waits = pe["spec"].get("startsLast") and not pe.get("status", {}).get("launchCount")
        if not (waits and self._is_any_awaited()):
            super()._make_pod(pe)

    def _is_any_awaited(self) -> bool:
        """Whether a PE that does not start last has no bound pod of its content."""
        bound = {
            pod["metadata"]["name"]: pod["metadata"]["annotations"][labels.CONTENT_ID]
            for pod in self._pods()
            if "nodeName" in pod.get("spec", {})
        }
        return any(
            bound.get(name) != pe["spec"]["contentId"]
            for (kind, name), pe in self.objects.items()
            if kind == "ProcessingElement" and not pe["spec"].get("startsLast")
        )

    def _pods(self) -> list[Any]:
        return [obj for (kind, _), obj in self.objects.items() if kind == "Pod"]

    def _nodes(self) -> list[Any]:
        return [obj for (kind, _), obj in self.objects.items() if kind == "Node"]


def full(room: int) -> FullWorld:
    """A job of six PEs runs on a node that has room for so many pods."""
    world = FullWorld(nodes=0)
    world.add_node("node-0", pods=room)
    world.settle()
    return world


def grown(room: int) -> FullWorld:
    """The job has grown by three PEs."""
    world = full(room)
    world.writes.clear()
    world.resize(0, 5)
    world.settle()
    return world


def starts_last(world: World) -> set[str]:
    return {
        name
        for (kind, name), obj in world.objects.items()
        if kind == "ProcessingElement" and obj["spec"].get("startsLast")
    }


def test_where_all_fit_nothing_waits() -> None:
    world = grown(9)
    assert not starts_last(world)
    assert [reason for reason, _ in world.events][-1] == "Resized"


@pytest.mark.parametrize("room", [8, 7, 6])
def test_where_not_all_fit_new_pes_start_last_and_are_created_after_the_patches(room: int) -> None:
    """Effects of one decision run concurrently: patches and creations are of different ones."""
    world = full(room)
    world.resize(0, 5)
    steps = [[_of_pe(each) for each in world.step().effects] for _ in range(20)]
    patched = [at for at, step in enumerate(steps) if PatchChild in step]
    created = [at for at, step in enumerate(steps) if CreateChild in step]
    assert max(patched) < min(created)
    assert starts_last(world) == {*NEW}


def _of_pe(effect: Effect) -> type:
    is_pe = getattr(effect, "kind", "") == "ProcessingElement"
    return type(effect) if is_pe else object


def test_the_end_of_the_resize_is_a_warning_that_names_what_does_not_run() -> None:
    world = grown(7)
    reason, message = world.events[-1]
    assert reason == "SomeNotRunning"
    assert "no node has room for PE 7 (" in message
    assert "and PE 8 (" in message
    region = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert region["width"] == 5
    assert "width 5 is in force; no node has room for PE 7 (" in region["message"]
    assert world.status()["phase"] == "Submitted"


def test_the_region_reports_the_width_alone_when_all_run() -> None:
    world = grown(7)
    world.add_node("node-1", pods=9)
    world.others()
    for pod in world._pods():
        pod["status"] = {"phase": "Running"}
    world.settle()
    region = world.objects["ParallelRegion", f"{JOB}-0"]["status"]
    assert region["message"] == "width 5 is in force"
    assert world.condition("Healthy")["status"] == "True"


def test_a_pe_that_starts_last_and_has_not_launched_goes_on_when_a_resize_changes_it() -> None:
    """One that has launched is like the others."""
    world = grown(7)
    world.resize(0, 6)
    world.settle()
    for name in NEW:
        entry = world.snapshot().of("ProcessingElement")[name]
        is_patched = ("PATCH", "ProcessingElement", name) in world.writes
        assert PeSeen(entry).starts_last or is_patched


def test_what_cannot_be_counted_starts_last() -> None:
    """As affinity between pods, which the scheduler looks at."""
    apart: dict[str, Any] = {
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}
    }
    template = {"podTemplate": {"spec": {"affinity": apart}}}
    world = FullWorld(nodes=0, processingElement=template)
    world.add_node("node-0", pods=50)
    world.settle()
    world.resize(0, 5)
    world.settle()
    assert starts_last(world) == {*NEW}
    assert world.events[-1][0] == "Resized"
