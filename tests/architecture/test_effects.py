"""Every effect is a frozen value, decided on in a core and carried out in one place."""

from __future__ import annotations

import ast
import importlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args

import pytest

from services.roster import BY_NAME, DECIDING
from tests.architecture.source import deciding_services, modules


def effects_of(service: str) -> dict[str, type]:
    """The members of a service's union `Effect`, by name."""
    module = importlib.import_module(f"services.{service}.core.effects")
    return {each.__name__: each for each in get_args(module.Effect)}


def matched_in(tree: ast.AST) -> list[str]:
    """Names of the classes that `case` patterns match, one for each time."""
    return [
        pattern.cls.id
        for pattern in ast.walk(tree)
        if isinstance(pattern, ast.MatchClass) and isinstance(pattern.cls, ast.Name)
    ]


def calls_in(tree: ast.AST) -> set[str]:
    """Names that are called: the classes among them are made."""
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


@pytest.mark.parametrize("service", deciding_services())
def test_every_effect_is_carried_out_by_exactly_one_case(service: str) -> None:
    """The one `match` is in adapters/carry_out.py, beside the core that has the effect."""
    matched = [
        (name, path)
        for part in parts_of(service)
        for path, tree in modules(part)
        for name in matched_in(tree)
    ]
    assert {
        name: [path for each, path in matched if each == name] for name in effects_of(service)
    } == {
        name: [Path(_part_of(effect), "adapters", "carry_out.py")]
        for name, effect in effects_of(service).items()
    }


def parts_of(service: str) -> list[str]:
    """The folders that have the effects of a service: its own, and what it shares."""
    return sorted({f"services/{service}", *map(_part_of, effects_of(service).values())})


def _part_of(effect: type) -> str:
    return "/".join(effect.__module__.split(".")[:2])


@pytest.mark.parametrize("service", deciding_services())
def test_effects_are_made_in_the_core_only_and_none_is_never_made(service: str) -> None:
    """An adapter that makes an effect decides; an effect that nobody makes is dead."""
    effects = effects_of(service).keys()
    core: set[str] = set()
    for part in parts_of(service):
        for _, tree in modules(f"{part}/core"):
            core |= calls_in(tree)
        for path, tree in modules(f"{part}/adapters"):
            assert calls_in(tree) & effects == set(), path
    assert effects - core == set()


@pytest.mark.parametrize("service", deciding_services())
def test_an_effect_is_a_frozen_value_that_carries_no_time(service: str) -> None:
    """It is the key of its own back-off: equal again when it is decided on again."""
    for name, effect in effects_of(service).items():
        assert is_dataclass(effect), name
        assert effect.__dataclass_params__.frozen, name  # type: ignore[attr-defined]
        assert [each.name for each in fields(effect) if each.name in ("now", "at")] == [], name


def test_there_are_services_to_look_at() -> None:
    """Tests over an empty list of services would pass."""
    assert len(DECIDING) > 1
    assert deciding_services() == sorted(BY_NAME[name].folder for name in DECIDING)
