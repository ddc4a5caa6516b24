"""Requests of PEs to the pe-gateway of a simulated world, without a socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from contracts import labels
from sandbox.http.answers import Answer as SandboxAnswer
from services.pe_gateway.adapters.gateway import Sent
from services.pe_gateway.adapters.redis_serving import Find, ServeBundles
from services.pe_gateway.adapters.stage import Respond, Serve
from services.pe_gateway.core.answers import Answer

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TypeVar("T")
_RESPONDING: dict[Path, list[Respond]] = {}
_FINDING: dict[Path, list[Find]] = {}


def reachable_in(folder: Path) -> Serve:
    """A pe-gateway that is called by the folder of its world."""
    return partial(_serve, folder)


@asynccontextmanager
async def _serve(folder: Path, respond: Respond) -> AsyncIterator[None]:
    async with _kept(_RESPONDING, folder, respond):
        yield


def bundles_given_in(folder: Path) -> ServeBundles:
    """A pe-gateway that gives bundles by the folder of its world."""
    return partial(_kept, _FINDING, folder)


@asynccontextmanager
async def _kept(known: dict[Path, list[T]], folder: Path, one: T) -> AsyncIterator[None]:
    known.setdefault(folder, []).append(one)
    try:
        yield
    finally:
        known[folder].remove(one)
        if not known[folder]:
            del known[folder]


async def ask_for_bundle(world: World, name: str, address: str) -> Answer:
    """The answer to `HGET apps NAME` from an address."""
    return await _FINDING[world.folder][0](name, address)


async def call(
    folder: Path,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    token: str = "",
    query: str = "",
    tag: str = "",
    host: str = "streams-api",
    on_known: Callable[[], object] = str,
) -> Answer:
    """The answer of the instance that started first; `on_known` as in `Sent`."""
    authorization = f"Bearer {token}" if token else ""
    sent = Sent(method, path, body, authorization, host, query, tag, on_known)
    return await _RESPONDING[folder][0](sent)


def token_of(world: World, pod: Mapping[str, Any]) -> str:
    """A token of a pod for pe-gateway, as its kubelet requests it."""
    meta = pod["metadata"]
    ref = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
    spec = {"audiences": ["streams-api"], "expirationSeconds": 3600, "boundObjectRef": ref}
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    headers = {"content-type": "application/json"}
    answer = world.cluster.api.answer("POST", path, headers, json.dumps({"spec": spec}).encode())
    assert isinstance(answer, SandboxAnswer), "a watch answers no POST"
    assert answer.status == HTTPStatus.CREATED, answer.body
    return str(json.loads(answer.body)["status"]["token"])


async def report(world: World, pe: str, connectivity: str, *, pod: Any = None) -> int:
    """Let a PE report its connectivity with the token of its pod; the status code."""
    token = token_of(world, pod or world.live_pods(pe.rpartition("-")[0])[pe])
    job, _, number = pe.rpartition("-")
    path = f"/api/state/job/{job}/pe/{number}/connectivity"
    body = json.dumps(connectivity).encode()
    return (await call(world.folder, "PUT", path, body, token=token)).status


def connectivity_of(world: World, pe: str) -> str:
    """The connectivity in the status of a PE."""
    status = world.objects("streamspes")[pe].get("status") or {}
    return str(status.get("connectivity", ""))


async def report_runtime(world: World, pe: str, body: Mapping[str, Any], *, pod: Any = None) -> int:
    """Let the runtime in a PE report with the token of its pod; the status code."""
    job, _, number = pe.rpartition("-")
    pod = pod or world.live_pods(job)[pe]
    launch = int(pod["metadata"]["labels"][labels.LAUNCH_COUNT])
    sent = json.dumps({"launch": launch, **body}).encode()
    path = f"/api/runtime/job/{job}/pe/{number}"
    return (await call(world.folder, "PUT", path, sent, token=token_of(world, pod))).status


def runtime_of(world: World, pe: str) -> Mapping[str, Any]:
    """What the status of a PE has of its runtime."""
    found: Mapping[str, Any] = (world.objects("streamspes")[pe].get("status") or {}).get(
        "runtime", {}
    )
    return found
