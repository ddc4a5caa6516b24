"""Counts and times what a service asks of the API server, under any transport.

`millrace_api_requests_total{verb,resource,code}` agrees with the API server's own counter for this
client; `millrace_api_request_seconds{verb}` is what a request took from here, queueing included.
Long watches are not counted: they have no end to time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager

from services.chassis.kube.port import Response, Transport
from services.chassis.process.metrics import Metrics

REQUESTS = "millrace_api_requests_total"
REQUEST_SECONDS = "millrace_api_request_seconds"
NO_ANSWER = "none"


class MeasuredTransport:
    """A transport that tells `metrics` of each request; `monotonic` is a clock in seconds."""

    def __init__(
        self, transport: Transport, metrics: Metrics, monotonic: Callable[[], float]
    ) -> None:
        self._transport = transport
        self._metrics = metrics
        self._monotonic = monotonic

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        """One request, counted whether it is answered or not."""
        verb, resource = verb_and_resource(method, path)
        began_s = self._monotonic()
        code = NO_ANSWER
        try:
            response = await self._transport.request(method, path, body=body, headers=headers)
            code = str(response.status)
        finally:
            self._metrics.count(REQUESTS, verb=verb, resource=resource, code=code)
            self._metrics.observe(REQUEST_SECONDS, self._monotonic() - began_s, verb=verb)
        return response

    def stream(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A watch, as it is."""
        return self._transport.stream(path, headers=headers, silence_s=silence_s)


def verb_and_resource(method: str, path: str) -> tuple[str, str]:
    """What a request does and to which resource, with its subresource: no names of objects."""
    parts = path.partition("?")[0].strip("/").split("/")
    parts = parts[3:] if parts[0] == "apis" else parts[2:]
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    resource = "/".join(parts[:1] + parts[2:3])
    is_collection = len(parts) < 2
    verb = "DELETECOLLECTION" if method == "DELETE" and is_collection else method
    return verb, resource
