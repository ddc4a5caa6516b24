"""What the API says about itself: versions, groups, resources, OpenAPI, health."""

from __future__ import annotations

import pytest
import yaml

from tests.unit.sandbox.http.asking import WIDGET_DEFINITION, Asker

WIDGET_YAML = yaml.safe_dump(WIDGET_DEFINITION)
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


def test_the_version_is_that_of_the_api_server_we_compare_with(asker: Asker) -> None:
    version = asker.json("GET", "/version")
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.3")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
def test_health_is_ok_as_text(asker: Asker, path: str) -> None:
    answer = asker.ask("GET", path)
    assert (answer.status, answer.body) == (200, b"ok")


def test_resources_are_listed_with_short_names_categories_and_subresources(
    with_widgets: Asker,
) -> None:
    listing = with_widgets.json("GET", "/apis/example.org/v1")
    assert (listing["kind"], listing["groupVersion"]) == ("APIResourceList", "example.org/v1")
    found = {item["name"]: item for item in listing["resources"]}
    assert set(found) == {"widgets", "widgets/status", "widgets/scale"}
    assert found["widgets"]["shortNames"] == ["wd"]
    assert found["widgets"]["categories"] == ["toys"]
    assert "watch" in found["widgets"]["verbs"]
    assert (found["widgets/scale"]["group"], found["widgets/scale"]["kind"]) == (
        "autoscaling",
        "Scale",
    )


def test_a_group_appears_with_its_definition_although_the_list_was_asked_before(
    asker: Asker,
) -> None:
    before = {group["name"] for group in asker.json("GET", "/apis")["groups"]}
    asker.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGET_DEFINITION)
    after = {group["name"] for group in asker.json("GET", "/apis")["groups"]}
    assert after - before == {"example.org"}
    group = asker.json("GET", "/apis/example.org")
    assert group["preferredVersion"]["groupVersion"] == "example.org/v1"


def test_the_core_group_has_versions_but_no_group(asker: Asker) -> None:
    assert asker.json("GET", "/api")["versions"] == ["v1"]
    names = {item["name"] for item in asker.json("GET", "/api/v1")["resources"]}
    assert {"pods", "pods/binding", "pods/log", "configmaps", "nodes"} <= names


def test_aggregated_discovery_is_answered_to_those_who_ask_for_it(with_widgets: Asker) -> None:
    answer = with_widgets.ask("GET", "/apis", accept=AGGREGATED)
    assert "as=APIGroupDiscoveryList" in answer.headers["content-type"]
    groups = with_widgets.json("GET", "/apis", accept=AGGREGATED)["items"]
    (resource,) = next(g for g in groups if g["metadata"]["name"] == "example.org")["versions"][0][
        "resources"
    ]
    assert resource["resource"] == "widgets"
    assert {item["subresource"] for item in resource["subresources"]} == {"scale", "status"}
    core = with_widgets.json("GET", "/api", accept=AGGREGATED)["items"]
    assert [group["versions"][0]["version"] for group in core] == ["v1"]


def test_openapi_v2_is_an_empty_document_of_13_bytes_for_kubectl(asker: Asker) -> None:
    kubectl = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = asker.ask("GET", "/openapi/v2", accept=kubectl)
    assert len(answer.body) == 13
    assert answer.headers["content-type"] == (
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    )
    assert asker.json("GET", "/openapi/v2")["swagger"] == "2.0"
    assert asker.ask("GET", "/openapi/v2", accept="text/html").status == 406


def test_openapi_v3_names_the_parameter_that_kubectl_looks_for(with_widgets: Asker) -> None:
    index = with_widgets.json("GET", "/openapi/v3")["paths"]
    url = index["apis/example.org/v1"]["serverRelativeURL"]
    document = with_widgets.json("GET", url)
    paths = document["paths"]
    patch = paths["/apis/example.org/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Widget"
    schema = document["components"]["schemas"]["org.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["width"]["minimum"] == 1


@pytest.mark.parametrize("path", ["/apis/unheard", "/apis/unheard/v1", "/openapi/v3/apis/x/v1"])
def test_a_group_that_is_not_served_is_404(asker: Asker, path: str) -> None:
    assert asker.ask("GET", path).status == 404


def test_documents_cannot_be_written(asker: Asker) -> None:
    assert asker.ask("POST", "/version").status == 404


def test_every_object_is_described_in_the_words_of_kubernetes(with_widgets: Asker) -> None:
    document = with_widgets.json("GET", "/openapi/v3/apis/example.org/v1")
    schemas = document["components"]["schemas"]
    widget = next(schema for name, schema in schemas.items() if name.endswith("Widget"))
    assert widget["properties"]["kind"]["description"].startswith("Kind is a string value")
    (metadata,) = widget["properties"]["metadata"]["allOf"]
    described = schemas[metadata["$ref"].rpartition("/")[2]]
    assert described["properties"]["finalizers"]["type"] == "array"
    owners = described["properties"]["ownerReferences"]["items"]["allOf"][0]["$ref"]
    assert owners.rpartition("/")[2] in schemas


def test_verbs_come_in_the_order_of_kube_apiserver(with_widgets: Asker) -> None:
    (listed, *_) = with_widgets.json("GET", "/apis/example.org/v1")["resources"]
    assert listed["verbs"] == [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ]
    (event,) = [
        item
        for item in with_widgets.json("GET", "/api/v1")["resources"]
        if item["name"] == "events"
    ]
    assert event["verbs"][:2] == ["create", "delete"]
    assert event["storageVersionHash"] == "r2yiGXH7wu8="


def test_the_version_is_written_for_people(asker: Asker) -> None:
    assert asker.ask("GET", "/version").body.startswith(b'{\n  "major": "1",\n')
