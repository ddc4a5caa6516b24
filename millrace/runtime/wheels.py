"""The wheels of a bundle: checked against this Python and platform, unpacked, and importable.

They are not installed: there is no resolver, no scripts, and no build. A wheel of a bundle wins
over a library of the image with the same name, unless the runtime has imported that already.
"""

from __future__ import annotations

import platform
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millrace.runtime.endings import BundleRefused, Ending, PeFailed
from millrace.runtime.unpacking import LIMITS, Limits, check_path, new_file

if TYPE_CHECKING:  # `packaging` is loaded where a bundle has wheels
    from packaging.tags import Tag

_DATA: Final = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_OTHER_DATA: Final = re.compile(r"[^/]+\.data/")
_METADATA: Final = re.compile(r"[^/]+\.dist-info/METADATA")
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    ValueError,
)


class WheelRefused(PeFailed):
    """A wheel is for another Python or platform, or is damaged; the message names it."""

    ending = Ending.WHEEL_REFUSED


def add_wheels(wheels: Iterable[Path], folder: Path, limits: Limits = LIMITS) -> list[Path]:
    """Unpack wheels below a folder and put them on `sys.path`; returns their folders.

    All are checked before the first one is unpacked. Raises WheelRefused.
    """
    wheels = tuple(wheels)
    if not wheels:
        return []
    from packaging.tags import sys_tags

    here = list(sys_tags())
    for wheel in wheels:
        check_tags(wheel.name, here)
    added = []
    for wheel in wheels:
        target = folder / wheel.stem
        _unpack(wheel, target, limits)
        if str(target) not in sys.path:
            sys.path.insert(0, str(target))
        added.append(target)
    return added


def check_tags(name: str, here: Iterable[Tag]) -> None:
    """Raises WheelRefused if no tag of a wheel's name is one of `here`, from the best.

    The message has the tags of the wheel, and what this Python is.
    """
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        _, _, _, tags = parse_wheel_filename(name)
    except InvalidWheelFilename:
        raise WheelRefused(f"{name[:200]!a} in the bundle is no name of a wheel") from None
    here = list(here)
    if tags.isdisjoint(here):
        shown = ", ".join(sorted(map(str, tags))[:5])
        raise WheelRefused(f"wheel {name} is for {shown}; this is {_this()} ({here[0]})")


def _this() -> str:
    version = ".".join(map(str, sys.version_info[:2]))
    return f"{platform.python_implementation()} {version} on {sys.platform} {platform.machine()}"


def _unpack(wheel: Path, folder: Path, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            _check(archive, wheel.name, limits)
            for member in archive.infolist():
                path = _place(member)
                if path:
                    check_path(path, limits)
                    with new_file(folder / path) as file:
                        file.write(archive.read(member))
    except _DAMAGED as problem:
        raise WheelRefused(f"wheel {wheel.name} is damaged: {problem}") from None
    except BundleRefused as problem:
        raise WheelRefused(f"wheel {wheel.name}: {problem}") from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise WheelRefused(f"wheel {wheel.name} cannot be unpacked to {folder}: {why}") from None


def _check(archive: zipfile.ZipFile, name: str, limits: Limits) -> None:
    members = archive.infolist()
    expanded = sum(member.file_size for member in members)
    largest = max((member.file_size for member in members), default=0)
    if (
        len(members) > limits.members_max
        or expanded > limits.expanded_bytes_max
        or largest > limits.member_bytes_max
    ):
        raise WheelRefused(
            f"wheel {name} has {len(members)} files and {expanded} bytes, which is too much"
        )
    for member in members:
        if _METADATA.fullmatch(member.filename):
            _check_python(archive.read(member), name)


def _check_python(metadata: bytes, name: str) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = re.search(rb"(?m)^Requires-Python:\s*([^\r\n]+)", metadata)
    if found is None:
        return
    try:
        needed = SpecifierSet(found[1].decode("utf-8", "replace"))
    except InvalidSpecifier:
        return
    if not needed.contains(platform.python_version(), prereleases=True):
        raise WheelRefused(f"wheel {name} needs Python {needed}; this is {_this()}")


def _place(member: zipfile.ZipInfo) -> str:
    """Where a file belongs; "" for scripts, headers and other data, and for folders."""
    if member.is_dir():
        return ""
    data = _DATA.fullmatch(member.filename)
    if data is not None:
        return data[1]
    return "" if _OTHER_DATA.match(member.filename) else member.filename
