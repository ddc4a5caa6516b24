"""The store, in which every bundle stays that was planned, under its SHA-256.

Planning puts a bundle into the store before anything else is written; every later plan of the job
reads it by digest, whatever became of the place that it came from: the bundle root (a directory,
or a store behind HTTP or in S3 that a setting names) or a URL of the Job's spec.

What a namespace fetched from a URL, with which Secret, is remembered beside the bundles, for
`pullPolicy: IfNotPresent`. Another namespace, or another Secret, fetches for itself: having the
name of a private bundle is no right to it. Of those that fetch at the same time each namespace has
its share, and equal fetches are one (`sharing.py`). What is used is marked by the time of its file,
for what is used no more is removed some day (`unused.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, Protocol, TypeVar

import orjson

from contracts.bundle_format import BundleLimits
from contracts.reasons import Reason
from planner.refusals import PlanRefused, shown
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable, Fetcher, Wanted
from services.fusion_backend.adapters.bundles.incoming import FETCHED, Incoming
from services.fusion_backend.adapters.bundles.root import (
    SUFFIX,
    is_whole,
    opened,
    refused,
    unreadable,
)
from services.fusion_backend.adapters.bundles.root_urls import RootUrl
from services.fusion_backend.adapters.bundles.sharing import FairSlots, SharedWork, Work
from services.fusion_backend.core.spec.inputs import BundleSource

__all__ = ["BundleStore", "BundleUnreadable", "Keys"]

T = TypeVar("T")

CHUNK_BYTES: Final = 1024 * 1024
_ALWAYS: Final = "Always"
_BEGINS: Final = b"PK\3\4"
_NOT_WRITABLE: Final = frozenset({errno.EROFS, errno.EPERM, errno.EACCES})


class Keys(Protocol):
    """What fetching needs from the namespace of the job."""

    async def token(self, namespace: str, source: BundleSource) -> str:
        """The token to send, or nothing."""
        ...

    async def certificates(self, namespace: str, source: BundleSource) -> str:
        """Roots to trust, in PEM, or nothing."""
        ...


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How large one bundle may be; how many are fetched at a time, in all and by a namespace."""

    bytes_max: int = BundleLimits().compressed_bytes_max
    fetches_max: int = 16
    fetches_of_namespace_max: int = 4


class BundleStore:
    """Takes bundles in and finds them by digest; `in_threads` keeps the event loop free.

    `root_url` is a store behind URLs that is used instead of the directory `root`; `now` gives
    unix seconds.
    """

    def __init__(
        self,
        *,
        root: Path,
        store: Path,
        fetcher: Fetcher,
        keys: Keys,
        now: Callable[[], float],
        root_url: RootUrl | None = None,
        limits: StoreLimits | None = None,
        in_threads: bool = True,
    ) -> None:
        self._root = root
        self._root_url = root_url
        self._store = store
        self._fetcher = fetcher
        self._keys = keys
        self._limits = limits or StoreLimits()
        self._in_threads = in_threads
        self._now = now
        self._slots = FairSlots(self._limits.fetches_max, self._limits.fetches_of_namespace_max)
        self._fetches: SharedWork[tuple[str, BundleSource], str] = SharedWork()

    async def take_in(self, source: BundleSource, namespace: str = "") -> str:
        """Put the bundle of a job of this namespace into the store; its digest.

        Raises PlanRefused, and BundleUnreadable where it may come later.
        """
        if source.url and source.pull_policy != _ALWAYS:
            present = await self._apart(lambda: self._present(source, namespace))
            if present:
                return present
        return await self._taken_in(source, namespace)

    async def path_of(self, digest: str, source: BundleSource, namespace: str = "") -> Path:
        """The file of a bundle that was taken in; fetched again if it is lost or damaged.

        Raises PlanRefused where neither has a bundle of that digest.
        """
        path = self._path(digest)
        if await self._apart(lambda: self._is_kept(digest, source)):
            return path
        if await self._taken_in(source, namespace) == digest:
            return path
        raise PlanRefused(
            Reason.BUNDLE_MISSING,
            field=source.field,
            value=source.value,
            message=f"{source.field}: the bundle that the job was submitted with (SHA-256 {digest})"
            f" is lost, and {shown(source.value)} is another one now",
        )

    async def has_whole(self, source: BundleSource) -> bool:
        """Whether the directory of the bundle root has a bundle that nobody writes any more."""
        if source.url or self._root_url is not None:
            return False
        return await self._apart(lambda: is_whole(self._root, source, self._now()))

    async def distrust(self, source: BundleSource, namespace: str) -> None:
        """The bundle was invalid: it is fetched again for the next job that names it."""
        if source.url:
            await self._apart(lambda: self._forget(source, namespace))

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._in_threads else work()

    def _path(self, digest: str) -> Path:
        return self._store / f"{digest}{SUFFIX}"

    def _is_kept(self, digest: str, source: BundleSource) -> bool:
        """Whether the store has the bundle as it was taken in. Raises BundleUnreadable.

        It is marked as used before it is looked at: what is marked is not removed. Where nothing
        can be written, nothing is removed either.
        """
        path = self._path(digest)
        try:
            try:
                os.utime(path, (self._now(), self._now()))
            except OSError as problem:
                if problem.errno not in _NOT_WRITABLE:
                    raise
            with path.open("rb") as bundle:
                return hashlib.file_digest(bundle, "sha256").hexdigest() == digest
        except FileNotFoundError:
            return False
        except OSError as problem:
            what = f"{source.field}: {shown(source.value)} cannot be read in the bundle store"
            raise unreadable(what, problem) from problem

    async def _taken_in(self, source: BundleSource, namespace: str) -> str:
        if not source.url and self._root_url is None:
            return await self._apart(lambda: self._copied(source))
        is_present_enough = bool(source.url) and source.pull_policy != _ALWAYS
        name = "" if source.url else source.name
        return await self._fetches.of(
            (namespace, replace(source, name=name, pull_policy="")),
            lambda work: self._fetched(work, source, namespace),
            may_be_begun=is_present_enough,
        )

    async def _fetched(self, work: Work[str], source: BundleSource, namespace: str) -> str:
        async with self._slots.of(namespace):
            work.has_begun = True
            wanted = await self._wanted(source, namespace)
            incoming = await self._apart(lambda: self._incoming(source))
            try:
                await self._fetcher.fetch(
                    wanted,
                    self._limits.bytes_max,
                    lambda piece: self._apart(lambda: self._written(incoming, piece, source)),
                )
                return await self._apart(lambda: self._kept(incoming, source, namespace))
            finally:
                incoming.discard()

    async def _wanted(self, source: BundleSource, namespace: str) -> Wanted:
        if not source.url:
            assert self._root_url is not None, "what has no URL is below one"
            return self._root_url.wanted(source)
        token = await self._keys.token(namespace, source)
        certificates = await self._keys.certificates(namespace, source)
        return Wanted(source, source.url, token=token, certificates=certificates)

    # ------------------------------------------------------------------ files

    def _copied(self, source: BundleSource) -> str:
        with opened(self._root, source) as bundle:
            incoming = self._incoming(source)
            try:
                while chunk := _read(bundle, source):
                    self._written(incoming, chunk, source)
                return self._named(incoming, source)
            finally:
                incoming.discard()

    def _incoming(self, source: BundleSource) -> Incoming:
        try:
            self._store.mkdir(parents=True, exist_ok=True)
            return Incoming(self._store)
        except OSError as problem:
            raise unreadable(_not_copied(source), problem) from problem

    def _written(self, incoming: Incoming, piece: bytes, source: BundleSource) -> None:
        """Write the next bytes. Raises PlanRefused where they become too many."""
        most = self._limits.bytes_max
        if incoming.written_bytes + len(piece) > most:
            raise refused(Reason.BUNDLE_TOO_LARGE, source, f"has more than {most} bytes")
        try:
            incoming.write(piece)
        except OSError as problem:
            raise unreadable(_not_copied(source), problem) from problem

    def _named(self, incoming: Incoming, source: BundleSource) -> str:
        """Have what was written under its digest."""
        try:
            incoming.keep(self._path(incoming.digest), now=self._now())
        except OSError as problem:
            raise unreadable(_not_copied(source), problem) from problem
        return incoming.digest

    def _kept(self, incoming: Incoming, source: BundleSource, namespace: str) -> str:
        if incoming.first_bytes != _BEGINS:
            raise refused(
                Reason.BUNDLE_INVALID, source, "is no bundle: what was fetched is no zip file"
            )
        digest = self._named(incoming, source)
        if source.url:
            try:
                self._remember(source, namespace, digest)
            except OSError as problem:
                raise unreadable(_not_copied(source), problem) from problem
        return digest

    # ------------------------------------------------------------------ what was fetched from where

    def _note(self, source: BundleSource, namespace: str) -> Path:
        """The file that says what this namespace fetched from there, in this way."""
        way = [namespace, source.url, source.secret, source.ca_config_map, source.ca_key]
        return self._store / FETCHED / hashlib.sha256(orjson.dumps(way)).hexdigest()

    def _remember(self, source: BundleSource, namespace: str, digest: str) -> None:
        note = self._note(source, namespace)
        note.parent.mkdir(exist_ok=True)
        written = Incoming(note.parent)
        try:
            written.write(digest.encode())
            written.keep(note, now=self._now())
        finally:
            written.discard()

    def _forget(self, source: BundleSource, namespace: str) -> None:
        # A store that cannot be written to says so to the next who fetches.
        with contextlib.suppress(OSError):
            self._note(source, namespace).unlink(missing_ok=True)

    def _present(self, source: BundleSource, namespace: str) -> str:
        try:
            digest = self._note(source, namespace).read_text("ascii")
        except (OSError, UnicodeDecodeError):
            return ""
        is_digest = len(digest) == 64 and digest.isalnum()
        return digest if is_digest and self._is_kept(digest, source) else ""


def _read(bundle: IO[bytes], source: BundleSource) -> bytes:
    try:
        return bundle.read(CHUNK_BYTES)
    except OSError as problem:
        what = f"{source.field}: {shown(source.value)} cannot be read"
        raise unreadable(what, problem) from problem


def _not_copied(source: BundleSource) -> str:
    return f"{source.field}: {shown(source.value)} cannot be copied into the bundle store"
