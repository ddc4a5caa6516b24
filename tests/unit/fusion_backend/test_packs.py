"""ConfigMaps with AADLs: when they go, what brings them back, and jobs that have no packs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from contracts import labels
from planner import planning
from planner.numbering.packing import Content, Packed, Packing
from services.fusion_backend.core import packs
from tests.unit.fusion_backend.objects import aadls_of, packs_of
from tests.unit.fusion_backend.world import JOB, World

PE = "ProcessingElement"


def submitted(width: int = 3) -> World:
    world = World(width=width)
    world.converge()
    assert world.status()["phase"] == "Submitted"
    return world


def pack_of(world: World, pe: str) -> str:
    name: str = world.objects[PE, pe]["spec"]["pack"]["name"]
    return name


def written(world: World, kind: str) -> list[tuple[str, str]]:
    return [(verb, name) for verb, each, name in world.writes if each == kind]


def test_each_pe_names_a_pack_and_the_key_of_its_aadl() -> None:
    world = submitted()
    pes = {name: world.objects[PE, name]["spec"] for name in world.named(PE)}
    assert {spec["pack"]["key"] for spec in pes.values()} == {
        labels.pack_key(spec["id"]) for spec in pes.values()
    }
    assert len(aadls_of(world.objects)) == len(pes) > len(packs_of(world.objects, JOB))


def test_a_pod_that_stays_keeps_the_pack_that_it_mounts() -> None:
    """As one does that terminates for minutes; whatever becomes of its PE."""
    world = submitted(width=4)
    old = f"{JOB}-5"
    pack, pod = pack_of(world, old), world.objects["Pod", old]
    world.resize(0, 1)
    world.converge()
    assert old not in world.named(PE)
    assert pack not in packs_of(world.objects, JOB), "its pod went, too"

    world = submitted(width=4)
    pod = world.objects["Pod", old]
    pod["metadata"]["name"] = "stays"
    world.others = lambda: _with(world, "stays", pod)  # type: ignore[method-assign]
    world.resize(0, 1)
    world.converge()
    assert old not in world.named(PE)
    assert pack in packs_of(world.objects, JOB)
    pod["status"]["phase"] = "Failed"
    world.others = world.make_pods  # type: ignore[method-assign]
    world.converge()
    assert pack not in packs_of(world.objects, JOB)


def _with(world: World, name: str, pod: dict[str, Any]) -> None:
    world.make_pods()
    world.objects["Pod", name] = pod


@pytest.mark.parametrize("marks", ["", "pe-0.xml=0000000000"])
def test_a_pack_that_says_other_contents_goes_and_comes_back(marks: str) -> None:
    """Its data cannot be changed, so somebody deleted it and made another of that name."""
    world = submitted()
    texts, name = aadls_of(world.objects), pack_of(world, f"{JOB}-0")
    pods = {each: world.objects["Pod", each] for each in world.named("Pod")}
    world.objects["ConfigMap", name]["data"] = {"pe-0.xml": "<mine/>"}
    world.objects["ConfigMap", name]["metadata"]["annotations"] = {labels.CONTENT_IDS: marks}
    world.converge()
    assert aadls_of(world.objects) == texts
    assert {each: world.objects["Pod", each] for each in world.named("Pod")} == pods


def test_a_pack_that_somebody_wrote_into_a_pe_is_put_right_and_launches_nothing() -> None:
    world = submitted()
    pe, pod = f"{JOB}-0", world.objects["Pod", f"{JOB}-0"]
    before = dict(world.objects[PE, pe]["spec"]["pack"])
    world.edit(PE, pe, pack={"name": "other", "key": "mine"})
    world.converge()
    assert world.objects[PE, pe]["spec"]["pack"] == before
    assert world.objects["Pod", pe] == pod


def packed_as_before(
    job: str, contents: Iterable[Content], kept: Mapping[int, Packed], *_: object
) -> Packing:
    """A ConfigMap for each PE, as the release before made them."""
    own = {
        each.pe: Packed(labels.pe_config_map_name(job, each.pe, each.content_id), "", 0)
        for each in contents
    }
    return Packing({**kept, **own}, {})


def test_a_job_of_a_release_without_packs_keeps_its_config_maps_until_a_resize(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then what is new or changed gets packs, and nothing else is written or launched."""
    with monkeypatch.context() as older:
        older.setattr(planning, "packed", packed_as_before)
        world = submitted()
    assert not packs_of(world.objects, JOB)
    assert not any("pack" in world.objects[PE, pe]["spec"] for pe in world.named(PE))
    before = world.versions()
    world.crash()
    world.converge()
    assert world.versions() == before

    world.resize(0, 4)
    world.converge()
    assert world.status()["phase"] == "Submitted"
    after, pes = world.versions(), {name: world.objects[PE, name] for name in world.named(PE)}
    untouched = {name for name in pes if before.get((PE, name)) == after[PE, name]}
    assert untouched
    assert not any("pack" in pes[name]["spec"] for name in untouched)
    assert all("pack" in pes[name]["spec"] for name in pes if name not in untouched)
    own = {name for name in world.named("ConfigMap") if name.startswith(f"{JOB}-")}
    assert len(own) == len(untouched)


def test_a_config_map_of_a_pe_alone_that_is_lost_comes_back_under_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as older:
        older.setattr(planning, "packed", packed_as_before)
        world = submitted()
    own = min(name for name in world.named("ConfigMap") if name.startswith(f"{JOB}-"))
    text = world.objects["ConfigMap", own]["data"]
    world.remove("ConfigMap", own)
    world.converge()
    assert world.objects["ConfigMap", own]["data"] == text
    assert not packs_of(world.objects, JOB)


def test_a_pod_without_the_annotation_mounts_a_config_map_of_its_pe() -> None:
    """Pods of releases without packs."""
    world = submitted()
    snapshot = world.snapshot()
    in_use = packs.names_in_use(snapshot)
    assert packs_of(world.objects, JOB) <= in_use
    world.objects["Pod", f"{JOB}-0"]["metadata"]["annotations"] = {labels.CONTENT_ID: "c" * 64}
    assert labels.pe_config_map_name(JOB, 0, "c" * 64) in packs.names_in_use(world.snapshot())
