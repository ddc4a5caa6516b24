"""HTTP: a source that polls a URL, and a sink that posts each tuple. Needs `millrace[http]`.

>>> quotes = app.source(http.poll("https://example.com/quotes", Quote, seconds=5))
>>> alerts.sink(http.post("https://example.com/alerts"))
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from millrace.adapters.kinds import Reader, Writer
from millrace.parameters import Parameter

if TYPE_CHECKING:
    from aiohttp import ClientSession

T = TypeVar("T")
Text = str | Parameter[str]
TIMEOUT_S: Final = 30.0
RETRY_S: Final = 1.0
BODY_BYTES_MAX: Final = 64 * 1024 * 1024


def poll(
    url: Text,
    type_: type[T],
    *,
    seconds: float | Parameter[float],
    count: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reader[T]:
    """Tuples of a URL that is read every so many seconds: a JSON object, or a list of them.

    An answer with a status from 400, without such JSON, or after more than 30 s fails the source;
    with `on_error="skip"` it is counted, and the URL is read again after so many seconds. `count`:
    how many times the URL is read, None without an end.
    """
    arguments = {"url": url, "seconds": seconds, "count": count, "headers": dict(headers or {})}
    return Reader("HttpPoll", _Poll(type_), type_, arguments)


def post(url: Text, *, headers: Mapping[str, str] | None = None, retries: int = 3) -> Writer[Any]:
    """Posts each tuple as JSON, one after the other.

    A connection that fails or a status from 500 is tried again after 1, 2, 4, … s. After that, or
    for a status from 400, the sink's `on_error` decides.
    """
    arguments = {"url": url, "headers": dict(headers or {}), "retries": retries}
    return Writer("HttpPost", Post, arguments)


class _Poll:
    """Reads tuples of one type; the type is no argument, since a bundle holds only constants."""

    def __init__(self, type_: Any) -> None:
        self._decoder = msgspec.json.Decoder(type_ | list[type_])

    def __call__(
        self, url: str, seconds: float, count: int | None, headers: dict[str, str]
    ) -> AsyncIterator[Any]:
        return _Polling(self._decoder, url, seconds, count, headers)


class _Connected:
    """One session, which begins with the first request and is closed at the end."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers
        self._opened: ClientSession | None = None

    @property
    def _session(self) -> ClientSession:
        if self._opened is None:
            self._opened = _session(self._headers)
        return self._opened

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()


class _Polling(_Connected):
    """The tuples of a URL. No generator: after an answer that fails it can be read on."""

    def __init__(
        self,
        decoder: msgspec.json.Decoder[Any],
        url: str,
        seconds: float,
        count: int | None,
        headers: dict[str, str],
    ) -> None:
        super().__init__(headers)
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
            found = self._decoder.decode(await self._read())
            self._found.extend(found if isinstance(found, list) else [found])
        return self._found.popleft()

    async def _read(self) -> bytes:
        async with self._session.get(self._url) as answer:
            answer.raise_for_status()
            body = await answer.content.read(BODY_BYTES_MAX + 1)
            while not answer.content.at_eof() and len(body) <= BODY_BYTES_MAX:
                body += await answer.content.read(BODY_BYTES_MAX + 1 - len(body))
        if len(body) > BODY_BYTES_MAX:
            raise ValueError(f"{self._url} answers with more than {BODY_BYTES_MAX} bytes")
        return body

    aclose = _Connected.close


class Post(_Connected):
    """Posts tuples with one session, which is closed at the end."""

    def __init__(self, url: str, headers: dict[str, str], retries: int) -> None:
        """Nothing is connected before the first tuple."""
        super().__init__({"Content-Type": "application/json", **headers})
        self._url = url
        self._retries = retries

    async def __call__(self, item: Any) -> None:
        """Post one tuple. Raises aiohttp.ClientError or TimeoutError."""
        from aiohttp import ClientConnectionError

        body = msgspec.json.encode(item)
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                async with self._session.post(self._url, data=body) as answer:
                    if answer.status < 500 or is_last:
                        answer.raise_for_status()
                        return
            except (ClientConnectionError, TimeoutError):
                if is_last:
                    raise
            await asyncio.sleep(RETRY_S * 2**attempt)


def _session(headers: Mapping[str, str]) -> ClientSession:
    try:
        from aiohttp import ClientSession, ClientTimeout
    except ImportError:
        raise ImportError("millrace.adapters.http needs aiohttp: install millrace[http]") from None
    return ClientSession(headers=headers, timeout=ClientTimeout(total=TIMEOUT_S))
