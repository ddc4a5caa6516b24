"""The good job on the pair: submitted, resized and deleted, timed, and right each time.

A round is timed as a person sees it: from the request until every pod of the width runs, and until
nothing of the job is left. What strangers made (`storable.NAME_PREFIX`) is not looked at.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson

from services.chassis.kube.http import HttpTransport
from services.chassis.kube.port import METADATA_LIST
from services.chassis.kube.salvaging import read_list
from services.chassis.process.errors import Transient
from tests.fuzz.objects import CORE, STREAMS
from tests.fuzz.storable import NAME_PREFIX
from tests.patience import patient

BUNDLE = "wordcount.sab"
REGION = "Counted"
OUTSIDE = 4
"""Operators of the example that are not in its parallel region."""
WIDTHS = (2, 3)
STEP_S_MAX = patient(120.0)
"""A guard against hanging; how long a step may take is reported by who compares rounds."""
POLL_S = 0.05
MERGE = "application/merge-patch+json"
_CHILDREN = (
    *((STREAMS, plural) for plural in ("streamspes", "streamsprs")),
    *((CORE, plural) for plural in ("pods", "configmaps", "services")),
)


class NotRight(Exception):
    """The good job is not as it should be; the message says what came instead."""


@dataclass(frozen=True, slots=True)
class Round:
    """Seconds of each step."""

    submit_s: float
    resize_s: float
    delete_s: float

    @property
    def took_s(self) -> float:
        """Of all of it."""
        return self.submit_s + self.resize_s + self.delete_s

    def __str__(self) -> str:
        return (
            f"{self.took_s:.1f} s (submit {self.submit_s:.1f}, resize {self.resize_s:.1f},"
            f" delete {self.delete_s:.1f})"
        )


class GoodJob:
    """A job of one namespace; `said_uid` hears the uid of each new one."""

    def __init__(
        self, transport: HttpTransport, namespace: str, said_uid: Callable[[str], None]
    ) -> None:
        self._transport = transport
        self._namespace = namespace
        self._said_uid = said_uid
        self.name = "good"
        self._uid = ""

    async def round(self) -> Round:
        """One life of it. Raises NotRight where a step does not come to its end."""
        began_s = time.monotonic()
        await self._submit()
        await self._until("runs", lambda: self._is_right(WIDTHS[0]))
        submitted_s = time.monotonic()
        await self._resize(WIDTHS[1])
        await self._until("was resized", lambda: self._is_right(WIDTHS[1]))
        resized_s = time.monotonic()
        await self.delete()
        await self._until("is gone", self._is_gone)
        gone_s = time.monotonic()
        return Round(submitted_s - began_s, resized_s - submitted_s, gone_s - resized_s)

    async def delete(self) -> None:
        """Ask for its deletion; one that is not there is fine."""
        await self._ask("DELETE", self._path(STREAMS, "streamsjobs", self.name))

    async def _submit(self) -> None:
        spec = {
            "bundle": {"name": BUNDLE},
            "fusion": {"legacy": True},
            "submissionTimeValues": {"width": str(WIDTHS[0])},
        }
        body = {
            "apiVersion": "streams.ibm.com/v1",
            "kind": "Job",
            "metadata": {"name": self.name},
            "spec": spec,
        }
        made = await self._ask("POST", self._path(STREAMS, "streamsjobs"), body)
        self._uid = str(made["metadata"]["uid"])
        self._said_uid(self._uid)

    async def _resize(self, width: int) -> None:
        path = self._path(STREAMS, "streamsprs", f"{self.name}-0")
        await self._ask("PATCH", path, {"spec": {"width": width}}, MERGE)

    async def _is_right(self, width: int) -> str:
        """Nothing where every PE of that width has its one running pod; else what there is."""
        job = await self._ask("GET", self._path(STREAMS, "streamsjobs", self.name))
        region = await self._ask("GET", self._path(STREAMS, "streamsprs", f"{self.name}-0"))
        phase = (job.get("status") or {}).get("phase")
        in_force = (region.get("status") or {}).get("width")
        if phase != "Submitted" or in_force != width:
            return f"{phase}, width {in_force}: {str(job.get('status'))[:500]}"
        pods = await self._children(CORE, "pods", whole=True)
        running = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"]
        if len(pods) == len(running) == width + OUTSIDE:
            return ""
        return f"{len(running)} of {len(pods)} pods run, and {width + OUTSIDE} should"

    async def _is_gone(self) -> str:
        job = await self._ask("GET", self._path(STREAMS, "streamsjobs", self.name))
        if job.get("metadata", {}).get("uid") == self._uid:
            return "the Job is there"
        for group, plural in _CHILDREN:
            left = await self._children(group, plural)
            if left:
                return f"{len(left)} {plural} are left"
        return ""

    async def _children(
        self, group: str, plural: str, *, whole: bool = False
    ) -> list[dict[str, Any]]:
        path = f"{self._path(group, plural)}?labelSelector=streams.ibm.com%2Fjob-uid%3D{self._uid}"
        headers = {} if whole else {"accept": METADATA_LIST}
        answer = await self._transport.request("GET", path, body=None, headers=headers)
        items, _ = read_list(answer.body)
        return [each for each in items if not each["metadata"]["name"].startswith(NAME_PREFIX)]

    def _path(self, group: str, plural: str, name: str = "") -> str:
        path = f"{group}/namespaces/{self._namespace}/{plural}"
        return f"{path}/{name}" if name else path

    async def _ask(
        self, method: str, path: str, body: Any = None, type_: str = "application/json"
    ) -> Mapping[str, Any]:
        """The answer; nothing where there is no such object. Raises NotRight for other refusals."""
        content = None if body is None else orjson.dumps(body)
        headers = {"content-type": type_}
        answer = await self._transport.request(method, path, body=content, headers=headers)
        if answer.status == HTTPStatus.NOT_FOUND:
            return {}
        if answer.status >= 400:
            raise NotRight(f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        found: Mapping[str, Any] = orjson.loads(answer.body)
        return found

    async def _until(self, what: str, problem: Callable[[], Awaitable[str]]) -> None:
        end_s = time.monotonic() + STEP_S_MAX
        while said := await _patiently(problem):
            if time.monotonic() > end_s:
                raise NotRight(f"not so that the good job {what} in {STEP_S_MAX:g} s: {said}")
            await asyncio.sleep(POLL_S)


async def _patiently(problem: Callable[[], Awaitable[str]]) -> str:
    try:
        return await problem()
    except Transient as away:
        return str(away)
