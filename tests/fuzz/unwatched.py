"""The same hostile objects as a kind that no service watches: what they cost the API server alone.

A server that decodes, merges and stores 1.4 MB, or 9,000 levels, is slow for everybody for a while.
Rounds of the good job beside such objects are what rounds beside watched ones are held against.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import orjson

from cli.cluster_requests import checked
from services.chassis.kube.http import HttpTransport
from tests.fuzz.objects import Asked
from tests.older_definitions import KEEP
from tests.patience import patient
from tools.real.probing import HEALTHY, until

GROUP = "fuzz.example.com"
PLURAL = "odds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GONE_S_MAX = patient(300.0)
_WHO = re.compile(rb'^\{"apiVersion":"[^"]*","kind":"[^"]*"')
_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "odd", "kind": "Odd", "listKind": "OddList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", KEEP: True}},
            }
        ],
    },
}


def unwatched(made: Asked, namespace: str) -> Asked:
    """The same object, of the kind that nobody watches."""
    body = _WHO.sub(b'{"apiVersion":"%s/v1","kind":"Odd"' % GROUP.encode(), made.body)
    path = f"/apis/{GROUP}/v1/namespaces/{made.namespace or namespace}/{PLURAL}"
    return Asked("POST", path, body, PLURAL, made.name, made.namespace or namespace)


@asynccontextmanager
async def unwatched_kind(transport: HttpTransport) -> AsyncIterator[None]:
    """The kind is served inside of the block; after it all of its objects are gone."""
    whole = f"{DEFINITIONS}/{PLURAL}.{GROUP}"
    headers = {"content-type": "application/json"}
    body = orjson.dumps(_DEFINITION)
    answer = await transport.request("POST", DEFINITIONS, body=body, headers=headers)
    checked(answer, whole)
    try:
        await until(lambda: _unserved(transport), PLURAL, GONE_S_MAX)
        yield
    finally:
        await transport.request("DELETE", whole, body=None, headers={})
        await until(lambda: _left(transport, whole), f"the end of {PLURAL}", GONE_S_MAX)


async def _unserved(transport: HttpTransport) -> str:
    path = f"/apis/{GROUP}/v1/{PLURAL}?limit=1"
    answer = await transport.request("GET", path, body=None, headers={})
    return HEALTHY if answer.status == HTTPStatus.OK else f"{path} answers {answer.status}"


async def _left(transport: HttpTransport, path: str) -> str:
    answer = await transport.request("GET", path, body=None, headers={})
    return HEALTHY if answer.status == HTTPStatus.NOT_FOUND else f"{path} is there"
