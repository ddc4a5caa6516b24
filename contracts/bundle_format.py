"""The `.sab` container: how a bundle is opened safely; `bundle_packing.py` packs one.

A bundle is untrusted. `open_bundle` works on bytes in memory, extracts nothing to disk, streams the
inner tar once (hashing and counting), keeps only the ADL, and stops at the first limit. What the
ADL says is not looked at here: planner/application/adl.py does that.

    zip ─┬─ META-INF/MANIFEST.MF
         ├─ bundleInfo.xml        names the ADL file, buildId = SHA-224 of tar/bundle.tar
         └─ tar/bundle.tar        <outputDirectory>/<adlFile>, libraries, links that nobody follows
"""

from __future__ import annotations

import hashlib
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Final

from lxml import etree

from contracts.bundle_limits import (
    CHUNK_BYTES,
    BundleInvalid,
    BundleLimits,
    BundleTooLarge,
    check_path,
    shown_path,
)
from contracts.bundle_packing import pack
from contracts.bundle_tar import TarStream
from contracts.untrusted_xml import parse_untrusted_xml
from millrace.sab import INFO_MEMBER, TAR_MEMBER

__all__ = [
    "Bundle",
    "BundleInvalid",
    "BundleLimits",
    "BundleTooLarge",
    "check_build_id",
    "open_bundle",
    "pack",
    "parse_untrusted_xml",
    "read_unverified",
]

_BEGINS: Final = b"PK\x03\x04"
_DIRECTORY_ENTRY: Final = b"PK\x01\x02"
_ENCRYPTED: Final = 0x1 | 0x40 | 0x2000


@dataclass(frozen=True, slots=True)
class Bundle:
    """What the planner needs of a bundle. `digest` is the SHA-256 of the file, in hex."""

    digest: str
    build_id: str
    adl_file: str
    adl_path: str
    adl: bytes
    application_directory: str
    output_directory: str


def open_bundle(data: bytes, limits: BundleLimits) -> Bundle:
    """The bundle in `data`. Raises BundleInvalid or BundleTooLarge, nothing else."""
    bundle, found = read_unverified(data, limits)
    check_build_id(bundle.build_id, found)
    return bundle


def check_build_id(declared: str, found: str) -> None:
    """Refuse a bundle whose tar is not the one it was built with. Raises BundleInvalid."""
    if found != declared.lower():
        raise BundleInvalid(
            f"buildId {shown_path(declared)} of {INFO_MEMBER} is not the SHA-224 of"
            f" {TAR_MEMBER} ({found}): the bundle is damaged or was changed",
            part="buildId",
        )


def read_unverified(data: bytes, limits: BundleLimits) -> tuple[Bundle, str]:
    """The bundle in `data`, which may not be what it was built as, and the SHA-224 of its tar.

    Raises BundleInvalid or BundleTooLarge, nothing else.
    """
    if len(data) > limits.compressed_bytes_max:
        raise BundleTooLarge(
            f"the bundle has {len(data)} bytes; at most {limits.compressed_bytes_max} are allowed",
            part="bundle",
        )
    _check_container(data, limits)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_zip_members(archive, limits, len(data))
            info = _read_info(archive, limits)
            path, adl, found = _read_tar(archive, info.adl_file, limits)
    except (BundleInvalid, BundleTooLarge):
        raise
    except _ZIP_ERRORS as error:
        raise BundleInvalid(f"the bundle cannot be read as a zip: {error}", part="zip") from error
    bundle = Bundle(
        digest=hashlib.sha256(data).hexdigest(),
        build_id=info.build_id,
        adl_file=info.adl_file,
        adl_path=path,
        adl=adl,
        application_directory=info.application_directory,
        output_directory=info.output_directory,
    )
    return bundle, found


_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a compression method nobody knows
    RuntimeError,  # an encrypted member
    struct.error,
    OSError,
    OverflowError,
    ValueError,
)


def _check_container(data: bytes, limits: BundleLimits) -> None:
    """Refuses what would cost much to open: opening makes an object of every entry it finds."""
    if not data.startswith(_BEGINS):
        raise BundleInvalid(
            "the bundle cannot be read as a zip: it does not begin as one", part="zip"
        )
    entries = data.count(_DIRECTORY_ENTRY)
    if entries > limits.zip_members_max:
        raise BundleTooLarge(
            f"the bundle has {entries} members; at most {limits.zip_members_max} are allowed",
            part="zip",
        )


def _check_zip_members(archive: zipfile.ZipFile, limits: BundleLimits, data_bytes: int) -> None:
    """Refuses by what the directory says, before a byte of a member is expanded."""
    names: set[str] = set()
    for member in archive.infolist():
        check_path(member.filename, limits, archive="bundle")
        _check_zip_member(member, limits)
        if member.filename in names:
            raise BundleInvalid(
                f"the bundle has {shown_path(member.filename)} more than once", part="zip"
            )
        names.add(member.filename)
    if sum(member.compress_size for member in archive.infolist()) > data_bytes:
        raise BundleInvalid("members of the bundle overlap", part="zip")
    expanded = sum(member.file_size for member in archive.infolist())
    if expanded > limits.expanded_bytes_max:
        raise BundleTooLarge(
            f"the bundle says it expands to {expanded} bytes; "
            f"at most {limits.expanded_bytes_max} are allowed",
            part="zip",
        )


def _check_zip_member(member: zipfile.ZipInfo, limits: BundleLimits) -> None:
    name = shown_path(member.filename)
    if stat.S_ISLNK(member.external_attr >> 16):
        raise BundleInvalid(f"the bundle holds a link: {name}", part="zip")
    if member.flag_bits & _ENCRYPTED:
        raise BundleInvalid(f"{name} in the bundle is encrypted", part="zip")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BundleInvalid(
            f"{name} in the bundle is compressed in a way that is not allowed"
            f" (method {member.compress_type}); deflate is",
            part="zip",
        )
    bytes_max = _expanded_max(member, limits.member_bytes_max, limits)
    if member.file_size > bytes_max:
        raise _expands(member, bytes_max)


def _expanded_max(member: zipfile.ZipInfo, bytes_max: int, limits: BundleLimits) -> int:
    return min(bytes_max, max(CHUNK_BYTES, member.compress_size * limits.expansion_ratio_max))


def _expands(member: zipfile.ZipInfo, bytes_max: int) -> BundleTooLarge:
    return BundleTooLarge(
        f"{member.filename[:200]} expands to more than {bytes_max} bytes", part=TAR_MEMBER
    )


class _Expanding:
    """A zip member that is read as a stream, held against its limits and hashed."""

    def __init__(self, source: IO[bytes], member: zipfile.ZipInfo, bytes_max: int) -> None:
        if member.file_size > bytes_max:
            raise _expands(member, bytes_max)
        self._source = source
        self._member = member
        self._bytes = 0
        self.digest = hashlib.sha224()

    def read(self, size: int) -> bytes:
        """The next bytes, at most a chunk of them.

        zipfile reads as many as the directory says, however many there are.
        """
        chunk = self._source.read(min(size, CHUNK_BYTES))
        self._bytes += len(chunk)
        self.digest.update(chunk)
        return chunk

    def read_all(self) -> bytes:
        """Everything that is left."""
        content = b"".join(self._chunks())
        self._check_whole()
        return content

    def pass_over(self) -> None:
        """Read what is left, for the digest."""
        for _ in self._chunks():
            pass
        self._check_whole()

    def _chunks(self) -> Iterator[bytes]:
        while chunk := self.read(CHUNK_BYTES):
            yield chunk

    def _check_whole(self) -> None:
        if self._bytes != self._member.file_size:
            raise BundleInvalid(
                f"{self._member.filename} has {self._bytes} bytes, and the bundle says it has"
                f" {self._member.file_size}",
                part=self._member.filename,
            )


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    try:
        return archive.getinfo(name)
    except KeyError as error:
        raise BundleInvalid(f"the bundle has no {name}", part=name) from error


@dataclass(frozen=True, slots=True)
class _Info:
    adl_file: str
    build_id: str
    application_directory: str
    output_directory: str


def _read_info(archive: zipfile.ZipFile, limits: BundleLimits) -> _Info:
    member = _member(archive, INFO_MEMBER)
    with archive.open(member) as source:
        text = _Expanding(source, member, limits.info_bytes_max).read_all()
    root = parse_untrusted_xml(text, part=INFO_MEMBER)
    if etree.QName(root).localname != "bundleInfoModel":
        raise BundleInvalid(f"{INFO_MEMBER} has no bundleInfoModel", part=INFO_MEMBER)
    adl_file = _info_attribute(root, "adlFile")
    if "/" in adl_file or "\\" in adl_file or adl_file in ("", ".", ".."):
        raise BundleInvalid(
            f"adlFile {shown_path(adl_file)} of {INFO_MEMBER} is not the name of a file",
            part="adlFile",
        )
    return _Info(
        adl_file=adl_file,
        build_id=_info_attribute(root, "buildId"),
        application_directory=root.get("applicationDirectory", ""),
        output_directory=root.get("outputDirectory", ""),
    )


def _info_attribute(root: etree._Element, name: str) -> str:
    value = root.get(name)
    if value is None:
        raise BundleInvalid(f"{INFO_MEMBER} has no attribute {name}", part=name)
    return value


def _read_tar(
    archive: zipfile.ZipFile, adl_file: str, limits: BundleLimits
) -> tuple[str, bytes, str]:
    """Path and bytes of the ADL, and the SHA-224 of the whole tar."""
    member = _member(archive, TAR_MEMBER)
    with archive.open(member) as source:
        expanding = _Expanding(source, member, limits.member_bytes_max)
        found = _find_adl(TarStream(expanding, limits, name=TAR_MEMBER), adl_file, limits)
        expanding.pass_over()
    if found is None:
        raise BundleInvalid(f"{TAR_MEMBER} has no ADL {shown_path(adl_file)}", part=adl_file)
    return *found, expanding.digest.hexdigest()


def _find_adl(tar: TarStream, adl_file: str, limits: BundleLimits) -> tuple[str, bytes] | None:
    """The first regular file whose path ends in `/` + name. Looks at every member, keeps one."""
    found: tuple[str, bytes] | None = None
    for member in tar:
        if found is not None and member.name == found[0]:
            raise BundleInvalid(
                f"{TAR_MEMBER} has {shown_path(member.name)} more than once", part=TAR_MEMBER
            )
        if found is None and member.isreg() and f"/{member.name}".endswith(f"/{adl_file}"):
            _check_adl(member, limits)
            found = member.name, tar.read(member)
    return found


def _check_adl(member: tarfile.TarInfo, limits: BundleLimits) -> None:
    if member.size > limits.adl_bytes_max:
        raise BundleTooLarge(
            f"the ADL {shown_path(member.name)} has {member.size} bytes; "
            f"at most {limits.adl_bytes_max} are allowed",
            part=member.name,
        )
