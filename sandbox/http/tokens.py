"""Tokens of service accounts that are bound to pods: TokenRequest and TokenReview.

A token is signed with a key of this process. It ends with its time, with its pod and with its
account. Nobody needs one here: who asks may do everything.
"""

from __future__ import annotations

import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from sandbox.http.answers import Answer, json_answer
from sandbox.http.requests import Call
from sandbox.http.routing import no_such_method
from sandbox.store.errors import ApiError, bad_request, conflict, invalid, invalid_value
from sandbox.store.resources import POD, SERVICE_ACCOUNT
from sandbox.store.store import Store

API_AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
SECONDS_MIN: Final = 600
SECONDS: Final = 3600
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}
_PARTS: Final = 3


class Tokens:
    """Issues tokens, and says whose a token is."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._key = secrets.token_bytes(32)

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
        claims = {"ns": namespace, "account": account, "uid": uid, "aud": audiences}
        return self._signed({**claims, "exp": ends_s, "pod": pod})

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
        namespace, pod = claims["ns"], claims["pod"]
        extra = {
            f"authentication.kubernetes.io/pod-{name}": [value]
            for name, value in zip(("name", "uid"), pod, strict=False)
        }
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
        user = {
            "username": f"system:serviceaccount:{namespace}:{claims['account']}",
            "uid": claims["uid"],
            "groups": [*groups, "system:authenticated"],
            "extra": extra,
        }
        return {"authenticated": True, "user": user, "audiences": shared}

    def _is_bound(self, claims: Mapping[str, Any]) -> bool:
        """Whether the account and the pod of a token exist."""
        bound = [(SERVICE_ACCOUNT, claims["account"], claims["uid"])]
        bound += [(POD, *claims["pod"])] if claims["pod"] else []
        try:
            return all(
                self._store.get(rt, claims["ns"], name)["metadata"]["uid"] == uid
                for rt, name, uid in bound
            )
        except ApiError:
            return False

    def _signed(self, claims: Mapping[str, Any]) -> str:
        parts = [_encoded(json.dumps(each).encode()) for each in (_HEADER, claims)]
        return ".".join([*parts, self._signature(parts)])

    def _signature(self, parts: Sequence[str]) -> str:
        return _encoded(hmac.digest(self._key, ".".join(parts).encode(), sha256))

    def _claims(self, token: str) -> Mapping[str, Any] | None:
        """What a token says, if it is ours."""
        parts = token.split(".")
        if len(parts) != _PARTS or not token.isascii():
            return None
        if not hmac.compare_digest(parts[2], self._signature(parts[:2])):
            return None
        claims: Mapping[str, Any] = json.loads(urlsafe_b64decode(parts[1] + "=="))
        return claims


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
