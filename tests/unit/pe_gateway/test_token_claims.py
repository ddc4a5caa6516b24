"""Whose a token is by claims that a key of the cluster has signed."""

from __future__ import annotations

from typing import Any

import pytest

from services.pe_gateway.core.answers import Refused
from services.pe_gateway.core.token_claims import bound_by_claims

ISSUER = "https://issuer.test"
NOW = 1_000_000.0
BOUND = {
    "namespace": "ns",
    "pod": {"name": "p", "uid": "u"},
    "serviceaccount": {"name": "default", "uid": "a"},
}
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "sub": "system:serviceaccount:ns:default",
    "aud": ["streams-api"],
    "exp": NOW + 600.0,
    "nbf": NOW - 5.0,
    "kubernetes.io": BOUND,
}


def owner(**claims: Any) -> tuple[object, float]:
    """The verdict on claims that differ from good ones; None takes one away."""
    changed = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    return bound_by_claims(changed, issuer=ISSUER, audience="streams-api", now=NOW)


def test_good_claims_name_the_pod_and_their_end() -> None:
    assert owner() == (("ns", "p", "u"), NOW + 600.0)
    assert owner(aud="streams-api", nbf=None) == owner()
    assert owner(nbf=NOW + 59.0) == owner(), "its clock may be ahead"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.test"},
        {"iss": None},
        {"aud": ["another"]},
        {"aud": "streams-api-2"},
        {"aud": None},
        {"aud": {"streams-api": 1}},
        {"exp": NOW},
        {"exp": None},
        {"exp": "tomorrow"},
        {"nbf": NOW + 61.0},
        {"sub": "system:serviceaccount:ns:another"},
        {"sub": "system:serviceaccount:other:default"},
        {"sub": None},
        {"kubernetes.io": None},
        {"kubernetes.io": "ns"},
        {"kubernetes.io": BOUND | {"pod": None}},
        {"kubernetes.io": BOUND | {"pod": {"name": "p"}}},
        {"kubernetes.io": BOUND | {"pod": {"name": "p", "uid": 7}}},
        {"kubernetes.io": BOUND | {"namespace": ""}},
        {"kubernetes.io": BOUND | {"serviceaccount": []}},
    ],
    ids=str,
)
def test_other_claims_are_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        owner(**claims)
    assert refused.value.status == 401
