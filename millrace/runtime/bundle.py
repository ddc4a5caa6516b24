"""A bundle in a PE: unpacked into a folder, its wheels made importable, its application loaded.

fusion-backend has opened the bundle before (contracts/bundle_format.py), with the same limits. Here
they hold again, since a bundle may have been replaced in between: nothing is written outside of the
folder, links are not made, and what was written twice is refused.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast
from xml.etree import ElementTree

from millrace.app import App
from millrace.errors import LoadError
from millrace.loading import load_module
from millrace.runtime.endings import BundleRefused
from millrace.runtime.unpacking import CHUNK_BYTES, LIMITS, Limits, check_path, in_ascii, new_file
from millrace.runtime.wheels import add_wheels
from millrace.sab import INFO_MEMBER, PYTHON_FOLDER, TAR_MEMBER, WHEELS_FOLDER

_DIRECTORY_ENTRY: Final = b"PK\x01\x02"
_DAMAGED: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,  # an encrypted member
    OverflowError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Assets:
    """An unpacked bundle. `python`: the folder that the author's modules are imported from."""

    python: Path
    wheels: tuple[Path, ...]


def unpack(bundle: Path, folder: Path, limits: Limits = LIMITS) -> Assets:
    """Unpack a bundle into a folder, which is emptied before. Raises BundleRefused."""
    try:
        _check_size(bundle, limits)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with zipfile.ZipFile(bundle) as archive:
            output = _unpack(archive, folder, limits)
    except _DAMAGED as problem:
        raise BundleRefused(f"the bundle is damaged: {problem}") from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise BundleRefused(f"the bundle cannot be unpacked to {folder}: {why}") from None
    root = folder / output
    return Assets(root / PYTHON_FOLDER, tuple(sorted((root / WHEELS_FOLDER).glob("*.whl"))))


def load(assets: Assets, module: str, variable: str, digest: str) -> App:
    """The application of an unpacked bundle; its modules and wheels stay importable.

    Raises WheelRefused, and LoadError if the module cannot be imported or builds another graph.
    """
    add_wheels(assets.wheels, assets.python.parent / "site")
    if str(assets.python) not in sys.path:
        sys.path.insert(0, str(assets.python))
    try:
        return load_module(assets.python, module, variable, digest)
    except LoadError:
        raise
    except (Exception, SystemExit) as problem:  # of the author's module
        raise LoadError(
            f"module {module} cannot be imported: it raises {type(problem).__name__}: {problem}"
        ) from problem


# ---------------------------------------------------------------- the container


def _check_size(bundle: Path, limits: Limits) -> None:
    """Opening a zip makes an object of each entry, so entries are counted before."""
    if bundle.stat().st_size > limits.compressed_bytes_max:
        raise BundleRefused(f"the bundle has more than {limits.compressed_bytes_max} bytes")
    if bundle.read_bytes().count(_DIRECTORY_ENTRY) > limits.zip_members_max:
        raise BundleRefused(f"the bundle has more than {limits.zip_members_max} zip members")


def _unpack(archive: zipfile.ZipFile, folder: Path, limits: Limits) -> str:
    """Unpack all files; returns the output directory, which the modules are in."""
    expanded = sum(each.file_size for each in archive.infolist())
    if expanded > limits.expanded_bytes_max:
        raise BundleRefused(
            f"the bundle has {expanded} bytes when it is unpacked; at most "
            f"{limits.expanded_bytes_max} are allowed"
        )
    for each in archive.infolist():
        if each.file_size > max(CHUNK_BYTES, limits.expansion_ratio_max * each.compress_size):
            raise BundleRefused(
                f"{in_ascii(each.filename)} has {each.compress_size} bytes in the bundle, and "
                f"{each.file_size} without compression"
            )
    build_id, output = _info(archive, limits)
    check_path(output, limits)
    with archive.open(TAR_MEMBER) as stream:
        found = _unpack_tar(stream, folder, limits)
    if found != build_id:
        raise BundleRefused(
            f"buildId {in_ascii(build_id)} is not the SHA-224 of {TAR_MEMBER} ({found}): the "
            "bundle is damaged or was changed"
        )
    return output


def _info(archive: zipfile.ZipFile, limits: Limits) -> tuple[str, str]:
    """The build id and the output directory."""
    member = archive.getinfo(INFO_MEMBER)
    if member.file_size > limits.info_bytes_max:
        raise BundleRefused(f"{INFO_MEMBER} has more than {limits.info_bytes_max} bytes")
    text = archive.read(member)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise BundleRefused(f"{INFO_MEMBER} declares a document type, which is not allowed")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - without declarations, of bounded size
    except ElementTree.ParseError as problem:
        raise BundleRefused(f"{INFO_MEMBER} is no XML: {problem}") from None
    return root.get("buildId", "").lower(), root.get("outputDirectory", "output")


class _Hashed:
    """The bytes of a member, hashed as they are read, up to a limit."""

    def __init__(self, stream: IO[bytes], bytes_max: int) -> None:
        self._stream = stream
        self._left = bytes_max
        self.digest = hashlib.sha224()

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        piece = self._stream.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise BundleRefused(f"{TAR_MEMBER} is larger than it claims to be")
        self.digest.update(piece)
        return piece


def _unpack_tar(stream: IO[bytes], folder: Path, limits: Limits) -> str:
    """Write the files of the tar; returns its SHA-224."""
    source = _Hashed(stream, limits.expanded_bytes_max)
    count = 0
    with tarfile.open(fileobj=cast(IO[bytes], source), mode="r|") as tar:
        while (member := tar.next()) is not None:
            tar.members = []  # type: ignore[attr-defined] # it keeps every header
            count += 1
            if count > limits.members_max:
                raise BundleRefused(f"{TAR_MEMBER} has more than {limits.members_max} members")
            check_path(member.name, limits)
            _unpack_member(tar, member, folder, limits)
    while source.read():
        pass
    return source.digest.hexdigest()


def _unpack_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, limits: Limits
) -> None:
    name = in_ascii(member.name)
    if member.issym() or member.islnk() or member.isdir():
        return  # bundles of compilers have links, which nobody follows
    if not member.isreg() or member.issparse():
        raise BundleRefused(f"{name} in {TAR_MEMBER} is no plain file, directory or link")
    if member.size > limits.member_bytes_max:
        raise BundleRefused(
            f"{name} in {TAR_MEMBER} has {member.size} bytes; at most "
            f"{limits.member_bytes_max} are allowed"
        )
    body = tar.extractfile(member)
    assert body is not None
    with new_file(folder / member.name) as file:
        shutil.copyfileobj(body, file, CHUNK_BYTES)
