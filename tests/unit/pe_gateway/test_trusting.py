"""A PE is believed about itself only, and by the token of a live launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from services.pe_gateway.core.answers import Refused
from services.pe_gateway.core.snapshot import Pe, Pod
from services.pe_gateway.core.trusting import (
    Departed,
    Sender,
    TokenOf,
    anonymous_sender,
    bound_to,
    require_launch,
    require_newest,
    require_own,
    require_own_job,
    sender_of,
    token_in,
)

PE = Pe("ns", "shop-3", "uid-pe", 3, "shop", launch=2)
POD = Pod("shop-3-x", "uid-pod", "uid-pe", 2, has_ended=False)
TOKEN = TokenOf("ns", "shop-3-x", "uid-pod")
EXTRA = "authentication.kubernetes.io/pod-"


def review(**changes: Any) -> dict[str, Any]:
    """The status of a TokenReview of the pod's token."""
    user = {
        "username": "system:serviceaccount:ns:default",
        "extra": {f"{EXTRA}name": ["shop-3-x"], f"{EXTRA}uid": ["uid-pod"]},
    }
    return {"authenticated": True, "audiences": ["streams-api"], "user": user} | changes


def test_a_token_of_a_pod_names_the_pod() -> None:
    assert bound_to(review(), "streams-api") == TOKEN


@pytest.mark.parametrize(
    "changes",
    [
        {"authenticated": False},
        {"audiences": ["https://kubernetes.default.svc"]},
        {"audiences": None},
        {"user": {"username": "system:serviceaccount:ns:default"}},
        {"user": review()["user"] | {"username": "system:node:n"}},
        {"user": None},
    ],
)
def test_other_tokens_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        bound_to(review(**changes), "streams-api")
    assert refused.value.status == 401


def test_the_pod_of_the_newest_launch_speaks_for_its_pe() -> None:
    assert sender_of(TOKEN, POD, PE, has_job=True) == Sender("ns", PE, 2)
    assert sender_of(TOKEN, replace(POD, launch=3), PE, has_job=True).launch == 3, (
        "its status comes later"
    )


@pytest.mark.parametrize(
    ("pod", "pe"),
    [
        (None, PE),
        (replace(POD, uid="another"), PE),
        (replace(POD, pe_uid="another"), PE),
        (replace(POD, has_ended=True), PE),
        (POD, None),
    ],
)
def test_a_pod_that_is_no_live_launch_is_refused(pod: Pod | None, pe: Pe | None) -> None:
    with pytest.raises(Refused) as refused:
        sender_of(TOKEN, pod, pe, has_job=True)
    assert refused.value.status == 403


ENDING = replace(POD, is_deleting=True, pe="shop-3")


@pytest.mark.parametrize(
    ("pe", "has_job"),
    [
        (None, True),
        (None, False),
        (replace(PE, uid="another"), True),
        (replace(PE, is_deleting=True), True),
        (PE, False),
    ],
)
def test_a_pod_that_ends_with_its_pe_or_its_job_has_departed(pe: Pe | None, has_job: bool) -> None:
    departed = Departed("ns", "shop-3", "uid-pe", 2, has_job)
    assert sender_of(TOKEN, ENDING, pe, has_job=has_job) == departed


def test_a_pod_that_is_deleted_alone_still_speaks_for_its_pe() -> None:
    assert sender_of(TOKEN, ENDING, PE, has_job=True) == Sender("ns", PE, 2)


def test_a_pod_that_is_not_deleted_runs_on_though_its_pe_is() -> None:
    """Where dependents are orphaned, they stay."""
    pe = replace(PE, is_deleting=True)
    assert sender_of(TOKEN, POD, pe, has_job=True) == Sender("ns", pe, 2)


def test_a_pod_of_an_older_launch_that_has_not_ended_yet_is_known_and_may_do_little() -> None:
    """It reads what its runtime needs, and learns by 409 that it counts no more."""
    sender = sender_of(TOKEN, replace(POD, launch=1), PE, has_job=True)
    assert isinstance(sender, Sender)
    with pytest.raises(Refused) as refused:
        require_newest(sender)
    assert refused.value.status == 409
    with pytest.raises(Refused) as refused:
        require_launch(sender, PE, 1)
    assert refused.value.status == 409


def test_a_launch_reports_for_itself_only() -> None:
    sender = Sender("ns", PE, 2)
    require_newest(sender)
    require_launch(sender, PE, 2)
    require_launch(Sender("ns"), PE, 3)
    with pytest.raises(Refused, match="may not speak for launch 3") as refused:
        require_launch(sender, PE, 3)
    assert refused.value.status == 403


def test_a_pe_speaks_for_itself_and_changes_its_own_job() -> None:
    sender = Sender("ns", PE, 2)
    require_own(sender, PE)
    require_own_job(sender, "shop")
    with pytest.raises(Refused, match="may not speak for shop-4"):
        require_own(sender, replace(PE, name="shop-4", uid="uid-4"))
    with pytest.raises(Refused, match="may not change job other"):
        require_own_job(sender, "other")


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Bearer a.b", "Bearer " + "x" * 20_000])
def test_a_header_that_has_no_token_is_refused_without_a_review(header: str) -> None:
    with pytest.raises(Refused) as refused:
        token_in(header)
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("host", "namespaces", "namespace"),
    [
        ("streams-api.team-a:10000", (), "team-a"),
        ("streams-api.team-a.svc.cluster.local", ("team-a", "team-b"), "team-a"),
        ("streams-api:10000", ("team-a",), "team-a"),
        ("10.0.0.1:10000", ("team-a",), "team-a"),
    ],
)
def test_an_anonymous_request_is_of_the_namespace_in_the_host_name(
    host: str, namespaces: tuple[str, ...], namespace: str
) -> None:
    assert anonymous_sender(host, namespaces) == Sender(namespace)


@pytest.mark.parametrize(
    ("host", "namespaces"), [("", ()), ("10.0.0.1", ()), ("streams-api.x", ("a", "b"))]
)
def test_an_anonymous_request_without_a_namespace_of_ours_is_refused(
    host: str, namespaces: tuple[str, ...]
) -> None:
    with pytest.raises(Refused, match="names no namespace of ours"):
        anonymous_sender(host, namespaces)
