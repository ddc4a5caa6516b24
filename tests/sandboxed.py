"""The embedded API server in this process, as a transport of the chassis."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

from sandbox.cluster import Cluster
from sandbox.http.in_process import Faults, InProcess
from services.chassis.errors import Transient
from services.chassis.kube import Response, refusal


class SandboxTransport:
    """The sandbox in this process; `faults` says what goes wrong with which request."""

    def __init__(self, cluster: Cluster, faults: Faults | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self._inner = InProcess(
            cluster.api,
            faults=faults,
            lost=Transient,
            refused=lambda answer: refusal(Response(answer.status, answer.body, answer.headers)),
        )

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request."""
        self.asked.append((method, path))
        answer = await self._inner.request(method, path, body=body, headers=headers)
        return Response(answer.status, answer.body, answer.headers)

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch."""
        self.asked.append(("WATCH", path))
        return self._inner.stream(path, headers=headers, silence_s=silence_s)
