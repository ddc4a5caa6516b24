"""The selector of a region matches exactly one pod of each channel, or no pod, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from contracts import labels
from sandbox.store.label_selectors import label_requirements
from tests.unit.fusion_backend.world import JOB, Obj, World

CHANNEL = labels.channel_label(0)


def status_of(world: World, region: int = 0) -> Obj:
    return dict(world.objects["ParallelRegion", f"{JOB}-{region}"]["status"])


def scalable(world: World, region: int = 0) -> tuple[str, str, str]:
    (found,) = (c for c in status_of(world, region)["conditions"] if c["type"] == "Scalable")
    return found["status"], found["reason"], found["message"]


def selected(world: World, region: int = 0) -> set[str]:
    """The PEs whose pods the selector of the region matches."""
    required = label_requirements(status_of(world, region)["selector"])
    pods = [obj["metadata"] for (kind, _), obj in world.objects.items() if kind == "Pod"]
    return {pod["name"] for pod in pods if all(each(pod["labels"]) for each in required)}


def labels_of_pod(world: World, pod: str) -> Obj:
    return dict(world.objects["Pod", pod]["metadata"]["labels"])


def submitted(**spec: Any) -> World:
    world = World(**spec)
    world.converge()
    return world


@pytest.mark.parametrize(
    "fusion", [{"legacy": True}, {"manual": 9, "type": "channelIsolation"}], ids=str
)
def test_the_selector_matches_exactly_one_pod_of_each_channel(fusion: Obj) -> None:
    world = submitted(width=3, fusion=fusion)
    assert len(selected(world)) == status_of(world)["replicas"] == 3
    assert scalable(world)[:2] == ("True", "ChannelsCounted")


def test_a_resize_keeps_the_selector_and_launches_nothing_for_it() -> None:
    world = submitted(width=2)
    before, selector = selected(world), status_of(world)["selector"]
    world.resize(0, 4)
    world.converge()
    assert len(selected(world)) == 4
    assert before < selected(world)
    assert status_of(world)["selector"] == selector


@pytest.mark.parametrize("pes", [1, 2])
def test_where_channels_share_pods_the_selector_matches_none_and_says_what_works(pes: int) -> None:
    """With two PEs, one of three channels has a pod of its own: a part would be a wrong number."""
    world = submitted(width=3, fusion={"manual": pes})
    marked = [pe for pe in world.named("Pod") if CHANNEL in labels_of_pod(world, pe)]
    assert len(marked) < 3
    assert bool(marked) is (pes > 1)
    assert selected(world) == set()
    assert status_of(world)["selector"], "an empty one would stop AverageValue metrics as well"
    state, reason, message = scalable(world)
    assert (state, reason) == ("False", "ChannelsShared")
    assert "CPU, pod and Value metrics fail, AverageValue metrics and KEDA work" in message
    assert "spec.fusion.type channelIsolation" in message


def test_a_pod_stands_for_one_region_only() -> None:
    """Two autoscalers that select the same pod would both stop."""
    world = submitted(width=1, fusion={"manual": 1})
    assert len(selected(world, 0)) == 1
    assert selected(world, 1) == set()
    assert scalable(world, 0)[0] == "True"
    assert scalable(world, 1)[1] == "ChannelsShared"
    assert "stand for parallel region Counted" in scalable(world, 1)[2]


def test_pods_of_an_older_release_are_not_counted_until_they_are_launched_again() -> None:
    """Their PEs have the label, the pods do not; a part of the channels would be a wrong number."""
    world = submitted(width=2)
    pod = min(selected(world))
    del world.objects["Pod", pod]["metadata"]["labels"][CHANNEL]
    world.converge()
    assert selected(world) == set()
    state, reason, message = scalable(world)
    assert (state, reason) == ("False", "ChannelsUnmarked")
    assert message.endswith(f"give the annotation {labels.RESTART} of their PEs a new value: {pod}")
    world.remove("Pod", pod)
    world.converge()
    assert len(selected(world)) == 2
    assert scalable(world)[0] == "True"


def test_a_failed_pod_that_is_kept_for_its_logs_is_not_counted() -> None:
    world = submitted(width=2)
    zombie = min(selected(world))
    world.objects["Pod", zombie]["metadata"]["labels"][labels.SERVICE_ROLE] = labels.ROLE_ZOMBIE
    del world.objects["Pod", zombie]["metadata"]["labels"][CHANNEL]
    before = world.versions()
    world.converge()
    assert scalable(world)[0] == "True"
    assert world.versions() == before
