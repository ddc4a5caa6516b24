"""What a refusal of the API server means: a Status, or a proxy's page in its place, as an error."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

from services.chassis.process.errors import (
    AlreadyExists,
    ChassisError,
    Conflict,
    Expired,
    NotAllowed,
    NotFound,
    Rejected,
    Transient,
)

MESSAGE_CHARS_MAX = 500

_AGAIN = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_MEANINGS: Mapping[int, type[Rejected]] = {
    HTTPStatus.UNAUTHORIZED: NotAllowed,
    HTTPStatus.FORBIDDEN: NotAllowed,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.GONE: Expired,
}


def refusal_of_body(code: int, body: bytes, headers: Mapping[str, str]) -> ChassisError:
    """The error that a response with a status >= 400 means; the page of a proxy is a message."""
    try:
        status = orjson.loads(body)
    except orjson.JSONDecodeError:
        status = None
    if not isinstance(status, dict):
        status = {"message": body[:MESSAGE_CHARS_MAX].decode(errors="replace"), "reason": ""}
    return refusal_of(code, status, headers)


def refusal_of(code: int, status: Mapping[str, Any], headers: Mapping[str, str]) -> ChassisError:
    """The error that a Status with a code >= 400 means."""
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    if code in _AGAIN or (code >= 500 and code != HTTPStatus.NOT_IMPLEMENTED):
        # These say that nothing was done; other 5xx may come after the write.
        outcome_unknown = code not in _AGAIN
        header = headers.get("retry-after", "")
        retry_after_s = float(header) if header.isdigit() else None
        return Transient(
            f"{code} {reason}: {message}",
            retry_after_s=retry_after_s,
            outcome_unknown=outcome_unknown,
        )
    if code == HTTPStatus.CONFLICT:
        meaning: type[Rejected] = AlreadyExists if reason == "AlreadyExists" else Conflict
    else:
        meaning = _MEANINGS.get(code, Rejected)
    return meaning(code, reason, message, status)
