"""PEs of an application in Python run in millrace's own runtime, unless the Job names an image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from services.fusion_backend.settings import FusionBackendSettings
from tests.unit.fusion_backend.shop import application
from tests.unit.fusion_backend.world import World

OURS = "registry.example/millrace/runtime:1"
NEXT = "registry.example/millrace/runtime:2"


def submitted(*, is_python: bool = True, **pe: Any) -> World:
    """A job that runs."""
    world = World(processingElement=pe)
    world.runtime_image, world.is_python = OURS, is_python
    world.converge()
    return world


def images(world: World) -> dict[str, str | None]:
    """The image of each PE, None where pod-state-machine chooses it."""
    return {
        name: obj["spec"].get("image")
        for (kind, name), obj in world.objects.items()
        if kind == "ProcessingElement"
    }


def warned(world: World) -> list[str]:
    """The Events on what has no effect."""
    return [message for reason, message in world.events if reason == "WithoutEffect"]


def test_every_pe_of_an_application_in_python_gets_the_image_of_the_setting() -> None:
    found = images(submitted())
    assert found
    assert set(found.values()) == {OURS}


def test_an_image_that_the_job_names_stays() -> None:
    assert set(images(submitted(image="mine:3")).values()) == {"mine:3"}


def test_an_application_with_operators_of_others_gets_no_image() -> None:
    assert set(images(submitted(is_python=False)).values()) == {None}


def test_an_application_with_one_operator_of_others_is_not_in_python() -> None:
    whole, _ = application(is_python=True)
    assert whole.is_python
    (index, first), *_ = whole.definitions.items()
    mixed = {**whole.definitions, index: replace(first, kind="spl.relational::Filter")}
    assert not replace(whole, definitions=mixed).is_python


def test_an_upgrade_changes_no_pe_that_runs() -> None:
    """The setting names another image after it, and nothing is written."""
    world = submitted()
    world.writes.clear()
    world.runtime_image = NEXT
    world.crash()
    world.converge()
    assert world.writes == []
    assert set(images(world).values()) == {OURS}


def test_a_pe_that_a_resize_leaves_as_it_is_keeps_its_image_after_an_upgrade() -> None:
    world = submitted()
    contents = contents_of(world)
    world.runtime_image = NEXT
    world.resize(0, 3)
    world.converge()
    found, now = images(world), contents_of(world)
    kept = {name for name, content in contents.items() if now.get(name) == content}
    assert kept
    assert {name for name, image in found.items() if image == OURS} == kept
    assert {found[name] for name in found.keys() - kept} == {NEXT}


def contents_of(world: World) -> dict[str, str]:
    """The content of each PE, for which its pod is launched again when it changes."""
    return {
        name: obj["spec"]["contentId"]
        for (kind, name), obj in world.objects.items()
        if kind == "ProcessingElement"
    }


@pytest.mark.parametrize("field", ["allowPtrace", "runWithValgrind"])
def test_an_event_names_what_our_runtime_ignores(field: str) -> None:
    world = submitted(**{field: True})
    sentence = f"processingElement.{field} has no effect: {OURS} is one build without debugger"
    assert warned(world) == [sentence]


def test_a_build_has_no_effect_if_the_job_names_our_image() -> None:
    world = submitted(is_python=False, image=OURS, buildType="release")
    assert "processingElement.buildType has no effect" in warned(world)[0]


def test_another_image_has_builds_and_debuggers() -> None:
    fields: dict[str, Any] = {"buildType": "debug", "allowPtrace": True}
    assert warned(submitted(is_python=False, **fields)) == []
    assert warned(submitted(image="mine:3", **fields)) == []


def test_the_default_is_the_image_of_this_version_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a replay by the next version would decide for its own image."""
    monkeypatch.setattr("services.fusion_backend.settings.release", lambda: "1.2.0")
    settings = FusionBackendSettings(bundle_root=tmp_path, bundle_store=tmp_path)
    assert settings.image_of_runtime == "millrace/runtime:1.2.0"
    assert settings.recorded()["runtime_image"] == "millrace/runtime:1.2.0"
    named = FusionBackendSettings(
        bundle_root=tmp_path, bundle_store=tmp_path, runtime_image="here/runtime:1"
    )
    assert named.image_of_runtime == "here/runtime:1"
