"""Bundles behind URLs for tests under virtual time: files of a folder, by the URL's last name.

A file `NAME.away` says that the server of NAME does not answer. Who was requested what, and with
which token, is kept in memory of the test: the services of a world come and go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from contracts.reasons import Reason
from services.fusion_backend.adapters.bundles.fetching import Sink, Wanted


@dataclass
class Elsewhere:
    """A fetcher; `asked` are the URLs and tokens that it was asked with."""

    folder: Path
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def fetch(self, wanted: Wanted, bytes_max: int, sink: Sink) -> None:
        """See services.fusion_backend.adapters.bundles.fetching.Fetcher."""
        self.asked.append((wanted.url, wanted.token))
        name = wanted.url.partition("?")[0].rpartition("/")[2]
        if (self.folder / f"{name}.away").exists():
            raise wanted.unreadable("its server does not answer")
        if not (self.folder / name).exists():
            raise wanted.refused(Reason.BUNDLE_MISSING, "is not there")
        await sink((self.folder / name).read_bytes())


_OF_FOLDERS: dict[Path, Elsewhere] = {}


def elsewhere_of(folder: Path) -> Elsewhere:
    """The one of a world's folder: the same for every process of a service."""
    return _OF_FOLDERS.setdefault(folder, Elsewhere(folder / "elsewhere"))
