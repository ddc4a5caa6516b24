"""HTTP: a source that polls a URL, and a sink that posts each tuple.

It needs `millrace-streams[http]`.

>>> quotes = app.source(http.poll("https://example.com/quotes", Quote, seconds=5))
>>> alerts.sink(http.post("https://example.com/alerts"))

How a request is sent and tried again is in `http_requests.py`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from millrace.adapters.http_requests import (
    RETRIES,
    RETRY_S,
    TIMEOUT_S,
    Client,
    Headers,
    Options,
    RequestRefused,
    shown,
)
from millrace.adapters.json_text import json_of, refusal
from millrace.adapters.kinds import Reader, Writer
from millrace.errors import GraphError
from millrace.parameters import Parameter

__all__ = ("RequestRefused", "poll", "post")

T = TypeVar("T")
Text = str | Parameter[str]
JSON: Final = {"Content-Type": "application/json"}


def poll(
    url: Text,
    type_: type[T],
    *,
    seconds: float | Parameter[float],
    count: int | None = None,
    headers: Headers | None = None,
    retries: int = RETRIES,
    timeout: float = TIMEOUT_S,
    ca: str | None = None,
) -> Reader[T]:
    """Tuples of a URL that is read every so many seconds: a JSON object, or a list of them.

    An empty answer, such as one with status 204, has no tuples. One with another status from 400,
    without such JSON, or after the time-out fails the source; with `on_error="skip"` it is counted,
    and the URL is read again after so many seconds.

    Args:
        url: The URL. Redirects are followed; $HTTP_PROXY, $HTTPS_PROXY and $NO_PROXY count.
        type_: The type of the tuples.
        seconds: How long to wait after an answer.
        count: How many times the URL is read, None without an end.
        headers: Of each request: a mapping, or a function that returns one. It is called when the
            first request is sent, and may read `restricted("token")`. No error shows a header.
        retries: How often a request is tried again: after a connection that fails or a time-out,
            and for statuses 408, 425, 429 and from 500. It waits 1, 2, 4, … s, or as long as
            `Retry-After` says, at most 5 minutes.
        timeout: How long one request may take, in seconds.
        ca: The path of a PEM file of certificates that are trusted; by default those of the system.
    """
    options = _options(headers, timeout, ca, retries)
    arguments = {"url": url, "seconds": seconds, "count": count, "headers": _constant(headers)}
    return Reader("HttpPoll", _Poll(type_, options), type_, arguments)


def post(
    url: Text,
    *,
    headers: Headers | None = None,
    retries: int = RETRIES,
    timeout: float = TIMEOUT_S,
    ca: str | None = None,
) -> Writer[Any]:
    """Posts each tuple as JSON, one after the other. Arguments as of `poll`.

    A request is tried again as one of `poll`. After that, and for other statuses from 400, the
    sink's `on_error` decides. JSON has no NaN and no infinity: a tuple with one is refused.
    """
    options = _options(headers, timeout, ca, retries)
    arguments = {"url": url, "headers": _constant(headers), "retries": retries}
    function = type("Post", (Post,), {"options": options, "__doc__": Post.__doc__})
    return Writer("HttpPost", function, arguments)


def _constant(headers: Headers | None) -> dict[str, str]:
    """What a bundle has of the headers; a function has its code."""
    return {} if headers is None or callable(headers) else dict(headers)


def _options(headers: Headers | None, timeout: float, ca: str | None, retries: int) -> Options:
    """How requests are sent. Raises GraphError."""
    if not isinstance(retries, int) or retries < 0:
        raise GraphError(f"http: retries is {retries!r}: use a whole number from 0")
    if not timeout > 0:
        raise GraphError(f"http: timeout is {timeout!r}: use seconds above 0")
    return Options(headers=headers or {}, retries=retries, retry_s=RETRY_S, timeout=timeout, ca=ca)


class _Poll:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any, options: Options) -> None:
        self._decoder = msgspec.json.Decoder(type_ | list[type_])
        self._options = options

    def __call__(
        self, url: str, seconds: float, count: int | None, headers: Mapping[str, str]
    ) -> AsyncIterator[Any]:
        return _Polling(self._decoder, self._options, url, seconds, count)


class _Polling:
    """The tuples of a URL. No generator: after an answer that fails it can be read on."""

    def __init__(
        self,
        decoder: msgspec.json.Decoder[Any],
        options: Options,
        url: str,
        seconds: float,
        count: int | None,
    ) -> None:
        self._client = Client(options)
        self._decoder = decoder
        self._url = url
        self._seconds = seconds
        self._left = count
        self._found: deque[Any] = deque()
        self._has_read = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._found:
            if self._left == 0:
                raise StopAsyncIteration
            if self._has_read:
                await asyncio.sleep(self._seconds)
            self._has_read = True
            self._left = None if self._left is None else self._left - 1
            self._found.extend(self._tuples(await self._client.body_of("GET", self._url)))
        return self._found.popleft()

    def _tuples(self, body: bytes) -> list[Any]:
        if not body.strip():
            return []
        try:
            found = self._decoder.decode(body)
        except Exception as problem:  # noqa: BLE001 - code of the author may run, too
            raise RequestRefused(f"GET {shown(self._url)}: {refusal(problem)}") from None
        return found if isinstance(found, list) else [found]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


class Post:
    """Posts tuples with one session, which is closed at the end."""

    options = Options()

    def __init__(self, url: str, headers: Mapping[str, str], retries: int) -> None:
        """Nothing is connected before the first tuple."""
        self._url = url
        self._client = Client(self.options, JSON)

    async def __call__(self, item: Any) -> None:
        """Post one tuple. Raises RequestRefused, and ValueError for what JSON does not have."""
        await self._client.body_of("POST", self._url, json_of(item))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
