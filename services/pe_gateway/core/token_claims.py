"""Whose a token is by its claims, which a published key of the cluster has signed.

The signature is checked in `adapters/published_keys.py`. That the pod still exists follows from
facts, as for a token that the API server reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from services.pe_gateway.core.trusting import ACCOUNT, TokenOf, unauthorized

CLOCKS_DIFFER_S: Final = 60.0
"""How far the clock of the API server may be ahead."""
_OURS: Final = "kubernetes.io"


def bound_by_claims(
    claims: Mapping[str, Any], *, issuer: str, audience: str, now: float
) -> tuple[TokenOf, float]:
    """The pod to which a token is bound, and when it expires (unix seconds). Raises Refused: 401.

    `issuer` is the one that the cluster publishes; `now` is in unix seconds.
    """
    audiences = claims.get("aud")
    audiences = [audiences] if isinstance(audiences, str) else audiences
    if claims.get("iss") != issuer or not isinstance(audiences, list) or audience not in audiences:
        raise unauthorized(f"the token is not of {issuer}, or is not for the audience {audience}")
    ends = _moment(claims, "exp", 0.0)
    if now >= ends or now + CLOCKS_DIFFER_S < _moment(claims, "nbf", 0.0):
        raise unauthorized("the token has expired, or is not valid yet")
    return _bound(claims), ends


def _bound(claims: Mapping[str, Any]) -> TokenOf:
    bound = _part(claims, _OURS)
    pod, account = _part(bound, "pod"), _part(bound, "serviceaccount")
    namespace, name, uid = bound.get("namespace"), pod.get("name"), pod.get("uid")
    is_whole = all(isinstance(each, str) and each for each in (namespace, name, uid))
    subject = ":".join((*ACCOUNT, str(namespace), str(account.get("name"))))
    if not is_whole or claims.get("sub") != subject:
        raise unauthorized("the token is not bound to a pod")
    return TokenOf(str(namespace), str(name), str(uid))


def _part(claims: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = claims.get(name)
    return part if isinstance(part, Mapping) else {}


def _moment(claims: Mapping[str, Any], name: str, default: float) -> float:
    value = claims.get(name, default)
    return float(value) if isinstance(value, int | float) else 0.0
