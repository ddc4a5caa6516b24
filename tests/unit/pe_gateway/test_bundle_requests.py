"""Who asks for a bundle by its name gets that of its own plan, or nothing."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from services.pe_gateway.core.answers import Refused
from services.pe_gateway.core.bundle_requests import (
    DIGEST_S_MAX,
    POD_S_MAX,
    Awaited,
    BundleUse,
    bundle_for,
    no_bundle_event,
    not_reached,
)
from services.pe_gateway.core.effects import AnnounceNoBundle

NAME = "a.sab"
ADDRESS = "10.0.0.1"
OWN = BundleUse("team", "j", NAME, "d1", "j-1", "uid", 3)
OTHER = BundleUse("other", "j", NAME, "d2")


def awaited(here: list[BundleUse], named: list[BundleUse] | None) -> tuple[float, int]:
    found = bundle_for(NAME, ADDRESS, here, named)
    assert isinstance(found, Awaited)
    return found.until_s, found.refusal.status


def test_a_pod_gets_the_bundle_of_its_job_whatever_else_has_the_name() -> None:
    assert bundle_for(NAME, ADDRESS, [OWN], None) is OWN
    assert bundle_for(NAME, ADDRESS, [OWN], [OWN, OTHER]) is OWN


def test_a_pod_does_not_get_the_bundle_of_another_job() -> None:
    with pytest.raises(Refused, match=r"j-1 has the bundle a\.sab, not b\.sab") as caught:
        bundle_for("b.sab", ADDRESS, [OWN], [BundleUse("other", "k", "b.sab", "d3")])
    assert caught.value.status == HTTPStatus.NOT_FOUND


def test_a_pod_waits_until_the_status_of_its_job_has_the_digest() -> None:
    submitting = BundleUse("team", "j", NAME, "", "j-1", "uid", 1)
    assert awaited([submitting], None) == (DIGEST_S_MAX, HTTPStatus.SERVICE_UNAVAILABLE)
    assert awaited([submitting], [OTHER]) == (DIGEST_S_MAX, HTTPStatus.SERVICE_UNAVAILABLE)


def test_pods_of_one_address_get_what_all_of_them_use() -> None:
    """Pods in the network of their host."""
    again = BundleUse("team", "k", NAME, "d1", "k-0", "uid", 1)
    another = BundleUse("team", "l", NAME, "d2", "l-0", "uid", 1)
    assert bundle_for(NAME, ADDRESS, [OWN, again], None) is OWN
    assert awaited([OWN, another], None)[1] == HTTPStatus.CONFLICT


def test_an_unknown_address_gets_nothing_unless_anybody_is_believed() -> None:
    assert awaited([], None) == (POD_S_MAX, HTTPStatus.FORBIDDEN)
    assert bundle_for(NAME, ADDRESS, [], [OTHER]) is OTHER


def test_a_name_without_a_job_is_waited_for_and_then_missing() -> None:
    assert awaited([], []) == (POD_S_MAX, HTTPStatus.NOT_FOUND)


def test_an_ambiguous_name_is_never_guessed() -> None:
    same = BundleUse("more", "k", NAME, "d2")
    assert bundle_for(NAME, ADDRESS, [], [OTHER, same]) is OTHER
    assert awaited([], [OTHER, OWN])[1] == HTTPStatus.CONFLICT
    submitting = BundleUse("more", "k", NAME, "")
    assert awaited([], [OTHER, submitting]) == (POD_S_MAX, HTTPStatus.SERVICE_UNAVAILABLE)


def test_an_ambiguous_name_is_refused_with_some_of_the_jobs() -> None:
    many = [BundleUse("n", f"j{each}", NAME, f"d{each}") for each in range(9)]
    found = bundle_for(NAME, ADDRESS, [], many)
    assert isinstance(found, Awaited)
    assert "(n/j0, n/j1, n/j2, n/j3, …)" in str(found.refusal)


def test_a_known_pe_gets_an_event_that_says_where_the_bundle_was_looked_for() -> None:
    refusal = not_reached(OWN, "MILLRACE_BUNDLE_STORE")
    why = (
        "the bundle a.sab of job j (SHA-256 d1) is not where pe-gateway looks: "
        "MILLRACE_BUNDLE_STORE."
    )
    assert no_bundle_event(OWN, refusal) == AnnounceNoBundle("j-1", "uid", 3, why)
    assert no_bundle_event(OTHER, refusal) is None
