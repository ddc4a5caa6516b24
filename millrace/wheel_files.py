"""Wheels that are put into a bundle: what is in them, and what they need. Nothing is unpacked.

`runtime/wheels.py` checks a wheel against the Python that runs, and makes it importable.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path
from typing import Final

from millrace.errors import PackError

_NAME: Final = re.compile(r"(?P<distribution>\w[\w.]*)-[^-]+(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl")
_METADATA: Final = re.compile(r"[^/]+\.dist-info/METADATA")
_DATA: Final = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_BESIDE: Final = re.compile(r"[^/]+\.(?:dist-info|data)/")
_MODULE: Final = re.compile(r"(?P<top>[^/.]+)(?:/|\.py$|(?:\.[^/]+)?\.(?:so|pyd)$)")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel: its distribution, the modules at its top, and what its metadata says it needs."""

    path: Path
    distribution: str
    modules: frozenset[str]
    requires: tuple[str, ...]


def read_wheels(paths: Iterable[str | Path]) -> tuple[Wheel, ...]:
    """Wheels by the order of their names. Raises PackError for what is no wheel, or there twice."""
    wheels = sorted((_read(Path(each)) for each in paths), key=lambda each: each.path.name)
    known: dict[str, Path] = {}
    for each in wheels:
        first = known.setdefault(each.distribution, each.path)
        if first is not each.path:
            raise PackError(
                f"{first} and {each.path} are both wheels of {each.distribution}: name one of them"
            )
    return tuple(wheels)


def normal(distribution: str) -> str:
    """The name of a distribution, however it is written."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _read(path: Path) -> Wheel:
    if not path.is_file():
        raise PackError(f"{path} is no wheel: there is no such file")
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise PackError(
            f"{path} is no wheel: its name has to be NAME-VERSION-PYTHON-ABI-PLATFORM.whl, "
            "as `pip wheel` gives it"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each.filename for each in archive.infolist() if not each.is_dir()]
            about = next(filter(_METADATA.fullmatch, members), None)
            if about is None:
                raise PackError(f"{path} is no wheel: it has no METADATA in a folder .dist-info")
            requires = message_from_bytes(archive.read(about)).get_all("Requires-Dist") or ()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as problem:
        raise PackError(f"{path} is no wheel, or is damaged: {problem}") from None
    modules = frozenset(filter(None, map(_top_of, members)))
    return Wheel(path, normal(named["distribution"]), modules, tuple(map(str, requires)))


def _top_of(member: str) -> str:
    inside = _DATA.fullmatch(member)
    if inside is None and _BESIDE.match(member):
        return ""
    found = _MODULE.match(inside[1] if inside else member)
    return found["top"] if found else ""
