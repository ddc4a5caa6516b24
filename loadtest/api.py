"""A bare asyncio client of the Kubernetes API: raw JSON, one connection pool, no retries.

It issues the floor's writes and watches the objects of the services. A more capable client would
make the floor slower.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from base64 import b64decode
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
import yaml

from contracts.resources import API_VERSION
from services.chassis.kube.http import cut
from services.roster import NAMES

Obj = dict[str, Any]
STREAMS = f"/apis/{API_VERSION}/namespaces/default"
CORE = "/api/v1/namespaces/default"
JSON = "application/json"
MERGE = "application/merge-patch+json"
CLIENT = "millrace-bench"
CONNECTIONS_MAX = 256
"""A watch holds one connection; tests watch eight kinds of objects for each job."""
LINE_BYTES_MAX = 2**22
"""A watch event is a line; an object has up to 1.5 MiB on the wire."""
_COUNTER = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<value>[0-9.]+)$", re.M)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"})


GATEWAY_TIMEOUT = 504


class Refused(Exception):
    """The API server answered a request of the benchmark with an error."""


class OutOfTime(Refused):
    """A request took longer than an API server gives it: of a collection, a part is left."""


class Api:
    """One connection pool to one API server; `token` and `authority` (PEM) if it needs TLS."""

    def __init__(self, server: str, *, token: str = "", authority: str = "") -> None:
        self.server = server
        self._token = token
        self._authority = authority
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def of(cls, kubeconfig: Path) -> Self:
        """The API server and the user of a kubeconfig with one cluster and one user."""
        config: Obj = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = b64decode(cluster.get("certificate-authority-data", "")).decode()
        return cls(cluster["server"], token=user.get("token", ""), authority=authority)

    async def __aenter__(self) -> Self:
        trust = ssl.create_default_context(cadata=self._authority) if self._authority else True
        headers = {"User-Agent": CLIENT}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX, ssl=trust),
            headers=headers,
            timeout=aiohttp.ClientTimeout(),
            read_bufsize=LINE_BYTES_MAX,
        )
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _problem: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.session.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The open session."""
        if self._session is None:
            raise RuntimeError("use the client as an async context manager")
        return self._session

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = JSON,
        accept: str = JSON,
    ) -> Obj:
        """Send one request; returns the body of the answer. Raises Refused."""
        async with self.session.request(
            method,
            self.server + path,
            data=None if body is None else orjson.dumps(body),
            headers={"Content-Type": content_type, "Accept": accept},
        ) as response:
            answer = await response.read()
            if response.status >= 400:
                kind = OutOfTime if response.status == GATEWAY_TIMEOUT else Refused
                raise kind(f"{method} {path}: {response.status} {answer[:300]!r}")
            return dict(orjson.loads(answer))

    async def watch(self, path: str, resource_version: str) -> AsyncGenerator[Obj, None]:
        """The watch events of a collection after a version. Raises Refused."""
        query = f"{'&' if '?' in path else '?'}watch=1&resourceVersion={resource_version}"
        async with self.session.get(self.server + path + query) as response:
            if response.status >= 400:
                answer = await response.read()
                raise Refused(f"watch {path}: {response.status} {answer[:300]!r}")
            try:
                async for line in response.content:
                    yield orjson.loads(line)
            finally:
                cut(response)

    async def writes(self) -> int:
        """The writes that the API server has counted for our services, Leases excepted."""
        return count_writes(await self.metrics())

    async def metrics(self) -> str:
        """The Prometheus text of the API server."""
        return await self.text("/metrics")

    async def text(self, path: str) -> str:
        """The text at a path, such as metrics or the log of a pod. Raises Refused."""
        async with self.session.get(self.server + path) as response:
            answer = await response.text()
            if response.status >= 400:
                raise Refused(f"GET {path}: {response.status} {answer[:300]!r}")
            return answer


def count_writes(metrics: str) -> int:
    """Writes of our services in Prometheus text, Leases excepted."""
    total = 0.0
    for found in _COUNTER.finditer(metrics):
        names = dict(_LABEL.findall(found["labels"]))
        ours = names.get("client") in NAMES
        if ours and names.get("verb") in _WRITES and names.get("resource") != "leases":
            total += float(found["value"])
    return int(total)


class Follower:
    """A list and watch that keeps the objects of one collection; `changed` wakes a waiter."""

    def __init__(self, api: Api, path: str, changed: asyncio.Condition) -> None:
        self.api = api
        self.path = path
        self.objects: dict[str, Obj] = {}
        self.came_s: dict[str, float] = {}
        """When each object was first seen (monotonic)."""
        self._changed = changed

    async def run(self) -> None:
        """List and watch until cancelled; a server under load ends the watch of a slow client."""
        while True:
            listing = await self.api.call("GET", self.path)
            listed = {obj["metadata"]["name"]: obj for obj in listing["items"]}
            for name in self.objects.keys() - listed.keys():
                self._drop(name)
            for name, obj in listed.items():
                self._keep(name, obj)
            async with self._changed:
                self._changed.notify_all()
            version = listing["metadata"]["resourceVersion"]
            async with aclosing(self.api.watch(self.path, version)) as events:
                async for event in events:
                    self._take(event)
                    async with self._changed:
                        self._changed.notify_all()

    def _take(self, event: Obj) -> None:
        name = event["object"]["metadata"].get("name", "")
        if event["type"] == "DELETED":
            self._drop(name)
        elif event["type"] in ("ADDED", "MODIFIED"):
            self._keep(name, event["object"])

    def _keep(self, name: str, obj: Obj) -> None:
        self.objects[name] = obj
        self.came_s.setdefault(name, time.monotonic())

    def _drop(self, name: str) -> None:
        self.objects.pop(name, None)
        self.came_s.pop(name, None)
