"""Tokens of service accounts that are bound to pods: TokenRequest and TokenReview.

A token is signed with a key of this process, whose public part is published. It ends with its time,
with its pod and with its account. Nobody needs one here: everybody may do everything.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from sandbox.http.answers import Answer, json_answer
from sandbox.http.requests import Call
from sandbox.http.routing import no_such_method
from sandbox.store.errors import ApiError, bad_request, conflict, invalid, invalid_value
from sandbox.store.resources import POD, SERVICE_ACCOUNT
from sandbox.store.store import Store

API_AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
SECONDS_MIN: Final = 600
SECONDS: Final = 3600
ISSUER: Final = API_AUDIENCE
CONFIGURATION: Final = "/.well-known/openid-configuration"
KEYS: Final = "/openid/v1/jwks"
_ALGORITHM: Final = "ES256"
_KEYS_TYPE: Final = "application/jwk-set+json"


class Tokens:
    """Issues tokens, and says whose a token is."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._key_id = secrets.token_urlsafe(16)

    def published(self, path: str, accept: str) -> Answer | None:
        """The documents by which others check tokens: the issuer, and the keys.

        The keys are of a media type of their own, which a client has to accept.
        """
        if path == CONFIGURATION:
            body = {
                "issuer": ISSUER,
                "jwks_uri": f"{ISSUER}{KEYS}",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [_ALGORITHM],
            }
            return json_answer(200, body)
        if path == KEYS:
            key = ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
            named = {"use": "sig", "kid": self._key_id, "alg": _ALGORITHM}
            if accept and not any(each in accept for each in (_KEYS_TYPE, "*/*", "application/*")):
                text = f"406: Not Acceptable\n\nAvailable representations: {_KEYS_TYPE}"
                return Answer(406, text.encode(), {"content-type": "text/plain"})
            answer = json_answer(200, {"keys": [named | key]})
            return replace(answer, headers={"content-type": _KEYS_TYPE})
        return None

    def issue(self, call: Call) -> Answer:
        """POST serviceaccounts/token. 404 without the pod, 409 if it is another one of the name."""
        namespace, account = call.target.namespace or "", call.target.name
        found = self._store.get(SERVICE_ACCOUNT, namespace, account)
        sent = call.sent_object()
        spec: dict[str, Any] = (sent.get("spec") or {}) if isinstance(sent, dict) else {}
        seconds = spec.get("expirationSeconds") or SECONDS
        if type(seconds) is not int or seconds < SECONDS_MIN:
            text = "may not specify a duration less than 10 minutes"
            raise invalid(call.rt, "", [invalid_value("spec.expirationSeconds", seconds, text)])
        audiences = spec.get("audiences") or [API_AUDIENCE]
        bound = self._bound_pod(namespace, account, spec.get("boundObjectRef"))
        ends_s = self._now() + seconds
        token = self._token(namespace, account, found["metadata"]["uid"], audiences, ends_s, bound)
        until = datetime.fromtimestamp(ends_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"name": account, "namespace": namespace},
            "spec": {**spec, "audiences": audiences, "expirationSeconds": seconds},
            "status": {"token": token, "expirationTimestamp": until},
        }
        return json_answer(201, body)

    def issue_for_pod(
        self,
        namespace: str,
        account: str,
        audiences: Sequence[str],
        seconds: int,
        pod: Sequence[str],
    ) -> str:
        """A token as the kubelet requests it; `pod` is (name, uid). Raises ApiError."""
        found = self._store.get(SERVICE_ACCOUNT, namespace, account)
        uid, ends_s = found["metadata"]["uid"], self._now() + seconds
        return self._token(namespace, account, uid, audiences or [API_AUDIENCE], ends_s, pod)

    def _token(
        self,
        namespace: str,
        account: str,
        uid: str,
        audiences: Sequence[str],
        ends_s: float,
        pod: Sequence[str],
    ) -> str:
        bound = {"pod": dict(zip(("name", "uid"), pod, strict=True))} if pod else {}
        begins_s = int(self._now())
        claims = {
            "iss": ISSUER,
            "sub": f"system:serviceaccount:{namespace}:{account}",
            "aud": list(audiences),
            "iat": begins_s,
            "nbf": begins_s,
            "exp": int(ends_s),
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": {"name": account, "uid": uid},
                **bound,
            },
        }
        return jwt.encode(claims, self._key, _ALGORITHM, headers={"kid": self._key_id})

    def _bound_pod(self, namespace: str, account: str, ref: Any) -> Sequence[str]:
        """(name, uid) of the pod that a token is bound to; empty without one."""
        if not ref:
            return ()
        if not isinstance(ref, dict) or ref.get("kind") != "Pod":
            raise bad_request("tokens are bound to pods only")
        name = str(ref.get("name", ""))
        pod = self._store.get(POD, namespace, name)
        uid = pod["metadata"]["uid"]
        if ref.get("uid") and ref["uid"] != uid:
            why = (
                f"the UID in the bound object reference ({ref['uid']}) and the UID in record "
                f"({uid}) do not match. The object might have been deleted and then recreated"
            )
            raise conflict(POD, name, why)
        if (pod["spec"].get("serviceAccountName") or "default") != account:
            raise bad_request(f"cannot bind token for serviceaccount {account!r} to pod {name!r}")
        return name, uid

    def review(self, verb: str, call: Call) -> Answer:
        """A TokenReview with its verdict."""
        if verb != "POST" or call.target.name:
            raise no_such_method()
        sent = call.sent_object()
        spec: dict[str, Any] = (sent.get("spec") or {}) if isinstance(sent, dict) else {}
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        body = {
            "kind": call.rt.kind,
            "apiVersion": call.rt.api_version,
            "metadata": {},
            "spec": spec,
            "status": self._verdict(str(spec["token"]), spec.get("audiences") or [API_AUDIENCE]),
        }
        return json_answer(201, body)

    def _verdict(self, token: str, audiences: Sequence[str]) -> Mapping[str, Any]:
        claims = self._claims(token)
        if claims is None or claims["exp"] <= self._now() or not self._is_bound(claims):
            return {"authenticated": False, "user": {}, "error": "invalid bearer token"}
        shared = [each for each in audiences if each in claims["aud"]]
        if not shared:
            return {"authenticated": False, "user": {}, "error": "token audiences do not match"}
        bound = claims["kubernetes.io"]
        namespace, account = bound["namespace"], bound["serviceaccount"]
        extra = {
            f"authentication.kubernetes.io/pod-{name}": [value]
            for name, value in bound.get("pod", {}).items()
        }
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
        user = {
            "username": claims["sub"],
            "uid": account["uid"],
            "groups": [*groups, "system:authenticated"],
            "extra": extra,
        }
        return {"authenticated": True, "user": user, "audiences": shared}

    def _is_bound(self, claims: Mapping[str, Any]) -> bool:
        """Whether the account and the pod of a token exist."""
        bound = claims["kubernetes.io"]
        named = [(SERVICE_ACCOUNT, bound["serviceaccount"])]
        named += [(POD, bound["pod"])] if "pod" in bound else []
        try:
            return all(
                self._store.get(rt, bound["namespace"], each["name"])["metadata"]["uid"]
                == each["uid"]
                for rt, each in named
            )
        except ApiError:
            return False

    def _claims(self, token: str) -> Mapping[str, Any] | None:
        """What a token says, if it is ours; whether it has expired is not looked at."""
        try:
            found: Mapping[str, Any] = jwt.decode(
                token,
                self._key.public_key(),
                algorithms=[_ALGORITHM],
                options={
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                    "verify_aud": False,
                },
            )
        except jwt.PyJWTError:
            return None
        return found
