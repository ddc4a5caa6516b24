"""The CustomResourceDefinitions: fresh, structural, and saying what people rely on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from contracts.id_runs import runs_of
from contracts.resources import CUSTOM_RESOURCES, GROUP
from contracts.resources.crds import custom_resource_definitions
from contracts.resources.placement import PES_MAX
from tests.places import ROOT

CRD_FOLDER = ROOT / "deploy" / "crds"

TYPING = {"type", "format", "nullable", "enum", "pattern", "x-kubernetes-int-or-string"}
BOUNDS = {"minimum", "maximum"} | {
    f"{bound}{what}" for bound in ("min", "max") for what in ("Length", "Items", "Properties")
}
NESTING = {"required", "properties", "items", "additionalProperties"}
LISTS = {"x-kubernetes-list-type", "x-kubernetes-list-map-keys"}
ALLOWED_KEYWORDS = {
    "description",
    "default",
    "x-kubernetes-validations",
    *TYPING,
    *BOUNDS,
    *NESTING,
    *LISTS,
}


@cache
def definitions() -> dict[str, dict[str, Any]]:
    """Every definition by its name."""
    return {crd["metadata"]["name"]: crd for crd in custom_resource_definitions()}


def schema_of(crd: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def nodes(schema: dict[str, Any], place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema in a schema, with the path that leads to it."""
    yield place, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{place}[]")


def every_node() -> list[tuple[str, dict[str, Any]]]:
    return [
        node for name, crd in definitions().items() for node in nodes(schema_of(crd), f"{name}:")
    ]


def test_the_files_in_deploy_say_what_the_models_say() -> None:
    """`make generate` writes them; this fails when a model changed and the files did not."""
    files = {
        path.stem: yaml.load(path.read_text(), yaml.CSafeLoader)
        for path in CRD_FOLDER.glob("*.yaml")
    }
    assert files == definitions()


def test_every_node_has_a_type_or_is_int_or_string() -> None:
    untyped = [
        place
        for place, node in every_node()
        if ("type" in node) == bool(node.get("x-kubernetes-int-or-string"))
    ]
    assert untyped == []


def test_no_keyword_that_a_structural_schema_forbids_is_left() -> None:
    foreign = [(place, set(node) - ALLOWED_KEYWORDS) for place, node in every_node()]
    assert [each for each in foreign if each[1]] == []


def test_no_default_and_no_enum_contains_null() -> None:
    """The API server refuses a null default where null is not allowed, and compares enums."""
    offending = [
        place
        for place, node in every_node()
        if "null" in str(yaml.safe_dump([node.get("default", ""), node.get("enum", [])]))
    ]
    assert offending == []


def test_an_enum_is_never_nullable() -> None:
    assert [place for place, node in every_node() if "enum" in node and "nullable" in node] == []


def test_every_field_is_explained_in_one_short_text() -> None:
    """Those of a pod are Kubernetes' own: its documentation explains them."""
    unexplained = [
        place
        for place, node in every_node()
        if not place.endswith((".metadata", "[]"))
        and ".podTemplate.spec." not in place
        and not 3 < len(node.get("description", "")) < 120
    ]
    assert unexplained == []


def test_no_field_that_a_rule_reads_is_nullable() -> None:
    """has() may be true for a null that is kept; for others the API server drops the null."""
    nullable_and_read = [
        f"{place}.{name}"
        for place, node in every_node()
        for rule in node.get("x-kubernetes-validations", ())
        for name, child in node.get("properties", {}).items()
        if child.get("nullable") and f"self.{name}" in rule["rule"]
    ]
    assert nullable_and_read == []


def test_a_group_of_exclusive_options_has_no_default_inside() -> None:
    """A default would switch one option on beside the one that the person chose."""
    job = schema_of(definitions()[f"streamsjobs.{GROUP}"])
    spec = job["properties"]["spec"]["properties"]
    for group, options in (
        ("fusion", ("automatic", "legacy", "manual")),
        ("threadingModel", ("automatic", "dedicated", "dynamic", "manual")),
        ("bundle", ("file", "http", "github", "url")),
    ):
        for option in options:
            assert "default" not in spec[group]["properties"][option], f"{group}.{option}"
    assert spec["fusion"]["default"] == {"automatic": True}


@pytest.mark.parametrize(
    ("kind", "plural", "short_name"),
    [
        ("Job", "streamsjobs", "stj"),
        ("ProcessingElement", "streamspes", "stp"),
        ("ParallelRegion", "streamsprs", "stpr"),
        ("HostPool", "streamshostpools", "sthp"),
    ],
)
def test_kinds_keep_the_names_of_the_original(kind: str, plural: str, short_name: str) -> None:
    spec = definitions()[f"{plural}.{GROUP}"]["spec"]
    assert (spec["group"], spec["scope"]) == ("streams.ibm.com", "Namespaced")
    assert spec["names"]["kind"] == kind
    assert spec["names"]["shortNames"] == [short_name]
    assert spec["names"]["categories"] == ["streams"]
    assert [version["name"] for version in spec["versions"]] == ["v1"]


def test_every_kind_has_a_status_and_says_reason_and_message_in_its_columns() -> None:
    for resource in CUSTOM_RESOURCES:
        version = definitions()[resource.crd_name]["spec"]["versions"][0]
        assert version["subresources"]["status"] == {}
        columns = {each["jsonPath"] for each in version["additionalPrinterColumns"]}
        shown = {".status.reason", ".status.message", ".metadata.creationTimestamp"}
        assert shown <= columns
        status = schema_of(definitions()[resource.crd_name])["properties"]["status"]["properties"]
        assert {"conditions", "observedGeneration"} <= status.keys()


def test_a_phase_is_shown_in_a_column_status() -> None:
    shown = {
        each["name"]
        for definition in definitions().values()
        for each in definition["spec"]["versions"][0]["additionalPrinterColumns"]
        if each["jsonPath"] == ".status.phase"
    }
    assert shown == {"Status"}


def test_every_kind_has_a_column_status() -> None:
    """Of a kind without a phase it is the reason."""
    for name, definition in definitions().items():
        version = definition["spec"]["versions"][0]
        (path,) = (
            each["jsonPath"]
            for each in version["additionalPrinterColumns"]
            if each["name"] == "Status"
        )
        has_phase = "phase" in schema_of(definition)["properties"]["status"]["properties"]
        assert path == (".status.phase" if has_phase else ".status.reason"), name


def test_every_printer_column_and_scale_path_leads_to_a_field() -> None:
    for crd in definitions().values():
        version = crd["spec"]["versions"][0]
        paths = [each["jsonPath"] for each in version["additionalPrinterColumns"]]
        paths += version["subresources"].get("scale", {}).values()
        for path in paths:
            node = schema_of(crd)
            for step in re.split(r"\.(?![^\[]*\])", path.strip(".")):
                name, *filtered = step.split("[?(@")  # a filter holds no step of its own
                if node.get("properties", {}).get(name) is None:
                    assert path == ".metadata.creationTimestamp", f"{path} leads nowhere"
                    break
                node = node["properties"][name]
                node = node["items"] if filtered else node


def test_only_the_parallel_region_can_be_scaled() -> None:
    scaled = {
        name: crd["spec"]["versions"][0]["subresources"]["scale"]
        for name, crd in definitions().items()
        if "scale" in crd["spec"]["versions"][0]["subresources"]
    }
    assert scaled == {
        f"streamsprs.{GROUP}": {
            "specReplicasPath": ".spec.width",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }
    }


def test_a_placement_can_name_every_second_of_all_its_pes() -> None:
    """Both where it is asked and where it is answered: PEs of two kinds may alternate."""
    longest = len(runs_of(range(1, PES_MAX, 2)))
    placement = schema_of(definitions()[f"streamsplacements.{GROUP}"])["properties"]
    for part, field in (("spec", "classes"), ("status", "assignments")):
        item = placement[part]["properties"][field]["items"]["properties"]
        assert item["pes"]["maxLength"] >= longest, part
