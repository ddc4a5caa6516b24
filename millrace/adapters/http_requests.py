"""One request of HTTP, tried again where the server or the way to it is not ready.

1. A connection that fails, a time-out, and the statuses 408, 425, 429 and from 500 are tried again,
   but 501 and 505. Other statuses from 400 are refused at once, as is a certificate.
2. It waits 1, 2, 4, … s, or as long as `Retry-After` says, but never more than `WAIT_S_MAX`.
3. Proxies are those of $HTTP_PROXY, $HTTPS_PROXY and $NO_PROXY, and logins those of ~/.netrc. A
   proxy may have no `http://`, and $NO_PROXY networks and ports, as elsewhere on Kubernetes.
4. No header is in an error: it may have a secret. Neither has a URL its login or query there.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit
from urllib.request import (  # type: ignore[attr-defined]
    getproxies_environment,
    proxy_bypass_environment,
)

from millrace.adapters.certificates import pem_of
from millrace.errors import MillraceError

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

TIMEOUT_S: Final = 30.0
RETRIES: Final = 3
RETRY_S: Final = 1.0
WAIT_S_MAX: Final = 300.0
TEXT_CHARS_MAX: Final = 200
"""How much of a body an error shows."""
BODY_BYTES_MAX: Final = 64 * 1024 * 1024
AGAIN: Final = frozenset({408, 425, 429})
NEVER: Final = frozenset({501, 505})
Headers = Mapping[str, str] | Callable[[], Mapping[str, str]]
"""A function is called when the first request is sent: there secrets of the Job can be read."""


class RequestRefused(MillraceError):
    """A request has no answer, or one that says that it failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How requests are sent. `ca`: a file of certificates that are trusted, in PEM."""

    headers: Headers = field(default_factory=dict, repr=False)
    retries: int = RETRIES
    retry_s: float = RETRY_S
    timeout: float = TIMEOUT_S
    ca: str | None = None


class Client:
    """One session, which begins with the first request and is closed at the end."""

    def __init__(self, options: Options, headers: Mapping[str, str] | None = None) -> None:
        """`headers`: of each request, unless the options have others."""
        self._options = options
        self._headers = dict(headers or {})
        self._opened: ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def body_of(self, method: str, url: str, data: bytes | None = None) -> bytes:
        """The body of an answer below 400. Raises RequestRefused."""
        if self._opened is None:
            self._opened = self._session(url)
        for attempt in range(self._options.retries + 1):
            problem, wait_s = "", min(self._options.retry_s * 2 ** min(attempt, 30), WAIT_S_MAX)
            try:
                async with self._opened.request(method, url, data=data) as answer:
                    if lost := _lost_body(answer, method):
                        problem = lost
                        break
                    if answer.status < 400:
                        return await _body(answer, url)
                    problem = await _refusal(answer)
                    if not is_tried_again(answer.status):
                        break
                    wait_s = waits_s(answer.headers.get("Retry-After"), wait_s, datetime.now(UTC))
            except TimeoutError:
                problem = f"no answer in {self._options.timeout:g} s"
            except _unusable() as failed:
                raise RequestRefused(f"{method}: {_why_unusable(failed, url)}") from None
            except _errors() as failed:
                problem = _worded(failed)
                if _is_final(failed):
                    break
            if attempt < self._options.retries:
                await asyncio.sleep(wait_s)
        raise RequestRefused(f"{method} {shown(url)}: {problem}")

    def _session(self, url: str) -> ClientSession:
        try:
            from aiohttp import ClientSession, ClientTimeout, TCPConnector
        except ImportError:
            raise ImportError(
                "millrace.adapters.http needs aiohttp: install millrace-streams[http]"
            ) from None
        trusted: Any = {}
        if self._options.ca is not None:
            context = ssl.create_default_context(cadata=pem_of(self._options.ca))
            trusted = {"connector": TCPConnector(ssl=context)}
        headers = headers_of(self._options.headers, self._headers)
        timeout = ClientTimeout(total=self._options.timeout)
        return ClientSession(headers=headers, timeout=timeout, **trusted, **way_to(url))


def way_to(url: str) -> dict[str, Any]:
    """The arguments of a session where aiohttp does not read a proxy's variables as others do."""
    proxies = getproxies_environment()
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return {"trust_env": True}  # the request says what is wrong with it
    host, proxy = parts.hostname or "", proxies.get(parts.scheme, "")
    if not proxy or proxy_bypass_environment(host, proxies):
        return {"trust_env": True}
    entries = [each.strip().lower() for each in proxies.get("no", "").split(",")]
    if any(_excepts(each, host, port) for each in entries):
        return {"trust_env": False}
    return {"trust_env": True} | ({} if "://" in proxy else {"proxy": f"http://{proxy}"})


def _excepts(entry: str, host: str, port: int) -> bool:
    """Whether an entry of $NO_PROXY is a network with this host, or this host and port."""
    named, _, of_port = entry.rpartition(":")
    if of_port == str(port) and named.strip("[]"):
        return bool(proxy_bypass_environment(host, {"no": named.strip("[]").removeprefix("*")}))
    try:
        return "/" in entry and ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        return False


def headers_of(given: Headers, usual: Mapping[str, str]) -> dict[str, str]:
    """The headers of each request. A file with a secret often ends with a line break."""
    found = {name: text.strip() for name, text in (given() if callable(given) else given).items()}
    names = {name.lower() for name in found}
    return {name: text for name, text in usual.items() if name.lower() not in names} | found


def is_tried_again(status: int) -> bool:
    """Whether another attempt may have another answer."""
    return status in AGAIN or (status >= 500 and status not in NEVER)


def waits_s(retry_after: str | None, otherwise: float, now: datetime) -> float:
    """How long to wait by `Retry-After`: seconds, or the date of HTTP; never too long."""
    found = otherwise
    text = (retry_after or "").strip()
    if text.isascii() and text.isdigit():
        found = float(text[:9])
    elif text:
        try:
            until = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return min(otherwise, WAIT_S_MAX)
        found = (until if until.tzinfo else until.replace(tzinfo=UTC)).timestamp() - now.timestamp()
    return min(max(found, 0.0), WAIT_S_MAX)


def shown(url: str) -> str:
    """A URL without its login and its query, which may have secrets."""
    parts = urlsplit(url)
    where = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, where, parts.path, "…" if parts.query else "", ""))


def _errors() -> tuple[type[Exception], ...]:
    from aiohttp import ClientConnectionError, ClientPayloadError, ClientResponseError

    return ClientConnectionError, ClientPayloadError, ClientResponseError


def _unusable() -> tuple[type[Exception], ...]:
    """What says that this is not a URL of HTTP; the message is all of it, with its login."""
    from aiohttp import InvalidURL, NonHttpUrlClientError

    return InvalidURL, NonHttpUrlClientError, UnicodeError  # of the name of a host


def _why_unusable(problem: Exception, url: str) -> str:
    from aiohttp import RedirectClientError

    if isinstance(problem, RedirectClientError):
        return f"{shown(url)} redirects to what is no URL of HTTP"
    return (
        "the URL, which may have secrets and is not shown, is not one of HTTP: use http:// or "
        "https:// with a host, and write / and @ of a login as %2F and %40"
    )


def _worded(problem: Exception) -> str:
    """What went wrong; of an answer without its URL, as that of a proxy may have a password."""
    status, message = getattr(problem, "status", 0), getattr(problem, "message", "")
    text = f"status {status} {message}".strip() if status else message or str(problem)
    return f"{type(problem).__name__}: {text}"


def _is_final(problem: Exception) -> bool:
    """A certificate that is not trusted stays so, and a loop of redirects."""
    from aiohttp import ClientConnectorCertificateError, TooManyRedirects

    return isinstance(problem, ClientConnectorCertificateError | TooManyRedirects)


def _lost_body(answer: ClientResponse, method: str) -> str:
    """Where a redirect made a GET of a request with a body: nobody has the tuple then."""
    dropped = [each for each in answer.history if each.status in (301, 302)]
    if method == "GET" or not dropped:
        return ""
    return f"status {dropped[0].status} redirects to {shown(str(answer.url))}: post there"


async def _refusal(answer: ClientResponse) -> str:
    """The status of an answer, and the begin of what it says."""
    text = (await answer.content.read(TEXT_CHARS_MAX)).decode("utf-8", "replace").strip()
    status = f"status {answer.status} {answer.reason or ''}".strip()
    return f"{status}: {' '.join(text.split())}" if text else status


async def _body(answer: ClientResponse, url: str) -> bytes:
    found = bytearray()
    while len(found) <= BODY_BYTES_MAX and (data := await answer.content.readany()):
        found += data
    if len(found) > BODY_BYTES_MAX:
        raise RequestRefused(f"{shown(url)} answers with more than {BODY_BYTES_MAX} bytes")
    return bytes(found)
