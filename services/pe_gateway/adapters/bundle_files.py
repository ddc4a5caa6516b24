"""Finds the file of a bundle by its SHA-256: in the store of fusion-backend, or in the bundle root.

The store has every bundle under its digest. A file of the root is one that people may replace, so
it is read before it is given, and again when it changed. Both are only read here.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from pathlib import Path
from typing import Final

SUFFIX: Final = ".sab"
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_KEPT_MAX: Final = 100


class BundleFiles:
    """Bundles below folders of other services, as far as they are reached."""

    def __init__(self, store: Path | None, root: Path | None, *, in_threads: bool = True) -> None:
        self._store = store
        self._root = root
        self._in_threads = in_threads
        self._digests: dict[tuple[str, int, int], str] = {}

    @property
    def places(self) -> str:
        """Where bundles are looked for, for people."""
        store = "MILLRACE_BUNDLE_STORE" if self._store else ""
        root = "MILLRACE_BUNDLE_ROOT" if self._root else ""
        named = " and ".join(each for each in (store, root) if each)
        return named or "no setting names a place (MILLRACE_BUNDLE_STORE, MILLRACE_BUNDLE_ROOT)"

    async def find(self, name: str, digest: str) -> Path | None:
        """The file of a bundle; None where it is not reached."""
        is_reached = self._store is not None or self._root is not None
        if not (is_reached and _DIGEST.fullmatch(digest)):
            return None
        if not self._in_threads:
            return self._find(name, digest)
        return await asyncio.to_thread(self._find, name, digest)

    def _find(self, name: str, digest: str) -> Path | None:
        if self._store is not None and (stored := self._store / f"{digest}{SUFFIX}").is_file():
            return stored
        if self._root is None or not name.endswith(SUFFIX) or "/" in name or name.startswith("."):
            return None
        path = self._root / name
        return path if self._digest_of(path) == digest else None

    def _digest_of(self, path: Path) -> str:
        """The digest of a file; empty where it cannot be read."""
        try:
            about = path.stat()
            key = (str(path), about.st_mtime_ns, about.st_size)
            if key not in self._digests:
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                while len(self._digests) >= _KEPT_MAX:
                    del self._digests[next(iter(self._digests))]
                self._digests[key] = digest
            return self._digests[key]
        except OSError:
            return ""
