"""Writes the files of an archive that nobody trusts: within limits, and inside of one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from millrace.runtime.endings import BundleRefused

CHUNK_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What a bundle may cost, as in contracts/bundle_limits.py."""

    compressed_bytes_max: int = 128 * 1024 * 1024
    expanded_bytes_max: int = 512 * 1024 * 1024
    member_bytes_max: int = 256 * 1024 * 1024
    info_bytes_max: int = 4 * 1024 * 1024
    members_max: int = 50_000
    zip_members_max: int = 1_000
    path_chars_max: int = 4_096
    expansion_ratio_max: int = 200


LIMITS: Final = Limits()


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that did not exist, in a folder that is made. Raises BundleRefused if it does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError:
        raise BundleRefused(f"{in_ascii(path.name)} is in the bundle twice") from None
    with os.fdopen(number, "wb") as file:
        yield file


def check_path(path: str, limits: Limits = LIMITS) -> None:
    """Refuse a path that would leave the folder. Raises BundleRefused."""
    parts = path.replace("\\", "/").split("/")
    has_drive = len(parts[0]) >= 2 and parts[0][1] == ":"
    if len(path) > limits.path_chars_max:
        raise BundleRefused(
            f"a path has {len(path)} characters; at most {limits.path_chars_max} are allowed: "
            f"{in_ascii(path)}"
        )
    if not path or path.startswith(("/", "\\")) or has_drive or ".." in parts or "\0" in path:
        raise BundleRefused(f"the path {in_ascii(path)} leaves the folder of the bundle")


def in_ascii(path: str) -> str:
    """A text of a hostile archive, as it may be in a message."""
    return ascii(path[:200])
