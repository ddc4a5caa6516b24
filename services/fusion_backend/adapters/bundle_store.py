"""The bundle root, from which people's bundles come, and the store, in which they stay.

Planning copies a bundle into the store under its SHA-256 before anything else is written; every
later plan of the job reads it by digest, whatever became of the file in the root. A Job's spec
names no file of ours but below the root: no absolute path, no `..`, no link that leads out.
What a bundle contains is not looked at here.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

from contracts.bundle_format import BundleLimits
from contracts.reasons import Reason
from services.chassis.errors import Transient
from services.fusion_backend.core.inputs import BundleSource
from services.fusion_backend.core.refusals import PlanRefused, shown

T = TypeVar("T")

CHUNK_BYTES = 1024 * 1024
HINTS_MAX = 8
HINT_ENTRIES_MAX = 1_000
SUFFIX = ".sab"
_NEVER_A_BUNDLE = frozenset({errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG})
"""What a name is answered with that no waiting makes a bundle of."""


class BundleUnreadable(Transient):
    """The bundle, or the place where it is kept, cannot be read or written for now."""

    def __init__(self, what: str, problem: OSError) -> None:
        told = problem.strerror or type(problem).__name__
        super().__init__(f"{what}: {told}", outcome_unknown=False)


class BundleStore:
    """Takes bundles in and finds them by digest; `in_threads` keeps the event loop free."""

    def __init__(
        self,
        *,
        root: Path,
        store: Path,
        limits: BundleLimits | None = None,
        in_threads: bool = True,
    ) -> None:
        self._root = root
        self._store = store
        self._bytes_max = (limits or BundleLimits()).compressed_bytes_max
        self._in_threads = in_threads

    async def take_in(self, source: BundleSource) -> str:
        """Copy a bundle of the root into the store; its digest.

        Raises PlanRefused, and BundleUnreadable where it may come later.
        """
        return await self._apart(lambda: self._take_in(source))

    async def path_of(self, digest: str, source: BundleSource) -> Path:
        """The file of a bundle that was taken in; fetched again from the root if it is lost.

        Raises PlanRefused where neither has a bundle of that digest.
        """
        path = self._path(digest)
        if path.is_file():
            return path
        if await self.take_in(source) == digest:
            return path
        raise PlanRefused(
            Reason.BUNDLE_MISSING,
            field=source.field,
            value=source.value,
            message=f"{source.field}: the bundle that the job was submitted with (SHA-256 {digest})"
            f" is lost, and {shown(source.value)} is another one now",
        )

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._in_threads else work()

    def _path(self, digest: str) -> Path:
        return self._store / f"{digest}{SUFFIX}"

    def _take_in(self, source: BundleSource) -> str:
        try:
            return self._copied_in(source)
        except OSError as problem:
            what = f"{source.field}: {shown(source.value)} cannot be copied into the bundle store"
            raise BundleUnreadable(what, problem) from problem

    def _copied_in(self, source: BundleSource) -> str:
        with _opened(self._resolved(source), source) as bundle:
            self._store.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._store, delete=False) as copy:
                try:
                    digest = self._copied(bundle, copy, source)
                    copy.flush()
                    os.fsync(copy.fileno())
                    os.replace(copy.name, self._path(digest))
                except BaseException:
                    Path(copy.name).unlink(missing_ok=True)
                    raise
        return digest

    def _copied(self, bundle: IO[bytes], copy: IO[bytes], source: BundleSource) -> str:
        """Copy, hashing and counting; the digest."""
        digest, copied_bytes = hashlib.sha256(), 0
        while chunk := bundle.read(CHUNK_BYTES):
            copied_bytes += len(chunk)
            if copied_bytes > self._bytes_max:
                raise _refused(
                    Reason.BUNDLE_TOO_LARGE, source, f"has more than {self._bytes_max} bytes"
                )
            digest.update(chunk)
            copy.write(chunk)
        return digest.hexdigest()

    def _resolved(self, source: BundleSource) -> Path:
        """The real path of the bundle, which lies below the real root. Raises PlanRefused."""
        asked = PurePosixPath(source.value)
        is_plain_name = source.path or len(asked.parts) == 1
        if asked.is_absolute() or ".." in asked.parts or "\0" in source.value or not is_plain_name:
            raise _refused(Reason.SPEC_INVALID, source, "does not lie in the bundle root")
        root = self._root.resolve()
        try:
            real = (root / asked).resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError, RuntimeError) as error:
            raise self._missing(source) from error
        except OSError as error:
            if error.errno in _NEVER_A_BUNDLE:
                raise self._missing(source) from error
            what = f"{source.field}: {shown(source.value)} cannot be read"
            raise BundleUnreadable(what, error) from error
        if not real.is_relative_to(root):
            raise _refused(Reason.SPEC_INVALID, source, "leads out of the bundle root")
        return real

    def _missing(self, source: BundleSource) -> PlanRefused:
        names = _names(self._root)
        there = ", ".join(names[:HINTS_MAX]) or "no bundle"
        more = ", …" if len(names) > HINTS_MAX else ""
        return _refused(
            Reason.BUNDLE_MISSING, source, f"is not in the bundle root, which has {there}{more}"
        )


def _names(root: Path) -> list[str]:
    """Some bundles of the root, for a hint."""
    names: list[str] = []
    try:
        with os.scandir(root) as entries:
            for number, entry in enumerate(entries):
                if number >= HINT_ENTRIES_MAX:
                    break
                if entry.name.endswith(SUFFIX):
                    names.append(entry.name)
    except OSError:
        return []
    return sorted(names)


def _opened(path: Path, source: BundleSource) -> IO[bytes]:
    """The bundle, open for reading. Raises PlanRefused."""
    try:
        # Without O_NONBLOCK a pipe in the root would hold us for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in _NEVER_A_BUNDLE:
            what = f"{source.field}: {shown(source.value)} cannot be read"
            raise BundleUnreadable(what, error) from error
        told = error.strerror or "unknown error"
        raise _refused(Reason.BUNDLE_INVALID, source, f"cannot be read: {told}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refused(Reason.BUNDLE_INVALID, source, "is not a regular file")
    return os.fdopen(descriptor, "rb")


def _refused(reason: Reason, source: BundleSource, what: str) -> PlanRefused:
    return PlanRefused(
        reason,
        field=source.field,
        value=source.value,
        message=f"{source.field}: {shown(source.value)} {what}",
    )
