"""The import rules name every package and module, so that a new one has to choose its place."""

from __future__ import annotations

import configparser
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import PACKAGES, services
from tests.places import ROOT

RULE = "importlinter:contract:"


def rules() -> dict[str, configparser.SectionProxy]:
    read = configparser.ConfigParser()
    read.read(ROOT / ".importlinter", encoding="utf-8")
    return {name.removeprefix(RULE): read[name] for name in read.sections() if RULE in name}


def listed(rule: configparser.SectionProxy, field: str) -> list[str]:
    return [line.strip() for line in rule.get(field, "").splitlines() if line.strip()]


def packages() -> Iterator[str]:
    """Every folder of product code in which there is more than one module."""
    for package in PACKAGES:
        for folder in [ROOT / package, *(ROOT / package).rglob("*")]:
            if folder.is_dir() and len(_modules_of(folder)) > 1:
                yield ".".join(folder.relative_to(ROOT).parts)


def _modules_of(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    ]


def test_every_package_has_exhaustive_layers_or_no_circles() -> None:
    """In a package without them a dozen modules could import each other.

    The packages of a service have no layers of their own, so that a new one needs no line here.
    """
    assert listed(rules()["acyclic"], "ancestors") == ["services.*"]
    layered = {
        package
        for rule in rules().values()
        if rule["type"] == "layers" and rule.getboolean("exhaustive", fallback=False)
        for package in listed(rule, "containers")
    }
    found = set(packages())
    assert len(found) > 20
    of_services = {"services", *(f"services.{each}" for each in services())}
    left = {each for each in found - layered if ".".join(each.split(".")[:2]) not in of_services}
    assert left == set()


def test_modules_of_one_layer_do_not_import_each_other() -> None:
    """A colon would allow it; so would an optional layer, which nobody notices when it is gone."""
    layers = [(name, each) for name, rule in rules().items() for each in listed(rule, "layers")]
    assert len(layers) > 100
    assert [
        (name, each)
        for name, each in layers
        if ":" in each or ("(" in each and name != "inside")  # the chassis is no service
    ] == []


def test_the_whole_names_every_top_level_package() -> None:
    """A package outside the rules may import anything."""
    layers = listed(rules()["whole"], "layers")
    named = {name.strip() for layer in layers for name in layer.split("|")}
    assert named | {"sandbox"} == set(PACKAGES)


def test_every_service_is_under_the_rules_of_services() -> None:
    """Libraries and cores are pure, and a service has the same inside as the others.

    What services share beside the chassis has a pure core, too.
    """
    assert listed(rules()["services"], "modules") == ["services.*"]
    assert listed(rules()["inside"], "containers") == ["services.*"]
    pure = listed(rules()["pure"], "source_modules")
    assert pure == ["planner", "placement", "services.*.core"]
