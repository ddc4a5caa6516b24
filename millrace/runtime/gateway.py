"""The client of pe-gateway: what a PE sees of its job, its reports, and its bundle.

A lost gateway stops nothing: each request is tried again until it is answered, with pauses that
grow to `PAUSE_S_MAX`, and each cause is logged once. Two answers end something (LaunchOver): 409
means that a newer launch of this PE exists or the PE is deleted, and 410 that the job is.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec
from msgspec.structs import replace

from millrace.protocol import (
    Ended,
    Look,
    Lost,
    Report,
    Sealed,
    Seen,
    Started,
    decoded_seen,
    encoded,
    path_of_bundle,
    path_of_pe,
)
from millrace.runtime.endings import BundleMissing, BundleRefused, LaunchOver
from millrace.runtime.reports import Outgoing
from millrace.runtime.requesting import Answer, Client, Wanted

LOG = logging.getLogger("millrace.runtime.gateway")
REQUEST_S: Final = 1.0
"""The time-out of a plain request, as the original has it."""
WAIT_S: Final = 25
"""How long the gateway keeps a request until something changes; it allows WAIT_S_MAX."""
BUNDLE_S: Final = 60.0
AGAIN_S: Final = 3.0
"""When a report is sent again that is not recorded; the gateway itself waits 2 s."""
PAUSE_S: Final = 0.1
PAUSE_S_MAX: Final = 5.0
ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024
BUNDLE_BYTES_MAX: Final = 128 * 1024 * 1024
SHOWN_CHARS_MAX: Final = 300
_USELESS: Final = frozenset({400, 405, 413, 415, 422})
"""The report itself is refused: the same request gets the same answer, but for 400."""
REFUSED_TRIES: Final = 8
"""How often a report that others wait for is sent to a gateway that answers 400: within 20 s it may
learn of the job. It says the same of a job that it does not know (yet), as the original does."""
_AWAITED: Final = (Started, Sealed, Ended)

Pause = Callable[[float], Awaitable[object]]


class Gateway:
    """The gateway of one launch of a PE. Use it as an async context manager."""

    def __init__(
        self,
        url: str,
        job: str,
        pe: int,
        launch: int,
        token: Path,
        *,
        pause: Pause = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`token`: the file that is read for every request. `chance`: from 0 to 1, for pauses."""
        self._url = url
        self._client = Client(url, connect_s=REQUEST_S)
        self._path, self._bundle_path = path_of_pe(job, pe), path_of_bundle(job)
        self._pe = pe
        self._launch = launch
        self._token = token
        self._pause = pause
        self._chance = chance
        self._outgoing = Outgoing()
        self._has_outgoing, self._all_recorded = asyncio.Event(), asyncio.Event()
        self._refusals = 0
        self.refused: Counter[str] = Counter()
        """Reports that were given up, by their kind."""

    async def __aenter__(self) -> Gateway:
        """Connects to nothing yet."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the connections."""
        await self._client.close()

    # ------------------------------------------------------------------ what is seen

    async def watch(self, peers: Iterable[int] = ()) -> AsyncIterator[Seen]:
        """What the PE sees of its job: now, and again at each change, without an end.

        `peers`: the PEs whose addresses are of interest. Raises LaunchOver.
        """
        look = Look(peers=tuple(peers))
        trying = self._trying("job")
        while True:
            try:
                seen = await self._look(look)
            except _TROUBLES as trouble:
                await trying.failed(trouble)
                continue
            trying.succeeded()
            if seen is None:
                continue
            if seen.launch > self._launch:
                message = f"launch {seen.launch} of this PE exists: {self._launch} is over"
                raise LaunchOver(message, is_late=seen.is_late(self._pe, self._launch))
            look = replace(look, seen=seen.version, wait_s=WAIT_S)
            yield seen

    async def left(self, former: Iterable[int]) -> frozenset[int]:
        """Those of these PEs that the job does not have any more; none if there is no answer."""
        try:
            seen = await self._look(Look(former=tuple(former)))
        except (*_TROUBLES, LaunchOver):
            return frozenset()
        return seen.left if seen is not None else frozenset()

    async def _look(self, look: Look) -> Seen | None:
        """One answer; None if nothing has changed."""
        within_s = look.wait_s + 5 if look.wait_s else REQUEST_S
        wanted = Wanted("GET", f"{self._path}?{look.query}", self._headers())
        async with self._client.request(wanted, within_s=within_s) as answer:
            if answer.status == 304:
                return None
            await self._expect(answer, 200)
            return decoded_seen(await _body(answer, ANSWER_BYTES_MAX))

    # ------------------------------------------------------------------ reports

    def report(self, report: Report) -> None:
        """Send a report as soon as those before it are answered. `deliver` has to run."""
        self._outgoing.add(report)
        self._all_recorded.clear()
        self._has_outgoing.set()

    async def recorded(self, within_s: float | None = None) -> bool:
        """Return true when all that was reported is recorded; false if that takes too long.

        `deliver` has to run.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                return await self._all_recorded.wait()
        return False

    @property
    def reports_waiting(self) -> int:
        """How many reports are not answered yet."""
        return len(self._outgoing)

    async def deliver(self, *, until_empty: bool = False) -> None:
        """Send the reports in their order, each until it is answered. Raises LaunchOver.

        A report that is taken only (202) is sent again until it is recorded (204); what comes after
        it does not wait for that.
        """
        trying = self._trying("reports")
        while True:
            report = self._outgoing.head()
            if report is None:
                if until_empty:
                    return
                await self._next_report()
                continue
            try:
                is_recorded = await self._send(report)
            except _TROUBLES as trouble:
                await trying.failed(trouble)
                continue
            trying.succeeded()
            self._outgoing.answered(is_recorded=is_recorded)
            if not self._outgoing and not self._outgoing.has_taken:
                self._all_recorded.set()

    async def say_goodbye(self) -> None:
        """Deliver what waits. After the end of this launch only what it lost is of interest.

        Raises LaunchOver if not even that is.
        """
        self._outgoing.again()  # what was taken may have been too late for the status
        try:
            await self.deliver(until_empty=True)
        except LaunchOver:
            self._outgoing.keep(Lost)
            await self.deliver(until_empty=True)

    async def _next_report(self) -> None:
        self._has_outgoing.clear()
        try:
            async with asyncio.timeout(AGAIN_S if self._outgoing.has_taken else None):
                await self._has_outgoing.wait()
        except TimeoutError:
            self._outgoing.again()

    async def _send(self, report: Report) -> bool:
        """Send a report once; whether there is no need to send it again."""
        headers = self._headers() | {"Content-Type": "application/json"}
        wanted = Wanted("PUT", self._path, headers, encoded(report, self._launch))
        async with self._client.request(wanted, within_s=REQUEST_S) as answer:
            if answer.status in _USELESS and not self._may_pass(report, answer.status):
                why = await _text_of(answer)
                LOG.error("%s is refused (%d) and given up: %s", report, answer.status, why)
                self.refused[type(report).__name__] += 1
                self._refusals = 0
                return True
            await self._expect(answer, 200, 202, 204)
            self._refusals = 0
            return answer.status != 202

    def _may_pass(self, report: Report, status: int) -> bool:
        """Whether a report that was refused may be taken later."""
        self._refusals += 1
        is_known_later = status == 400 and isinstance(report, _AWAITED)
        return is_known_later and self._refusals < REFUSED_TRIES

    # ------------------------------------------------------------------ the bundle

    async def fetch_bundle(self, path: Path) -> str:
        """Write the bundle of the job to a file; returns its SHA-256 in hex.

        Tries until there is an answer. Raises BundleMissing if the gateway does not have it, and
        BundleRefused if it is too large or cannot be written.
        """
        trying = self._trying("bundle")
        while True:
            try:
                digest, announced = await self._load(path)
            except _TROUBLES as trouble:
                await trying.failed(trouble)
                continue
            if announced and digest != announced:
                await trying.failed(_Trouble(f"sends {digest} where it announces {announced}"))
                continue
            trying.succeeded()
            return digest

    async def _load(self, path: Path) -> tuple[str, str]:
        """The digest of what came, and the one that was announced, "" if none was."""
        wanted = Wanted("GET", self._bundle_path, self._headers())
        async with self._client.request(wanted, within_s=BUNDLE_S) as answer:
            if answer.status == 404:
                raise BundleMissing(f"the bundle of this job is missing: {await _text_of(answer)}")
            await self._expect(answer, 200)
            etag = answer.headers.get("etag", "").removeprefix("W/").strip('"')
            digest = await _written(answer, path)
        return digest, etag.rpartition(":")[2].lower()

    # ------------------------------------------------------------------ all requests

    def _headers(self) -> dict[str, str]:
        """The token is read again each time, since it rotates; without a file there is no token."""
        try:
            token = self._token.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as problem:
            raise _Trouble(f"is not tried: the token cannot be read: {problem}") from None
        return {"Authorization": f"Bearer {token}"} if token else {}

    async def _expect(self, answer: Answer, *statuses: int) -> None:
        if answer.status in (409, 410):
            message = f"launch {self._launch} of this PE is over: {await _text_of(answer)}"
            raise LaunchOver(message, is_job_deleted=answer.status == 410)
        if answer.status not in statuses:
            raise _Trouble(f"answers {answer.status}", await _text_of(answer))

    def _trying(self, what: str) -> _Trying:
        return _Trying(f"{self._url} ({what})", self._pause, self._chance)


class _Trouble(Exception):
    """A request that is tried again. `cause` is logged once, with the details of the first."""

    def __init__(self, cause: str, details: str = "") -> None:
        super().__init__(cause, details)
        self.cause = cause
        self.details = details


_TROUBLES = (_Trouble, TimeoutError, msgspec.MsgspecError, ValueError, OSError)


class _Trying:
    """Pauses between tries of one thing, and logs each cause once until it succeeds."""

    def __init__(self, what: str, pause: Pause, chance: Callable[[], float]) -> None:
        self._what = what
        self._pause = pause
        self._chance = chance
        self._times = 0
        self._causes: set[str] = set()

    async def failed(self, problem: Exception) -> None:
        cause = problem.cause if isinstance(problem, _Trouble) else _cause_of(problem)
        details = problem.details if isinstance(problem, _Trouble) else ""
        if cause not in self._causes:
            self._causes.add(cause)
            shown = f"{cause}: {details}" if details else cause
            LOG.warning("pe-gateway %s %s; it is tried again", self._what, shown)
        longest = min(PAUSE_S_MAX, PAUSE_S * 2 ** min(self._times, 16))
        self._times += 1
        await self._pause(longest * (0.5 + self._chance() / 2))

    def succeeded(self) -> None:
        if self._causes:
            LOG.warning("pe-gateway %s answers again", self._what)
        self._causes.clear()
        self._times = 0


def _cause_of(problem: Exception) -> str:
    if isinstance(problem, msgspec.MsgspecError):
        return f"answers with other JSON than expected: {str(problem)[:SHOWN_CHARS_MAX]}"
    if isinstance(problem, TimeoutError):
        return "does not answer in time"
    return f"cannot be reached: {type(problem).__name__} {str(problem)[:SHOWN_CHARS_MAX]}"


async def _text_of(answer: Answer) -> str:
    """The begin of an answer's text, printable."""
    text = (await answer.begin(4 * SHOWN_CHARS_MAX)).decode("utf-8", "replace")
    return "".join(each if each.isprintable() else " " for each in text[:SHOWN_CHARS_MAX]).strip()


async def _body(answer: Answer, bytes_max: int) -> bytes:
    body = b""
    async for chunk in answer.chunks():
        body += chunk
        if len(body) > bytes_max:
            raise _Trouble(f"answers with more than {bytes_max} bytes")
    return body


async def _written(answer: Answer, path: Path) -> str:
    """Write what comes to a file; its SHA-256."""
    digest, size = hashlib.sha256(), 0
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb")
    with file:
        async for chunk in answer.chunks():
            size += len(chunk)
            if size > BUNDLE_BYTES_MAX:
                raise BundleRefused(f"the bundle has more than {BUNDLE_BYTES_MAX} bytes")
            digest.update(chunk)
            with _writing(path):
                file.write(chunk)
    return digest.hexdigest()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What fails here is the disk, and not the connection."""
    try:
        yield
    except OSError as problem:
        raise BundleRefused(f"{path} cannot be written: {problem.strerror}") from None
