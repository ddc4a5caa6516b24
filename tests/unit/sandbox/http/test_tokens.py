"""Tokens that are bound to pods: who gets one, and for how long it is valid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.http.answers import Answer
from sandbox.store.deleting import DeleteOptions
from sandbox.store.resources import POD
from tests.sandboxed import new_cluster

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SPEC = {"containers": [{"name": "pe", "image": "x"}]}


class Played:
    """A cluster without controllers, with an account and a pod; `now` is its time."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        uids = (f"uid-{number}" for number in range(100))
        self.cluster = new_cluster(now=lambda: self.now, new_uid=lambda: next(uids), nodes=0)
        account = {"metadata": {"name": "default"}}
        self.send(ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", **account})
        self.pod = self.cluster.store.create(
            POD, "default", {"metadata": {"name": "p"}, "spec": SPEC}
        )

    def send(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status code and the body of a POST."""
        headers = {"content-type": "application/json"}
        answer = self.cluster.api.answer("POST", path, headers, json.dumps(body).encode())
        assert isinstance(answer, Answer)
        return answer.status, json.loads(answer.body)

    def token(self, **spec: Any) -> str:
        """A token that is bound to the pod."""
        ref = {"kind": "Pod", "name": "p", "uid": self.pod["metadata"]["uid"]}
        body = {"spec": {"audiences": ["a"], "boundObjectRef": ref, **spec}}
        status, answer = self.send(f"{ACCOUNTS}/default/token", body)
        assert status == 201, answer
        return str(answer["status"]["token"])

    def review(self, token: str, audience: str = "a") -> dict[str, Any]:
        """The status of a review."""
        _, answer = self.send(REVIEWS, {"spec": {"token": token, "audiences": [audience]}})
        return dict(answer["status"])


def test_a_review_names_the_account_and_the_pod_of_a_token() -> None:
    played = Played()
    status = played.review(played.token())
    assert (status["authenticated"], status["audiences"]) == (True, ["a"])
    assert status["user"]["username"] == "system:serviceaccount:default:default"
    assert status["user"]["extra"] == {
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": [played.pod["metadata"]["uid"]],
    }


def test_a_token_ends_with_its_time_its_pod_and_is_for_its_audience_only() -> None:
    played = Played()
    token = played.token(expirationSeconds=600)
    assert not played.review(token, "b")["authenticated"]
    assert not played.review(token[:-2] + "xx")["authenticated"]
    assert not played.review("no.such.token")["authenticated"]
    played.now += 600
    assert not played.review(token)["authenticated"]
    token = played.token()
    played.cluster.store.delete(POD, "default", "p", DeleteOptions(grace_period_s=0))
    assert not played.review(token)["authenticated"]


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"expirationSeconds": 60}, 422),
        ({"boundObjectRef": {"kind": "Pod", "name": "q"}}, 404),
        ({"boundObjectRef": {"kind": "Pod", "name": "p", "uid": "another"}}, 409),
        ({"boundObjectRef": {"kind": "Secret", "name": "s"}}, 400),
    ],
)
def test_a_token_that_cannot_be_bound_is_refused(spec: dict[str, Any], status: int) -> None:
    assert Played().send(f"{ACCOUNTS}/default/token", {"spec": spec})[0] == status
