"""Playing an exchange on one side: the sandbox in process, or an API server over HTTP.

What comes out is a list of outcomes, already masked (masking.py); comparing.py holds two of them
against each other.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from sandbox.cluster import Cluster
from sandbox.http.answers import Answer, WatchAnswer
from sandbox.http.watching import chunks
from services.chassis.kube.http import HttpTransport
from tests.patience import patient
from tests.real.differential.masking import Mask
from tests.real.differential.reading import read
from tests.real.differential.steps import Exchange, Step

Outcomes = list[dict[str, Any]]
UNTIL_TRIES_MAX = int(patient(150))
UNTIL_PERIOD_S = 0.1
_REFERENCE = re.compile(r"\$\{([^}]+)\}")
_HEADERS = ("content-type",)


@dataclass(frozen=True)
class Raw:
    """An answer as it came."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class Side(Protocol):
    """A cluster that can be asked."""

    async def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Raw:
        """One request, with the whole answer; a watch is read to its end."""


class SandboxSide:
    """The sandbox in this process."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Raw:
        """One request."""
        answer = self.cluster.api.answer(method, path, headers, body)
        if isinstance(answer, Answer):
            return Raw(answer.status, answer.body, answer.all_headers())
        assert isinstance(answer, WatchAnswer)
        return Raw(200, b"".join([chunk async for chunk in chunks(answer)]), answer.headers)


class RealSide:
    """A real API server."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport

    async def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Raw:
        """One request."""
        answer = await self._transport.request(method, path, body=body or None, headers=headers)
        return Raw(answer.status, answer.body, answer.headers)


@asynccontextmanager
async def living(cluster: Cluster) -> AsyncIterator[Cluster]:
    """The controllers of a sandbox run inside of the block."""
    task = asyncio.create_task(cluster.run())
    try:
        yield cluster
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def play(side: Side, exchange: Exchange, namespace: str) -> Outcomes:
    """The masked outcomes of the compared steps, in their order."""
    kept: dict[str, Any] = {}
    mask = Mask(exchange.masked, managers=exchange.managers)
    outcomes = []
    for step in exchange.steps:
        raw = await _played(side, step, namespace, kept)
        body = _events(raw.body) if _is_stream(step, raw) else _parsed(raw.body)
        if step.keep:
            kept[step.keep] = body
        if step.compared:
            headers = {name: raw.headers[name] for name in _HEADERS if name in raw.headers}
            outcomes.append(
                {"status": raw.status, "headers": mask.masked(headers), "body": mask.masked(body)}
            )
    return outcomes


async def _played(side: Side, step: Step, namespace: str, kept: Mapping[str, Any]) -> Raw:
    path = _filled(step.path, namespace, kept)
    headers = {"accept": step.accept}
    body = b""
    if step.body is not None:
        headers["content-type"] = step.content_type
        filled = _filled(step.body, namespace, kept)
        body = _encoded(filled)
    for _ in range(UNTIL_TRIES_MAX):
        raw = await side.ask(step.method, path, headers, body)
        if step.until is None or _reached(raw, step.until):
            return raw
        await asyncio.sleep(UNTIL_PERIOD_S)
    return Raw(0, orjson.dumps({"never": str(step.until), "last": _parsed(raw.body)}), {})


def _encoded(body: Any) -> bytes:
    """Bytes and texts are sent as they are."""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else orjson.dumps(body)


def _reached(raw: Raw, until: tuple[str, Any]) -> bool:
    where, wanted = until
    if where == "status":
        return bool(raw.status == wanted)
    found: Any = _parsed(raw.body)
    try:
        return bool(_at(found, where) == wanted)
    except (KeyError, IndexError, TypeError):
        return wanted is None


def _filled(value: Any, namespace: str, kept: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, namespace, kept) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, namespace, kept) for item in value]
    if not isinstance(value, str):
        return value
    if whole := _REFERENCE.fullmatch(value):
        return _kept(kept, whole[1])
    value = _REFERENCE.sub(lambda found: str(_kept(kept, found[1])), value)
    return value.replace("$ns", namespace)


def _kept(kept: Mapping[str, Any], where: str) -> Any:
    """What a reference stands for; a side that never said it shows so in what follows."""
    try:
        return _at(kept, where)
    except (KeyError, IndexError, TypeError):
        return "never-said"


def _at(value: Any, where: str) -> Any:
    for step in where.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _is_stream(step: Step, raw: Raw) -> bool:
    return raw.status == 200 and ("watch=1" in step.path or "/watch/" in step.path)


def _events(body: bytes) -> Any:
    return {"events": [read(line) for line in body.splitlines() if line]}


def _parsed(body: bytes) -> Any:
    """JSON or text."""
    try:
        return read(body)
    except ValueError:
        return body.decode(errors="replace")
