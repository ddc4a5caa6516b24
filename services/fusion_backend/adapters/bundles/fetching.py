"""Fetches a bundle over HTTP, piece by piece, from where it may be fetched and nowhere else.

1. Resolve the host, and judge every address that it has (`core/spec/addresses.py`).
2. Connect to one of the addresses that were judged: the name is not resolved again, so that it
   cannot have another answer meanwhile. TLS still checks the name.
3. A redirect begins at 1, a bounded number of times, and never from https to http. What goes to
   another origin carries no token.
4. The body is counted while it comes, and everything together has a time limit.

A proxy is never used: what it connects to is not what was judged.

What may pass (a time-out, a server that is busy) is BundleUnreadable and tried again; what does not
is a PlanRefused. Neither repeats the words of a server, and no message has the query of a URL.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final, NoReturn, Protocol

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from contracts.reasons import Reason
from planner.refusals import PlanRefused, shown
from services.chassis.process.errors import Transient
from services.fusion_backend.core.spec.addresses import Network, is_odd_number, why_refused
from services.fusion_backend.core.spec.bundle_urls import shown_url, why_no_url
from services.fusion_backend.core.spec.inputs import BundleSource

Sink = Callable[[bytes], Awaitable[None]]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Sign = Callable[[str], Awaitable[Mapping[str, str]]]
"""The headers that make a request for a URL ours."""

PIECE_BYTES: Final = 256 * 1024
RETRY_AFTER_S_MAX: Final = 300.0
_ACCEPT: Final = "application/vnd.github.v3.raw"
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_AGAIN: Final = frozenset({408, 425, 429})
_ABSENT: Final = frozenset({404, 410})
_CREDENTIALS: Final = frozenset({401, 403, 407})
_NO_SUCH_NAME: Final = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})


class BundleUnreadable(Transient):
    """The bundle, or the place where it is kept, cannot be read or written for now."""

    def __init__(self, what: str, why: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(f"{what}: {why}", outcome_unknown=False, retry_after_s=retry_after_s)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What fetching one bundle may take, in seconds."""

    total_s: float = 120.0
    connect_s: float = 10.0
    silence_s: float = 30.0
    redirects_max: int = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bundle behind a URL. `is_ours`: a setting gave the URL, so that its host is trusted.

    `sign` gives the headers of a request to that host; a URL with it is sent as it is written.
    """

    source: BundleSource
    url: str
    token: str = ""
    certificates: str = ""
    is_ours: bool = False
    sign: Sign | None = None

    @property
    def shown(self) -> str:
        """Field and URL, for messages."""
        return f"{self.source.field}: {shown(shown_url(self.url))}"

    def refused(self, reason: Reason, what: str) -> PlanRefused:
        """A refusal that names field and URL."""
        return PlanRefused(
            reason, field=self.source.field, value=self.source.value, message=f"{self.shown} {what}"
        )

    def unreadable(self, why: str, *, retry_after_s: float | None = None) -> BundleUnreadable:
        """Trouble that may pass."""
        what = f"{self.shown} cannot be fetched"
        return BundleUnreadable(what, why, retry_after_s=retry_after_s)


class Fetcher(Protocol):
    """Fetches, somehow."""

    async def fetch(self, wanted: Wanted, bytes_max: int, sink: Sink) -> None:
        """Give the bundle to the sink, in pieces. Raises PlanRefused and BundleUnreadable."""
        ...


async def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as this machine (or pod) resolves them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class HttpFetcher:
    """Fetches over HTTP; `ca_file` has roots that are trusted beside those of the machine."""

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        allowed: Sequence[Network] = (),
        ca_file: str = "",
        resolve: Resolve = resolve,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._allowed = allowed
        self._ca_file = ca_file
        self._resolve = resolve

    async def fetch(self, wanted: Wanted, bytes_max: int, sink: Sink) -> None:
        """See Fetcher."""
        try:
            async with asyncio.timeout(self._limits.total_s):
                await self._follow(wanted, bytes_max, sink)
        except aiohttp.ClientConnectorCertificateError as problem:
            raise _untrusted(wanted, problem) from problem
        except TimeoutError as problem:
            why = f"it took longer than {self._limits.total_s:g} s, or the server stalled"
            raise wanted.unreadable(why) from problem
        except (aiohttp.ClientError, OSError) as problem:
            raise wanted.unreadable(_in_words(problem)) from problem

    async def _follow(self, wanted: Wanted, bytes_max: int, sink: Sink) -> None:
        context = await asyncio.to_thread(self._context, wanted)
        url = URL(wanted.url, encoded=wanted.sign is not None)
        for hop in range(self._limits.redirects_max + 1):
            is_ours = wanted.is_ours and hop == 0
            addresses = await self._judged(wanted, url, is_ours=is_ours)
            headers = await _headers(wanted, url)
            async with (
                self._session(addresses, context) as session,
                session.get(url, allow_redirects=False, headers=headers) as answer,
            ):
                if answer.status not in _REDIRECTS:
                    await _take(wanted, answer, bytes_max, sink)
                    return
                after = _redirected(wanted, url, answer.headers)
            if after.origin() != url.origin():
                wanted = replace(wanted, token="", sign=None)
            url = after
        most = self._limits.redirects_max
        raise wanted.refused(Reason.BUNDLE_MISSING, f"redirects more than {most} times")

    def _session(self, addresses: Sequence[str], context: ssl.SSLContext) -> aiohttp.ClientSession:
        limits = self._limits
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                resolver=_Judged(addresses), ssl=context, use_dns_cache=False, force_close=True
            ),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=limits.connect_s, sock_read=limits.silence_s
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )

    def _context(self, wanted: Wanted) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self._ca_file:
            context.load_verify_locations(cafile=self._ca_file)
        if wanted.certificates:
            try:
                # PEM is ASCII; what people write beside it may not be.
                pem = wanted.certificates.encode("ascii", "ignore").decode()
                context.load_verify_locations(cadata=pem)
            except (ssl.SSLError, ValueError) as problem:
                raise PlanRefused(
                    Reason.SPEC_INVALID,
                    field=wanted.source.ca_field,
                    value=wanted.source.ca_config_map,
                    message=f"{wanted.source.ca_field}: ConfigMap"
                    f" {wanted.source.ca_config_map} holds no certificate in PEM under the key",
                ) from problem
        return context

    async def _judged(self, wanted: Wanted, url: URL, *, is_ours: bool) -> Sequence[str]:
        """The addresses of a URL's host, if none is refused."""
        host = url.raw_host or ""
        if is_odd_number(host):
            what = f"leads to {shown(host)}, an address in an unusual form"
            raise wanted.refused(Reason.ADDRESS_REFUSED, what)
        try:
            found = await self._addresses(host, url.port or 0)
        except socket.gaierror as problem:
            if problem.errno in _NO_SUCH_NAME:
                what = f"names a host that does not exist ({shown(host)})"
                raise wanted.refused(Reason.BUNDLE_MISSING, what) from problem
            raise wanted.unreadable(f"the DNS lookup of {shown(host)} failed") from problem
        except UnicodeError as problem:
            what = f"names no host ({shown(host)})"
            raise wanted.refused(Reason.SPEC_INVALID, what) from problem
        for address in () if is_ours else found:
            what, network = why_refused(address, self._allowed)
            if what:
                which = f"whose address {address}" if address != host else "which"
                raise wanted.refused(
                    Reason.ADDRESS_REFUSED,
                    f"leads to {shown(host)}, {which} is {what}; an administrator may allow its"
                    f" network (MILLRACE_BUNDLE_ALLOWED_NETWORKS={network})",
                )
        return found

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            return (str(ip_address(host)),)
        except ValueError:
            return await self._resolve(host, port)


class _Judged(AbstractResolver):
    """Answers with the addresses that were judged, whatever the name is now."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """See AbstractResolver."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


async def _headers(wanted: Wanted, url: URL) -> dict[str, str]:
    """What is sent, and who sends it."""
    headers = {"Accept": _ACCEPT, "Accept-Encoding": "identity"}
    if wanted.token:
        headers["Authorization"] = f"token {wanted.token}"
    if wanted.sign is not None:
        headers.update(await wanted.sign(str(url)))
    return headers


def _redirected(wanted: Wanted, url: URL, headers: Mapping[str, str]) -> URL:
    """Where an answer leads. Raises PlanRefused for what is no place to go on."""
    location = headers.get("Location", "")
    try:
        after = url.join(URL(location))
    except ValueError:
        after = URL()
    if not location or why_no_url(str(after)):
        raise wanted.refused(Reason.BUNDLE_MISSING, "redirects to an invalid URL")
    if url.scheme == "https" and after.scheme != "https":
        raise wanted.refused(
            Reason.BUNDLE_UNTRUSTED, f"redirects from https to http ({shown(after.raw_host)})"
        )
    return after


async def _take(wanted: Wanted, answer: aiohttp.ClientResponse, bytes_max: int, sink: Sink) -> None:
    """Give the body to the sink."""
    if answer.status != HTTPStatus.OK:
        _refuse_status(wanted, answer.status, answer.headers)
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise wanted.refused(Reason.BUNDLE_INVALID, "is sent compressed, which was not requested")
    too_large = wanted.refused(Reason.BUNDLE_TOO_LARGE, f"has more than {bytes_max} bytes")
    if (answer.content_length or 0) > bytes_max:
        raise too_large
    taken_bytes = 0
    async for piece in answer.content.iter_chunked(PIECE_BYTES):
        taken_bytes += len(piece)
        if taken_bytes > bytes_max:
            raise too_large
        await sink(piece)


def _refuse_status(wanted: Wanted, status: int, headers: Mapping[str, str]) -> NoReturn:
    """What an answer other than 200 comes to."""
    why = f"its server answers {status}"
    is_rationed = headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers
    if status in _AGAIN or status >= 500 or (status == 403 and is_rationed):
        raise wanted.unreadable(why, retry_after_s=_retry_after_s(headers))
    if status in _CREDENTIALS:
        field = wanted.source.secret_field
        what = f"name a Secret with a token in {field}" if field else "this source takes none"
        if wanted.is_ours:
            what = "they are settings of fusion-backend; S3 also answers so for a missing object"
        raise wanted.refused(
            Reason.BUNDLE_FORBIDDEN, f"is not given: {why}, it needs (other) credentials; {what}"
        )
    hint = "; GitHub also answers so where a token is missing" if wanted.source.is_github else ""
    what = "is not there" if status in _ABSENT else "is not given"
    raise wanted.refused(Reason.BUNDLE_MISSING, f"{what}: {why}{hint}")


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    given = headers.get("Retry-After", "")
    return min(float(given), RETRY_AFTER_S_MAX) if given.isdecimal() else None


def _untrusted(wanted: Wanted, problem: aiohttp.ClientConnectorCertificateError) -> PlanRefused:
    inner = problem.certificate_error
    why = getattr(inner, "verify_message", "") or type(inner).__name__
    return wanted.refused(
        Reason.BUNDLE_UNTRUSTED,
        f"has a server whose certificate is not trusted ({shown(why)}); name the ConfigMap of its"
        f" root in {wanted.source.ca_field}",
    )


def _in_words(problem: Exception) -> str:
    """What went wrong, without what a server sent."""
    inner = getattr(problem, "os_error", problem)
    why = getattr(inner, "strerror", None)
    return str(why) if why else type(problem).__name__
