"""The store, in which every bundle stays that was planned, under its SHA-256.

Planning puts a bundle into the store before anything else is written; every later plan of the job
reads it by digest, whatever became of the place that it came from: the bundle root (a directory,
or a store behind HTTP that a setting names) or a URL of the Job's spec.

What a namespace fetched from a URL, with which Secret, is remembered beside the bundles, for
`pullPolicy: IfNotPresent`. Another namespace, or another Secret, fetches for itself: having the
name of a private bundle is no right to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, Protocol, TypeVar

import orjson

from contracts.bundle_format import BundleLimits
from contracts.reasons import Reason
from services.fusion_backend.adapters.bundle_root import (
    SUFFIX,
    opened,
    refused,
    unreadable,
    url_below,
)
from services.fusion_backend.adapters.fetching import BundleUnreadable, Fetcher, Wanted
from services.fusion_backend.core.inputs import BundleSource
from services.fusion_backend.core.refusals import PlanRefused, shown

__all__ = ["BundleStore", "BundleUnreadable", "Keys"]

T = TypeVar("T")

CHUNK_BYTES: Final = 1024 * 1024
FETCHED: Final = "fetched"
"""The folder of what was fetched from where."""
_ALWAYS: Final = "Always"
_BEGINS: Final = b"PK\3\4"


class Keys(Protocol):
    """What fetching needs from the namespace of the job."""

    async def token(self, namespace: str, source: BundleSource) -> str:
        """The token to send, or nothing."""
        ...

    async def certificates(self, namespace: str, source: BundleSource) -> str:
        """Roots to trust, in PEM, or nothing."""
        ...


class BundleStore:
    """Takes bundles in and finds them by digest; `in_threads` keeps the event loop free.

    `root_url` is a store behind HTTP that is asked instead of the directory `root`.
    """

    def __init__(
        self,
        *,
        root: Path,
        store: Path,
        fetcher: Fetcher,
        keys: Keys,
        root_url: str = "",
        limits: BundleLimits | None = None,
        in_threads: bool = True,
    ) -> None:
        self._root = root
        self._root_url = root_url
        self._store = store
        self._fetcher = fetcher
        self._keys = keys
        self._bytes_max = (limits or BundleLimits()).compressed_bytes_max
        self._in_threads = in_threads

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

    async def distrust(self, source: BundleSource, namespace: str) -> None:
        """What came from there was no good bundle: it is fetched again for whoever asks next."""
        if source.url:
            await self._apart(lambda: self._forget(source, namespace))

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._in_threads else work()

    def _path(self, digest: str) -> Path:
        return self._store / f"{digest}{SUFFIX}"

    def _is_kept(self, digest: str, source: BundleSource) -> bool:
        """Whether the store has the bundle as it was taken in. Raises BundleUnreadable."""
        try:
            with self._path(digest).open("rb") as bundle:
                return hashlib.file_digest(bundle, "sha256").hexdigest() == digest
        except FileNotFoundError:
            return False
        except OSError as problem:
            what = f"{source.field}: {shown(source.value)} cannot be read in the bundle store"
            raise unreadable(what, problem) from problem

    async def _taken_in(self, source: BundleSource, namespace: str) -> str:
        if not source.url and not self._root_url:
            return await self._apart(lambda: self._copied(source))
        incoming = await self._apart(lambda: self._incoming(source))
        try:
            wanted = await self._wanted(source, namespace)
            await self._fetcher.fetch(
                wanted, self._bytes_max, lambda piece: self._apart(lambda: incoming.write(piece))
            )
            return await self._apart(lambda: self._kept(incoming, source, namespace))
        finally:
            incoming.discard()

    async def _wanted(self, source: BundleSource, namespace: str) -> Wanted:
        if not source.url:
            return Wanted(source, url_below(self._root_url, source), is_ours=True)
        token = await self._keys.token(namespace, source)
        certificates = await self._keys.certificates(namespace, source)
        return Wanted(source, source.url, token=token, certificates=certificates)

    # ------------------------------------------------------------------ files

    def _copied(self, source: BundleSource) -> str:
        with opened(self._root, source) as bundle:
            incoming = self._incoming(source)
            try:
                while chunk := bundle.read(CHUNK_BYTES):
                    incoming.write(chunk)
                return incoming.keep(self._path)
            except OSError as problem:
                raise unreadable(_not_copied(source), problem) from problem
            finally:
                incoming.discard()

    def _incoming(self, source: BundleSource) -> _Incoming:
        try:
            self._store.mkdir(parents=True, exist_ok=True)
            return _Incoming(self._store, source, self._bytes_max)
        except OSError as problem:
            raise unreadable(_not_copied(source), problem) from problem

    def _kept(self, incoming: _Incoming, source: BundleSource, namespace: str) -> str:
        if incoming.first_bytes != _BEGINS:
            raise refused(
                Reason.BUNDLE_INVALID, source, "is no bundle: what was fetched is no zip file"
            )
        try:
            digest = incoming.keep(self._path)
            if source.url:
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
        with tempfile.NamedTemporaryFile(dir=note.parent, delete=False) as written:
            written.write(digest.encode())
        os.replace(written.name, note)

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


def _not_copied(source: BundleSource) -> str:
    return f"{source.field}: {shown(source.value)} cannot be copied into the bundle store"


class _Incoming:
    """A bundle that is being written into the store, counted and hashed."""

    def __init__(self, store: Path, source: BundleSource, bytes_max: int) -> None:
        self._file: IO[bytes] = tempfile.NamedTemporaryFile(dir=store, delete=False)  # noqa: SIM115 - closed by keep and discard
        self._source = source
        self._bytes_max = bytes_max
        self._bytes = 0
        self._digest = hashlib.sha256()
        self.first_bytes = b""

    def write(self, chunk: bytes) -> None:
        """The next bytes. Raises PlanRefused where they become too many."""
        self._bytes += len(chunk)
        if self._bytes > self._bytes_max:
            raise refused(
                Reason.BUNDLE_TOO_LARGE, self._source, f"has more than {self._bytes_max} bytes"
            )
        self.first_bytes = (self.first_bytes + chunk[: len(_BEGINS)])[: len(_BEGINS)]
        self._digest.update(chunk)
        self._file.write(chunk)

    def keep(self, path_of: Callable[[str], Path]) -> str:
        """Have the file under its digest."""
        digest = self._digest.hexdigest()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._file.name, path_of(digest))
        return digest

    def discard(self) -> None:
        """Leave nothing of what was not kept."""
        self._file.close()
        Path(self._file.name).unlink(missing_ok=True)
