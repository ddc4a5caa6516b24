"""What a flood of the real pair stands on: definitions that keep unknown fields, two namespaces.

Both are taken back at the end, also after a failure.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import orjson
import yaml

from cli.cluster_requests import apply, checked
from cli.resources import CRDS
from services.chassis.kube.http import HttpTransport
from tests.fuzz.objects import CORE
from tests.fuzz.rounds import NotRight
from tests.older_definitions import permissive
from tests.patience import patient
from tools.real.preparing import FIELD_MANAGER

ACCOUNT_POLLS_MAX = int(patient(600))
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@asynccontextmanager
async def older_definitions(transport: HttpTransport) -> AsyncIterator[None]:
    """Definitions that keep unknown fields inside of the block, and the true ones after it."""
    true = [yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
    try:
        for each in permissive(true):
            await _define(transport, each)
        yield
    finally:
        for each in true:
            await _define(transport, each)


async def _define(transport: HttpTransport, definition: Mapping[str, Any]) -> None:
    path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
    await apply(transport, path, dict(definition), manager=FIELD_MANAGER)


@asynccontextmanager
async def namespaces(transport: HttpTransport) -> AsyncIterator[tuple[str, str]]:
    """Two namespaces of this run: the good job's and another one."""
    token = uuid.uuid4().hex[:6]
    names = (f"fuzz-{token}-good", f"fuzz-{token}-odd")
    headers = {"content-type": "application/json"}
    try:
        for name in names:
            body = orjson.dumps({"metadata": {"name": name}})
            path = f"{CORE}/namespaces"
            checked(await transport.request("POST", path, body=body, headers=headers), name)
            await _until_account(transport, name)
        yield names
    finally:
        for name in names:
            await transport.request("DELETE", f"{CORE}/namespaces/{name}", body=None, headers={})


async def _until_account(transport: HttpTransport, namespace: str) -> None:
    """Pods are refused before the namespace has its account."""
    path = f"{CORE}/namespaces/{namespace}/serviceaccounts/default"
    for _ in range(ACCOUNT_POLLS_MAX):
        if (await transport.request("GET", path, body=None, headers={})).status == HTTPStatus.OK:
            return
        await asyncio.sleep(0.1)
    raise NotRight(f"namespace {namespace} has no account yet")
