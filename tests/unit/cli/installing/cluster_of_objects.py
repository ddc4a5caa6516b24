"""An API server for installations: it keeps objects, and plays Jobs and Deployments by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from services.chassis.kube.port import Response

Json = dict[str, Any]


class ClusterOfObjects:
    """A transport; `pods` are what it lists, `refuses` paths that it forbids, `lacks` a kind."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.pods: list[Json] = []
        self.log = b""
        self.refuses = ""
        self.lacks = ""
        self.jobs_end = "Complete"
        self.is_ready = True
        self.applied: list[str] = []
        self.writes_left: int | None = None

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request; after `writes_left` writes it raises, as a crash would end the command."""
        where, query = urlsplit(path).path, parse_qs(urlsplit(path).query)
        if where.endswith("selfsubjectaccessreviews"):
            return _answer(201, {"status": {"allowed": True}})
        if method in ("PATCH", "DELETE"):
            self._count()
        if self.refuses and self.refuses in where and method == "PATCH":
            return _answer(403, {"message": f"{where} is forbidden"})
        if self.lacks and self.lacks in where:
            return _missing(where)
        match method:
            case "PATCH":
                assert query["fieldValidation"] == ["Strict"]
                self._apply(where, orjson.loads(body or b"{}"))
                return _answer(200, self.objects[where])
            case "DELETE":
                found = self.objects.pop(where, None)
                return _answer(200, found) if found is not None else _missing(where)
        return self._get(where, query)

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError("an installation watches nothing")

    def names(self, kind: str) -> set[str]:
        """The names of all objects of a kind."""
        return {each["metadata"]["name"] for each in self.objects.values() if each["kind"] == kind}

    def _count(self) -> None:
        if self.writes_left is not None:
            if not self.writes_left:
                raise KeyboardInterrupt
            self.writes_left -= 1

    def _apply(self, where: str, body: Json) -> None:
        self.objects[where] = body
        self.applied.append(f"{body['kind']}/{body['metadata']['name']}")
        if body["kind"] == "Job":
            body["status"] = {"conditions": [{"type": self.jobs_end, "status": "True"}]}
        if body["kind"] in ("Deployment", "StatefulSet"):
            count = body["spec"]["replicas"] if self.is_ready else 0
            counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), count)
            body["status"] = {"observedGeneration": 1, **counts}

    def _get(self, where: str, query: Mapping[str, list[str]]) -> Response:
        if where.endswith("/log"):
            return Response(200, self.log, {})
        if where.endswith("/pods"):
            return _answer(200, {"items": self.pods})
        if "labelSelector" in query:
            inside = [each for path, each in self.objects.items() if path.startswith(f"{where}/")]
            return _answer(200, {"items": inside})
        if "limit" in query:
            return _answer(200, {"items": []})
        found = self.objects.get(where)
        return _answer(200, found) if found is not None else _missing(where)


def _answer(status: int, body: Json) -> Response:
    return Response(status, orjson.dumps(body), {})


def _missing(where: str) -> Response:
    return _answer(404, {"message": f"{where} not found"})
