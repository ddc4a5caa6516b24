"""Reviews of rights: everybody may do everything in the sandbox."""

from __future__ import annotations

import pytest

from tests.unit.sandbox.http.asking import Asker

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_any_asks_may_do_it(asker: Asker) -> None:
    spec = {"resourceAttributes": {"verb": "delete", "resource": "pods", "namespace": "default"}}
    answer = asker.ask("POST", REVIEWS, {"spec": spec})
    assert answer.status == 201
    review = asker.json("POST", REVIEWS, {"spec": spec})
    assert (review["kind"], review["status"]) == ("SelfSubjectAccessReview", {"allowed": True})
    assert review["spec"] == spec


@pytest.mark.parametrize(
    "spec",
    [{}, {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get"}}],
)
def test_a_review_of_nothing_or_of_two_things_is_refused(
    asker: Asker, spec: dict[str, object]
) -> None:
    assert asker.ask("POST", REVIEWS, {"spec": spec}).status == 422


@pytest.mark.parametrize(("method", "name"), [("GET", ""), ("GET", "/x"), ("DELETE", "/x")])
def test_a_review_is_never_kept(asker: Asker, method: str, name: str) -> None:
    assert asker.ask(method, REVIEWS + name).status == 405


def test_reviews_are_found_by_discovery(asker: Asker) -> None:
    (listed,) = asker.json("GET", "/apis/authorization.k8s.io/v1")["resources"]
    assert listed["verbs"] == ["create"]
    assert "storageVersionHash" not in listed
