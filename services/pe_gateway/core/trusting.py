"""Who sends a request, and what is believed: a PE about itself only.

A pod proves who it is by the token that its kubelet projects into it. The API server says of a
token whose it is (TokenReview), or its claims do (token_claims.py); which PE that is follows from
facts. Where anonymous requests are
taken, which the image of the original sends, nobody is known: the namespace is that of the host
name by which the service was reached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from contracts.names import is_name
from services.pe_gateway.core.answers import Refused, bad_request
from services.pe_gateway.core.snapshot import Pe, Pod

TOKEN_CHARS_MAX: Final = 16_384
_SCHEME: Final = "bearer "
ACCOUNT: Final = ("system", "serviceaccount")
_POD_NAME: Final = "authentication.kubernetes.io/pod-name"
_POD_UID: Final = "authentication.kubernetes.io/pod-uid"
_TOKEN_PARTS: Final = 3


class TokenOf(NamedTuple):
    """The pod to which a token is bound."""

    namespace: str
    pod: str
    pod_uid: str


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends a request; `pe` is None for an anonymous one, and `launch` is then 0."""

    namespace: str
    pe: Pe | None = None
    launch: int = 0


@dataclass(frozen=True, slots=True)
class Departed:
    """A pod that is being deleted as its PE is, or its job: without `has_job` the job is."""

    namespace: str
    pe: str
    pe_uid: str
    launch: int
    has_job: bool
    job_uid: str = ""


def token_in(authorization: str) -> str:
    """The token of a header; empty without one. Raises Refused where it cannot be a token."""
    if not authorization:
        return ""
    if not authorization.lower().startswith(_SCHEME):
        raise unauthorized("the header Authorization has to be: Bearer TOKEN")
    token = authorization[len(_SCHEME) :].strip()
    is_token = token.isascii() and token.count(".") == _TOKEN_PARTS - 1
    if not is_token or len(token) > TOKEN_CHARS_MAX:
        raise unauthorized("the token is not that of a service account")
    return token


def token_required() -> Refused:
    """The refusal of a request without a token."""
    return unauthorized(
        "a request needs the token of its pod: header Authorization: Bearer TOKEN "
        "(MILLRACE_ANONYMOUS=true takes requests without one)"
    )


def bound_to(status: Mapping[str, Any], audience: str) -> TokenOf:
    """Whose a token is, by the status of its TokenReview. Raises Refused: 401."""
    audiences = status.get("audiences") or ()
    if not status.get("authenticated") or audience not in audiences:
        raise unauthorized(f"the token is not valid, or is not for the audience {audience}")
    user = status.get("user") or {}
    account = str(user.get("username", "")).split(":")
    extra = user.get("extra") or {}
    pod, uid = _only(extra.get(_POD_NAME)), _only(extra.get(_POD_UID))
    if tuple(account[:2]) != ACCOUNT or len(account) != len(ACCOUNT) + 2 or not (pod and uid):
        raise unauthorized("the token is not bound to a pod")
    return TokenOf(account[2], pod, uid)


def _only(values: Sequence[str] | None) -> str:
    return str(values[0]) if values else ""


def sender_of(
    token: TokenOf, pod: Pod | None, pe: Pe | None, *, has_job: bool
) -> Sender | Departed:
    """The PE that sends. Raises Refused: 403 for a pod that is not a live launch of a PE.

    It may be an older launch that has not ended yet, or one that ends with its PE. Where no PE is
    seen, that of a new pod may be seen soon; that of a pod which is being deleted is gone.
    """
    if pod is None or pod.uid != token.pod_uid:
        raise _forbidden(f"pod {token.pod} is not known, or is not of a PE")
    own = pe if pe is not None and pe.uid == pod.pe_uid else None
    if pod.has_ended or not pod.pe_uid:
        raise _forbidden(f"pod {token.pod} is not a live launch of a PE")
    if pod.is_deleting and (own is None or own.is_deleting or not has_job):
        return Departed(token.namespace, pod.pe, pod.pe_uid, pod.launch, has_job, pod.job_uid)
    if own is None:
        raise _forbidden(f"pod {token.pod} is not of a PE that exists")
    return Sender(token.namespace, own, pod.launch)


def require_newest(sender: Sender) -> None:
    """Return if the sender is the newest launch of its PE. Raises Refused: 409."""
    if sender.pe is not None and sender.launch < sender.pe.launch:
        raise _launched_again(sender.pe, sender.launch)


def require_launch(sender: Sender, pe: Pe, launch: int) -> None:
    """Return if a report of a launch is of the newest, by itself. Raises Refused: 409, or 403."""
    if launch < pe.launch:
        raise _launched_again(pe, launch)
    if sender.pe is not None and launch != sender.launch:
        raise _forbidden(f"launch {sender.launch} of {pe.name} may not speak for launch {launch}")


def is_former(sender: Sender, pe: Pe, launch: int) -> bool:
    """Whether a launch that has a successor, and whose pod has not ended, speaks for itself."""
    return sender.pe is not None and sender.launch == launch < pe.launch


def anonymous_sender(host: str, namespaces: Sequence[str]) -> Sender:
    """The namespace of a request without a token: that of the host name. Raises Refused: 400."""
    parts = host.rsplit(":", 1)[0].split(".")
    named = parts[1] if len(parts) > 1 and is_name(parts[1]) and not parts[1].isdecimal() else ""
    if not named and len(namespaces) == 1:
        return Sender(namespaces[0])
    if not named or (namespaces and named not in namespaces):
        raise bad_request(
            f"host {host[:80]!r} names no namespace of ours: use http://streams-api.NAMESPACE:10000"
        )
    return Sender(named)


def require_own(sender: Sender, pe: Pe) -> None:
    """Return if the sender may speak for a PE. Raises Refused: 403."""
    if sender.pe is not None and sender.pe.uid != pe.uid:
        raise _forbidden(f"{sender.pe.name} may not speak for {pe.name}")


def over(sender: Departed) -> Refused:
    """The refusal of a launch whose PE is deleted: 409, or 410 if its job is deleted as well."""
    what = sender.pe if sender.has_job else f"the job of {sender.pe}"
    status = HTTPStatus.CONFLICT if sender.has_job else HTTPStatus.GONE
    return Refused(status, f"{what} is deleted, and launch {sender.launch} ends")


def require_own_job(sender: Sender, job: str) -> None:
    """Return if the sender may change a job. Raises Refused: 403."""
    if sender.pe is not None and sender.pe.job != job:
        raise _forbidden(f"{sender.pe.name} may not change job {job}")


def _launched_again(pe: Pe, launch: int) -> Refused:
    text = f"launch {launch} is not the newest one of {pe.name}, which is {pe.launch}"
    return Refused(HTTPStatus.CONFLICT, text)


def unauthorized(message: str) -> Refused:
    """The refusal of a token, or of a request without one: 401."""
    return Refused(HTTPStatus.UNAUTHORIZED, message)


def _forbidden(message: str) -> Refused:
    return Refused(HTTPStatus.FORBIDDEN, message)
