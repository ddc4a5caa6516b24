"""Requests of a person to a cluster: patient while the API server is busy, and clear when refused.

Each can be repeated. Server-side apply is fine here, where a person sets a cluster up or installs;
services have no such verb.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from cli.failing import CannotReach, Failure
from services.chassis.kube.port import Response, Transport
from services.chassis.process.errors import Away, Transient

Json = dict[str, Any]

AWAY_S_MAX: Final = 30.0
AGAIN_S: Final = 1.0
FORBIDDEN: Final = (401, 403)
_BUSY: Final = frozenset({429, 502, 503, 504})


async def apply(
    transport: Transport, path: str, document: Json, *, manager: str, what: str = ""
) -> None:
    """Make an object as it should be, or create it; unknown fields are refused, not dropped.

    `manager` owns the fields from then on; `what` names the object in the message of a refusal.
    Raises Failure or CannotReach.
    """
    query = urlencode({"fieldManager": manager, "force": "true", "fieldValidation": "Strict"})
    response = await ask(
        transport, "PATCH", f"{path}?{query}", document, content_type="application/apply-patch+yaml"
    )
    checked(response, f"{what or path} was not applied")


async def ask(
    transport: Transport,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    *,
    content_type: str = "application/json",
) -> Response:
    """The answer, whatever it says; raises CannotReach."""
    headers = {"content-type": content_type, "accept": "application/json"}
    raw = None if body is None else orjson.dumps(body)
    loop = asyncio.get_running_loop()
    until_s = loop.time() + AWAY_S_MAX
    while True:
        try:
            response = await transport.request(method, path, body=raw, headers=headers)
            problem = f"{response.status} {response.body[:300].decode(errors='replace')}"
            if response.status not in _BUSY:
                return response
        except Away as away:
            raise CannotReach(f"the Kubernetes API does not answer: {away}") from None
        except Transient as away:
            problem = str(away)
        if loop.time() > until_s:
            raise CannotReach(f"the Kubernetes API does not answer: {problem}")
        await asyncio.sleep(AGAIN_S)


def checked(response: Response, what: str) -> Response:
    """The response; raises Failure with the server's sentence where it is a refusal."""
    if response.status < 400:
        return response
    try:
        message = str(orjson.loads(response.body).get("message", ""))
    except (orjson.JSONDecodeError, AttributeError):
        message = response.body[:300].decode(errors="replace")
    if response.status in FORBIDDEN:
        raise Failure(
            f"{what}: you lack a right: {message}",
            "An administrator of the cluster (ClusterRole cluster-admin) has to do this.",
        )
    raise Failure(f"{what}: {response.status} {message}")
