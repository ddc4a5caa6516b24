"""What the API refuses."""

from __future__ import annotations

import orjson
import pytest

from sandbox.http.answers import Answer
from tests.unit.sandbox.http.asking import CONFIG_MAPS, Asker, config_map

PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"kind":"Pod","apiVersion":"v1"}'])
def test_a_body_of_a_deletion_that_is_no_delete_options_is_400(asker: Asker, body: bytes) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    json_type = {"content-type": "application/json"}
    answer = asker.api.answer("DELETE", f"{CONFIG_MAPS}/a", json_type, body)
    assert answer.status == 400
    assert asker.ask("GET", f"{CONFIG_MAPS}/a").status == 200


def test_only_server_side_apply_may_be_forced(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    merge = {"content-type": "application/merge-patch+json"}
    answer = asker.api.answer("PATCH", f"{CONFIG_MAPS}/a?force=true&dryRun=x", merge, b"{}")
    assert answer.status == 422
    assert isinstance(answer, Answer)
    causes = orjson.loads(answer.body)["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["force", "dryRun"]


@pytest.mark.parametrize(
    ("method", "path", "accept", "status", "message"),
    [
        ("GET", CONFIG_MAPS, PARTIAL, 406, "is a list (*core.ConfigMapList)"),
        ("GET", f"{CONFIG_MAPS}/a", PARTIAL_LIST, 406, "is not a list (*core.ConfigMap)"),
        ("GET", CONFIG_MAPS, "text/html", 406, "application/vnd.kubernetes.protobuf;stream=watch"),
        ("GET", f"{CONFIG_MAPS}/a", "text/html", 406, "application/vnd.kubernetes.protobuf"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused_in_the_words_of_kubernetes(
    asker: Asker, method: str, path: str, accept: str, status: int, message: str
) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    answer = asker.api.answer(method, path, {"accept": accept})
    assert isinstance(answer, Answer)
    assert answer.status == status
    assert orjson.loads(answer.body)["message"].endswith(message)


def test_a_shape_comes_in_the_version_that_was_requested(asker: Asker) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    old = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
    answer = asker.api.answer("GET", CONFIG_MAPS, {"accept": old})
    assert isinstance(answer, Answer)
    shown = orjson.loads(answer.body)
    assert shown["apiVersion"] == shown["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_what_is_being_deleted_is_in_the_way_and_says_so(asker: Asker) -> None:
    held = {"metadata": {"name": "a", "finalizers": ["example.com/a"]}}
    asker.ask("POST", CONFIG_MAPS, held)
    asker.ask("DELETE", f"{CONFIG_MAPS}/a")
    answer = asker.json("POST", CONFIG_MAPS, held)
    assert answer["code"] == 409
    assert answer["message"].startswith("object is being deleted: ")


@pytest.mark.parametrize("sent", [{"kind": "Pod"}, {"kind": "ConfigMap", "apiVersion": "v2"}])
def test_an_object_of_another_kind_is_400(asker: Asker, sent: dict[str, str]) -> None:
    answer = asker.json("POST", CONFIG_MAPS, {**config_map("a"), "apiVersion": "v1", **sent})
    assert answer["code"] == 400
    assert answer["message"].startswith("the body has to be a ConfigMap of v1, and not a ")
