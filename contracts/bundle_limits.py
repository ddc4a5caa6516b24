"""What a bundle may cost, and the two ways in which one is refused."""

from __future__ import annotations

from dataclasses import dataclass

CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """What a bundle may cost us; everything beyond is refused while streaming, or before.

    `members_max` counts headers of the inner tar, `zip_members_max` members of the container, of
    which an honest one has about six. `record_bytes_max` is for extended headers of the tar.
    """

    compressed_bytes_max: int = 128 * 1024 * 1024
    expanded_bytes_max: int = 512 * 1024 * 1024
    member_bytes_max: int = 256 * 1024 * 1024
    info_bytes_max: int = 4 * 1024 * 1024
    adl_bytes_max: int = 64 * 1024 * 1024
    members_max: int = 50_000
    zip_members_max: int = 1_000
    path_chars_max: int = 4_096
    record_bytes_max: int = 16 * 1024
    expansion_ratio_max: int = 200


class BundleInvalid(ValueError):
    """The file is not a bundle that can be read; `part` is the culprit."""

    def __init__(self, message: str, *, part: str = "") -> None:
        """The message says what is wrong with which part."""
        super().__init__(message)
        self.part = part


class BundleTooLarge(ValueError):
    """The bundle exceeds a limit; `part` is the culprit."""

    def __init__(self, message: str, *, part: str = "") -> None:
        """The message names the limit and its value."""
        super().__init__(message)
        self.part = part


class OutOfMemory(BundleTooLarge):
    """The process has not the memory that reading takes; another might."""


def shown_path(path: str) -> str:
    """A path of a hostile archive as it may stand in a message."""
    return ascii(path[:200])


def check_path(path: str, limits: BundleLimits, *, archive: str) -> None:
    """Refuses what would leave the directory of an extraction (we never extract; others do)."""
    if len(path) > limits.path_chars_max:
        raise BundleInvalid(
            f"a path in the {archive} has {len(path)} characters;"
            f" at most {limits.path_chars_max} are allowed: {shown_path(path)}",
            part=shown_path(path),
        )
    parts = path.replace("\\", "/").split("/")
    drive = len(parts[0]) >= 2 and parts[0][1] == ":"
    if path.startswith(("/", "\\")) or drive or ".." in parts or "\0" in path:
        raise BundleInvalid(
            f"the path {shown_path(path)} in the {archive} leaves its directory",
            part=shown_path(path),
        )
