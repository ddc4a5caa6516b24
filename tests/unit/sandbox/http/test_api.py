"""What the API answers to reads and writes of objects."""

from __future__ import annotations

import pytest

from sandbox.http.requests import BODY_BYTES_MAX
from tests.unit.sandbox.http.asking import (
    CONFIG_MAPS,
    MERGE,
    WIDGETS,
    Asker,
    config_map,
    pod,
    widget,
)

PODS = "/api/v1/namespaces/default/pods"


def test_a_created_object_is_answered_with_201_and_can_be_read(asker: Asker) -> None:
    created = asker.ask("POST", CONFIG_MAPS, config_map("a", k="v"))
    assert created.status == 201
    assert asker.ask("GET", f"{CONFIG_MAPS}/a").body == created.body


def test_a_missing_object_is_a_status_with_kind_and_name(asker: Asker) -> None:
    answer = asker.json("GET", f"{CONFIG_MAPS}/missing")
    assert answer == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'configmaps "missing" not found',
        "reason": "NotFound",
        "details": {"name": "missing", "kind": "configmaps"},
        "code": 404,
    }


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/nodes",
        "/api/v1/pods/a",
        "/api/v1/namespaces/default/configmaps/a/status",
        "/api/v1/namespaces/default/pods/a/b/c",
    ],
)
def test_what_is_not_served_is_404_without_details_of_an_object(asker: Asker, path: str) -> None:
    answer = asker.json("GET", path)
    assert (answer["code"], answer["reason"]) == (404, "NotFound")
    assert answer["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("POST", f"{CONFIG_MAPS}/a"),
        ("TRACE", f"{CONFIG_MAPS}/a"),
        ("GET", f"{PODS}/a/binding"),
    ],
)
def test_a_verb_that_a_path_does_not_have_is_405(asker: Asker, method: str, path: str) -> None:
    assert asker.ask(method, path, config_map("a")).status == 405


def test_a_list_carries_its_version_and_items_of_core_kinds_do_not_say_their_kind(
    asker: Asker,
) -> None:
    asker.ask("POST", CONFIG_MAPS, {"kind": "ConfigMap", **config_map("b")})
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    version = asker.api.store.version
    answer = asker.json("GET", CONFIG_MAPS)
    assert (answer["kind"], answer["apiVersion"]) == ("ConfigMapList", "v1")
    assert answer["metadata"] == {"resourceVersion": str(version)}
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "b"]
    assert not any("kind" in item or "apiVersion" in item for item in answer["items"])


def test_items_of_custom_resources_say_their_kind(with_widgets: Asker) -> None:
    with_widgets.ask("POST", WIDGETS, widget("a"))
    assert with_widgets.json("GET", WIDGETS)["items"][0]["kind"] == "Widget"


def test_lists_are_selected_by_labels_and_fields_across_namespaces(asker: Asker) -> None:
    for name in ("a", "b"):
        asker.ask("POST", PODS, pod(name))
    by_label = asker.json("GET", "/api/v1/pods?labelSelector=app%20in%20(a,c)")
    by_field = asker.json("GET", "/api/v1/pods?fieldSelector=metadata.name%3Db")
    assert [item["metadata"]["name"] for item in by_label["items"]] == ["a"]
    assert [item["metadata"]["name"] for item in by_field["items"]] == ["b"]


def test_below_a_group_that_is_not_served_there_is_no_status(asker: Asker) -> None:
    for path in ("/apis/example.org/v1/namespaces/default/unheard", "/nowhere"):
        answer = asker.ask("GET", path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n")


def test_pages_show_the_state_that_the_first_one_showed(asker: Asker) -> None:
    for name in ("a", "b", "c"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    first = asker.json("GET", f"{CONFIG_MAPS}?limit=1")
    assert [item["metadata"]["name"] for item in first["items"]] == ["a"]
    assert first["metadata"]["remainingItemCount"] == 2
    asker.ask("DELETE", f"{CONFIG_MAPS}/b")
    asker.ask("POST", CONFIG_MAPS, config_map("bb"))
    rest = asker.json("GET", f"{CONFIG_MAPS}?continue={first['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]
    assert rest["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}


def test_a_page_whose_version_is_forgotten_is_410(asker: Asker) -> None:
    for name in ("a", "b"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    token = asker.json("GET", f"{CONFIG_MAPS}?limit=1")["metadata"]["continue"]
    asker.ask("POST", CONFIG_MAPS, config_map("c"))
    asker.api.store.forget_history()
    answer = asker.json("GET", f"{CONFIG_MAPS}?continue={token}")
    assert (answer["code"], answer["reason"]) == (410, "Expired")
    rest = asker.json("GET", f"{CONFIG_MAPS}?continue={answer['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]


def test_a_full_page_has_a_token_if_anything_follows_whether_it_matches_or_not(
    asker: Asker,
) -> None:
    for name in ("a", "b", "c"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    tokens = {
        query: "continue" in asker.json("GET", f"{CONFIG_MAPS}?{query}")["metadata"]
        for query in (
            "limit=2&fieldSelector=metadata.name!%3Dc",
            "limit=2&fieldSelector=metadata.name!%3Da",
            "limit=1&fieldSelector=metadata.name%3Da",
            "limit=3",
            "limit=2",
            "limit=2&resourceVersion=0",
            "limit=-1",
        )
    }
    assert list(tokens.values()) == [True, False, False, False, True, False, False]


@pytest.mark.parametrize(
    "token",
    [
        *("abc", "a", "a===", "e30", "W10", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NX0"),
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi9hIn0",
    ],
)
def test_a_continue_token_that_nobody_made_is_400(asker: Asker, token: str) -> None:
    assert asker.ask("GET", f"{CONFIG_MAPS}?continue={token}").status == 400


def test_of_a_parameter_that_is_repeated_the_first_value_counts(asker: Asker) -> None:
    assert asker.ask("GET", f"{CONFIG_MAPS}?limit=1&limit=x").status == 200
    assert asker.ask("GET", f"{CONFIG_MAPS}?limit=x&limit=1").status == 400
    assert asker.ask("GET", f"{CONFIG_MAPS}?limit=").status == 400


def test_an_object_of_a_version_that_does_not_exist_yet_is_504(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    assert asker.ask("GET", f"{CONFIG_MAPS}/a?resourceVersion=999999").status == 504
    assert asker.ask("GET", f"{CONFIG_MAPS}/a?resourceVersion=x").status == 500
    assert asker.ask("GET", f"{CONFIG_MAPS}/a?resourceVersion=0").status == 200


def test_a_limit_bounds_what_is_deleted(asker: Asker) -> None:
    for name in ("a", "b"):
        asker.ask("POST", CONFIG_MAPS, config_map(name))
    answer = asker.json("DELETE", f"{CONFIG_MAPS}?limit=1")
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a"]
    assert answer["metadata"]["continue"]
    left = asker.json("GET", CONFIG_MAPS)["items"]
    assert [item["metadata"]["name"] for item in left] == ["b"]


def test_a_list_of_a_version_that_does_not_exist_yet_is_504(asker: Asker) -> None:
    answer = asker.json("GET", f"{CONFIG_MAPS}?resourceVersion=999999")
    assert answer["code"] == 504
    assert answer["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


def test_an_exact_list_shows_an_old_state_until_it_is_forgotten(asker: Asker) -> None:
    before = asker.api.store.version
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    exact = f"{CONFIG_MAPS}?resourceVersion={before}&resourceVersionMatch=Exact"
    assert asker.json("GET", exact)["items"] == []
    assert asker.json("GET", f"{CONFIG_MAPS}?resourceVersion={before}&limit=5")["items"] == []
    assert len(asker.json("GET", f"{CONFIG_MAPS}?resourceVersion={before}")["items"]) == 1
    asker.api.store.forget_history()
    old = f"{CONFIG_MAPS}?resourceVersion=1&resourceVersionMatch"
    assert asker.ask("GET", f"{old}=Exact").status == 410
    assert asker.ask("GET", f"{old}=NotOlderThan").status == 200
    assert asker.ask("GET", f"{CONFIG_MAPS}?resourceVersionMatch=Exact").status == 422


def test_a_yaml_body_is_accepted_and_its_times_stay_text(asker: Asker) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {at: 2026-01-01}\n"
    answer = asker.json("POST", CONFIG_MAPS, body, content_type="application/yaml")
    assert answer["data"] == {"at": "2026-01-01"}


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b'{"kind": ', "application/json", 400),
        (b"a: [", "application/yaml", 400),
        (b"[]", "application/json", 400),
        (b"{}", "application/cbor", 415),
        (b"{}", "application/vnd.kubernetes.protobuf", 400),
        (b'{"a":' * 10_001 + b"1" + b"}" * 10_001, "application/json", 400),
        (b" " * (BODY_BYTES_MAX + 1), "application/json", 413),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    asker: Asker, body: bytes, content_type: str, code: int
) -> None:
    answer = asker.json("POST", CONFIG_MAPS, body, content_type=content_type)
    assert (answer["kind"], answer["code"]) == ("Status", code)


@pytest.mark.parametrize(
    "content_type", ["application/strategic-merge-patch+json", "application/apply-patch+yaml"]
)
def test_patches_of_custom_resources_that_are_not_served_are_415(
    with_widgets: Asker, content_type: str
) -> None:
    with_widgets.ask("POST", WIDGETS, widget("a"))
    answer = with_widgets.json("PATCH", f"{WIDGETS}/a", b"{}", content_type=content_type)
    assert (answer["code"], answer["reason"]) == (415, "UnsupportedMediaType")
    assert "application/merge-patch+json" in answer["message"]


def test_a_merge_patch_under_a_stale_version_is_409(with_widgets: Asker) -> None:
    with_widgets.ask("POST", WIDGETS, widget("a"))
    with_widgets.ask("PATCH", f"{WIDGETS}/a", {"spec": {"width": 4}}, content_type=MERGE)
    stale = {"metadata": {"resourceVersion": "1"}, "spec": {"width": 5}}
    answer = with_widgets.json("PATCH", f"{WIDGETS}/a", stale, content_type=MERGE)
    assert (answer["code"], answer["reason"]) == (409, "Conflict")


def test_a_strategic_patch_of_a_node_adds_to_its_labels(asker: Asker) -> None:
    asker.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": {"a": "b"}}})
    answer = asker.json(
        "PATCH",
        "/api/v1/nodes/n",
        {"metadata": {"labels": {"c": "d"}}},
        content_type="application/strategic-merge-patch+json",
    )
    assert answer["metadata"]["labels"] == {"a": "b", "c": "d"}


def test_the_scale_of_a_custom_resource_is_read_and_patched(with_widgets: Asker) -> None:
    with_widgets.ask("POST", WIDGETS, widget("a", width=3))
    scale = with_widgets.json("GET", f"{WIDGETS}/a/scale")
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 3})
    patched = with_widgets.json(
        "PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 5}}, content_type=MERGE
    )
    assert patched["spec"] == {"replicas": 5}
    assert with_widgets.json("GET", f"{WIDGETS}/a")["spec"] == {"width": 5}


def test_status_is_written_through_its_subresource_only(with_widgets: Asker) -> None:
    with_widgets.ask("POST", WIDGETS, widget("a"))
    status = {"status": {"phase": "Good"}}
    with_widgets.ask("PATCH", f"{WIDGETS}/a", status, content_type=MERGE)
    assert "status" not in with_widgets.json("GET", f"{WIDGETS}/a")
    with_widgets.ask("PATCH", f"{WIDGETS}/a/status", status, content_type=MERGE)
    assert with_widgets.json("GET", f"{WIDGETS}/a/status")["status"] == {"phase": "Good"}


def test_a_deletion_that_leaves_nothing_is_a_status_of_success(asker: Asker) -> None:
    uid = asker.json("POST", CONFIG_MAPS, config_map("a"))["metadata"]["uid"]
    answer = asker.json("DELETE", f"{CONFIG_MAPS}/a")
    assert (answer["kind"], answer["status"]) == ("Status", "Success")
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": uid}


def test_a_deletion_shows_the_pod_and_the_object_that_a_finalizer_holds(
    with_widgets: Asker,
) -> None:
    with_widgets.ask("POST", PODS, pod("p"))
    assert with_widgets.json("DELETE", f"{PODS}/p")["kind"] == "Pod"
    with_widgets.ask("POST", WIDGETS, widget("a"))
    held = with_widgets.json("DELETE", f"{WIDGETS}/a?propagationPolicy=Foreground")
    assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert "deletionTimestamp" in held["metadata"]


def test_preconditions_of_a_deletion_are_read_from_its_body(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    wrong = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}
    assert asker.ask("DELETE", f"{CONFIG_MAPS}/a", wrong).status == 409
    assert asker.ask("GET", f"{CONFIG_MAPS}/a").status == 200


def test_a_collection_is_deleted_under_its_selector(asker: Asker) -> None:
    for name in ("a", "b"):
        asker.ask("POST", PODS, pod(name))
    answer = asker.json("DELETE", f"{PODS}?labelSelector=app%3Da")
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a"]
    left = asker.json("GET", PODS)["items"]
    assert [item["metadata"]["name"] for item in left] == ["b"]


def test_a_dry_run_answers_and_changes_nothing(asker: Asker) -> None:
    before = asker.api.store.version
    assert asker.ask("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("a")).status == 201
    asker.ask("POST", CONFIG_MAPS, config_map("b"))
    assert asker.ask("DELETE", f"{CONFIG_MAPS}/b?dryRun=All").status == 200
    assert asker.api.store.version == before + 1
    assert asker.ask("POST", f"{CONFIG_MAPS}?dryRun=Some", config_map("a")).status == 422


def test_unknown_fields_are_refused_when_validation_is_strict(with_widgets: Asker) -> None:
    body = {**widget("a"), "unheard": 1}
    assert with_widgets.ask("POST", f"{WIDGETS}?fieldValidation=Strict", body).status == 400
    assert with_widgets.ask("POST", f"{WIDGETS}?fieldValidation=Hard", body).status == 422
    created = with_widgets.json("POST", f"{WIDGETS}?fieldValidation=Ignore", body)
    assert "unheard" not in created


def test_binding_gives_a_pod_its_node_once(asker: Asker) -> None:
    asker.ask("POST", PODS, pod("p"))
    binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n"}}
    assert asker.ask("POST", f"{PODS}/p/binding", binding).status == 201
    assert asker.json("GET", f"{PODS}/p")["spec"]["nodeName"] == "n"
    assert asker.ask("POST", f"{PODS}/p/binding", binding).status == 409
    for target in ({}, "n", {"name": 1}):
        assert asker.ask("POST", f"{PODS}/p/binding", {"target": target}).status == 400


def test_an_eviction_deletes_the_pod(asker: Asker) -> None:
    asker.ask("POST", PODS, pod("p"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert asker.ask("POST", f"{PODS}/p/eviction", eviction).status == 201
    assert asker.ask("GET", f"{PODS}/p").status == 404


def test_metadata_alone_is_answered_where_it_is_requested(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a", k="v"))
    kind = "application/json;as={};g=meta.k8s.io;v=v1"
    listing = asker.json("GET", CONFIG_MAPS, accept=kind.format("PartialObjectMetadataList"))
    assert listing["kind"] == "PartialObjectMetadataList"
    (item,) = listing["items"]
    assert set(item) == {"kind", "apiVersion", "metadata"}
    one = asker.json("GET", f"{CONFIG_MAPS}/a", accept=kind.format("PartialObjectMetadata"))
    assert one == item
    wrong = asker.ask("GET", CONFIG_MAPS, accept=kind.format("PartialObjectMetadata"))
    assert wrong.status == 406


def test_a_client_that_reads_protobuf_only_is_406(asker: Asker) -> None:
    protobuf = "application/vnd.kubernetes.protobuf"
    assert asker.ask("GET", CONFIG_MAPS, accept=protobuf).status == 406
    assert asker.ask("GET", CONFIG_MAPS, accept=f"{protobuf}, application/json").status == 200


def test_requests_are_counted_by_verb_resource_code_and_client(asker: Asker) -> None:
    agent = {"user-agent": "millrace-fusion/1.0 python"}
    asker.ask("POST", CONFIG_MAPS, config_map("a"), headers=agent)
    asker.ask("POST", CONFIG_MAPS, config_map("a"), headers=agent)
    asker.ask("GET", CONFIG_MAPS, headers={"user-agent": 'odd"name'})
    text = asker.ask("GET", "/metrics").body.decode()
    counted = 'resource="configmaps",subresource="",code="{}",client="millrace-fusion/1.0"'
    assert f'apiserver_request_total{{verb="POST",{counted.format(201)}}} 1' in text
    assert f'apiserver_request_total{{verb="POST",{counted.format(409)}}} 1' in text
    assert 'verb="LIST"' in text
    assert 'client="oddname"' in text
