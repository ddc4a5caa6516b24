"""The `.sab` container: how a bundle is opened safely and how one is packed.

A bundle is untrusted. `open_bundle` works on bytes in memory, extracts nothing to disk, streams the
inner tar once (hashing and counting), keeps only the ADL, and stops at the first limit. What the
ADL says is not looked at here: services/fusion_backend/core/adl.py does that.

    zip ─┬─ META-INF/MANIFEST.MF
         ├─ bundleInfo.xml        names the ADL file, buildId = SHA-224 of tar/bundle.tar
         └─ tar/bundle.tar        <outputDirectory>/<adlFile>, libraries, links that nobody follows
"""

from __future__ import annotations

import hashlib
import io
import lzma
import posixpath
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, cast

from lxml import etree

INFO_NAMESPACE = "http://www.ibm.com/xmlns/prod/streams/spl/bundleInfoModel"
INFO_MEMBER = "bundleInfo.xml"
TAR_MEMBER = "tar/bundle.tar"
MANIFEST_MEMBER = "META-INF/MANIFEST.MF"
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """What a bundle may cost us; everything beyond is refused while streaming."""

    compressed_bytes_max: int = 128 * 1024 * 1024
    expanded_bytes_max: int = 512 * 1024 * 1024
    member_bytes_max: int = 256 * 1024 * 1024
    info_bytes_max: int = 4 * 1024 * 1024
    adl_bytes_max: int = 64 * 1024 * 1024
    members_max: int = 50_000
    expansion_ratio_max: int = 200


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


def open_bundle(data: bytes, limits: BundleLimits) -> Bundle:
    """The bundle in `data`. Raises BundleInvalid or BundleTooLarge, nothing else."""
    if len(data) > limits.compressed_bytes_max:
        raise BundleTooLarge(
            f"the bundle has {len(data)} bytes; at most {limits.compressed_bytes_max} are allowed",
            part="bundle",
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_zip_members(archive, limits)
            info = _read_info(archive, limits)
            path, adl, build_id = _read_tar(archive, info.adl_file, limits)
    except _ZIP_ERRORS as error:
        raise BundleInvalid(f"the bundle cannot be read as a zip: {error}", part="zip") from error
    if build_id != info.build_id.lower():
        raise BundleInvalid(
            f"buildId {info.build_id!r} of {INFO_MEMBER} is not the SHA-224 of {TAR_MEMBER} "
            f"({build_id}): the bundle is damaged or was changed",
            part="buildId",
        )
    return Bundle(
        digest=hashlib.sha256(data).hexdigest(),
        build_id=info.build_id,
        adl_file=info.adl_file,
        adl_path=path,
        adl=adl,
        application_directory=info.application_directory,
        output_directory=info.output_directory,
    )


_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,  # a compression method nobody knows
    RuntimeError,  # an encrypted member
    struct.error,
    OSError,
    UnicodeError,
    OverflowError,
)


def _check_zip_members(archive: zipfile.ZipFile, limits: BundleLimits) -> None:
    members = archive.infolist()
    if len(members) > limits.members_max:
        raise BundleTooLarge(
            f"the bundle has {len(members)} members; at most {limits.members_max} are allowed",
            part="zip",
        )
    expanded = 0
    for member in members:
        _check_path(member.filename, archive="bundle")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise BundleInvalid(f"the bundle holds a link: {member.filename!r}", part="zip")
        expanded += member.file_size
    if expanded > limits.expanded_bytes_max:
        raise BundleTooLarge(
            f"the bundle says it expands to {expanded} bytes; "
            f"at most {limits.expanded_bytes_max} are allowed",
            part="zip",
        )


def _check_path(path: str, *, archive: str) -> None:
    """Refuses what would leave the directory of an extraction (we never extract; others do)."""
    parts = path.replace("\\", "/").split("/")
    drive = len(parts[0]) >= 2 and parts[0][1] == ":"
    if path.startswith(("/", "\\")) or drive or ".." in parts or "\0" in path:
        raise BundleInvalid(
            f"the path {_shown(path)} in the {archive} leaves its directory", part=_shown(path)
        )


def _shown(path: str) -> str:
    return ascii(path[:200])


class _CountedMember:
    """A zip member that is read as a stream, counted against the limits and hashed."""

    def __init__(
        self, source: IO[bytes], info: zipfile.ZipInfo, bytes_max: int, ratio: int
    ) -> None:
        self._source = source
        self._name = info.filename
        self._bytes_max = min(bytes_max, max(CHUNK_BYTES, info.compress_size * ratio))
        self._bytes = 0
        self.digest = hashlib.sha224()

    def read(self, size: int = -1) -> bytes:
        """The next bytes; BundleTooLarge when the member expands beyond its limits."""
        wanted = size if 0 <= size <= CHUNK_BYTES else CHUNK_BYTES
        chunk = self._source.read(wanted)
        self._bytes += len(chunk)
        if self._bytes > self._bytes_max:
            raise BundleTooLarge(
                f"{self._name} expands to more than {self._bytes_max} bytes", part=self._name
            )
        self.digest.update(chunk)
        return chunk

    def read_all(self) -> bytes:
        """Everything that is left."""
        return b"".join(iter(self.read, b""))


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    found = [member for member in archive.infolist() if member.filename == name]
    if not found:
        raise BundleInvalid(f"the bundle has no {name}", part=name)
    if len(found) > 1:
        raise BundleInvalid(f"the bundle has {name} more than once", part=name)
    return found[0]


@dataclass(frozen=True, slots=True)
class _Info:
    adl_file: str
    build_id: str
    application_directory: str
    output_directory: str


def _read_info(archive: zipfile.ZipFile, limits: BundleLimits) -> _Info:
    member = _member(archive, INFO_MEMBER)
    with archive.open(member) as source:
        counted = _CountedMember(source, member, limits.info_bytes_max, limits.expansion_ratio_max)
        text = counted.read_all()
    root = parse_untrusted_xml(text, part=INFO_MEMBER)
    if etree.QName(root).localname != "bundleInfoModel":
        raise BundleInvalid(f"{INFO_MEMBER} has no bundleInfoModel", part=INFO_MEMBER)
    adl_file = _info_attribute(root, "adlFile")
    if "/" in adl_file or "\\" in adl_file or adl_file in ("", ".", ".."):
        raise BundleInvalid(
            f"adlFile {_shown(adl_file)} of {INFO_MEMBER} is not the name of a file", part="adlFile"
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


_DECLARATION = re.compile(r"<!(?:DOCTYPE|ENTITY)")


def parse_untrusted_xml(text: bytes, *, part: str) -> etree._Element:
    """The root element. A document type is refused before a parser sees it: no entity, no bomb.

    The text is read as UTF-8 whatever it says about itself, so that nothing hides in an encoding.
    """
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BundleInvalid(f"{part} is not UTF-8: {error.reason}", part=part) from error
    if _DECLARATION.search(decoded):
        raise BundleInvalid(
            f"{part} has a document type or entities, which are not allowed", part=part
        )
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False, encoding="utf-8"
    )
    try:
        return etree.fromstring(decoded.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise BundleInvalid(f"{part} is not well-formed XML: {error.msg}", part=part) from error


def _read_tar(
    archive: zipfile.ZipFile, adl_file: str, limits: BundleLimits
) -> tuple[str, bytes, str]:
    """Path and bytes of the ADL, and the SHA-224 of the whole tar."""
    member = _member(archive, TAR_MEMBER)
    with archive.open(member) as source:
        counted = _CountedMember(
            source, member, limits.member_bytes_max, limits.expansion_ratio_max
        )
        try:
            found = _find_adl(counted, adl_file, limits)
        except (tarfile.TarError, EOFError, ValueError, OverflowError, KeyError) as error:
            if isinstance(error, BundleInvalid | BundleTooLarge):
                raise
            raise BundleInvalid(f"{TAR_MEMBER} cannot be read: {error}", part=TAR_MEMBER) from error
        for _ in iter(counted.read, b""):
            pass
    if found is None:
        raise BundleInvalid(f"{TAR_MEMBER} has no ADL {_shown(adl_file)}", part=adl_file)
    return *found, counted.digest.hexdigest()


def _find_adl(
    stream: _CountedMember, adl_file: str, limits: BundleLimits
) -> tuple[str, bytes] | None:
    """The first regular file whose path ends in `/` + name. Looks at every member, keeps one."""
    found: tuple[str, bytes] | None = None
    members = 0
    with tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as tar:
        for member in tar:
            members += 1
            if members > limits.members_max:
                raise BundleTooLarge(
                    f"{TAR_MEMBER} has more than {limits.members_max} members", part=TAR_MEMBER
                )
            _check_path(member.name, archive="tar")
            _check_kind(member)
            setattr(tar, "members", [])  # noqa: B010 - else every header of a hostile tar is kept
            if found is None and member.isreg() and f"/{member.name}".endswith(f"/{adl_file}"):
                found = member.name, _tar_file(tar, member, limits)
    return found


def _check_kind(member: tarfile.TarInfo) -> None:
    """Links of real bundles stay inside and are skipped; others, and devices, are refused."""
    if member.issym() or member.islnk():
        base = posixpath.dirname(member.name) if member.issym() else ""
        target = posixpath.normpath(posixpath.join(base, member.linkname))
        if target.startswith(("/", "../")) or target == "..":
            raise BundleInvalid(
                f"the link {_shown(member.name)} in the tar points outside: "
                f"{_shown(member.linkname)}",
                part=_shown(member.name),
            )
    elif not (member.isreg() or member.isdir()):
        raise BundleInvalid(
            f"{_shown(member.name)} in the tar is no file, directory or link",
            part=_shown(member.name),
        )


def _tar_file(tar: tarfile.TarFile, member: tarfile.TarInfo, limits: BundleLimits) -> bytes:
    if member.size > limits.adl_bytes_max:
        raise BundleTooLarge(
            f"the ADL {_shown(member.name)} has {member.size} bytes; "
            f"at most {limits.adl_bytes_max} are allowed",
            part=member.name,
        )
    source = tar.extractfile(member)
    if source is None:
        raise BundleInvalid(f"{_shown(member.name)} in the tar cannot be read", part=member.name)
    return source.read()


def pack(adl: bytes, *, files: Mapping[str, bytes] | None = None, build_date_s: int = 0) -> bytes:
    """A bundle of this ADL and of further files (paths below the output directory).

    Equal input gives equal bytes. Raises BundleInvalid when the ADL is no application set.
    """
    application = _splapplication(adl)
    name = application.get("name", "").replace("::", ".")
    output = application.get("outputDirectory", "").strip("/") or name
    if not name or "/" in name:
        raise BundleInvalid("splApplication has no usable name", part="name")
    _check_path(output, archive="tar")
    members = {f"{output}/{path}": content for path, content in (files or {}).items()}
    members[f"{output}/{name}.adl"] = adl
    for path in members:
        _check_path(path, archive="tar")
    tar = _tar_of(members)
    build_id = hashlib.sha224(tar).hexdigest()
    info = _info_text(
        name=name,
        output=output,
        application_directory=application.get("applicationDirectory", ""),
        build_id=build_id,
        build_date_s=build_date_s,
    )
    manifest = (
        f"Manifest-Version: 1.0\r\nStreamsBundleFile: {name}.sab\r\nBuildId: {build_id}\r\n\r\n"
    )
    return _zip_of({MANIFEST_MEMBER: manifest.encode(), INFO_MEMBER: info, TAR_MEMBER: tar})


def _splapplication(adl: bytes) -> etree._Element:
    root = parse_untrusted_xml(adl, part="ADL")
    for child in root:
        if isinstance(child.tag, str) and etree.QName(child).localname == "splApplication":
            return child
    raise BundleInvalid("the ADL has no splApplication", part="splApplication")


def _info_text(
    *, name: str, output: str, application_directory: str, build_id: str, build_date_s: int
) -> bytes:
    root = etree.Element(
        f"{{{INFO_NAMESPACE}}}bundleInfoModel",
        nsmap={None: INFO_NAMESPACE},  # type: ignore[dict-item]  # the default namespace has no prefix
    )
    root.set("adlFile", f"{name}.adl")
    root.set("applicationDirectory", application_directory)
    root.set("buildDate", str(build_date_s))
    root.set("buildId", build_id)
    root.set("bundleVersion", "4300")
    root.set("executionMode", "distributed")
    root.set("outputDirectory", output)
    toolkit = etree.SubElement(root, f"{{{INFO_NAMESPACE}}}toolkit")
    toolkit.set("name", name)
    toolkit.set("version", "1.0.0")
    toolkit.set("compileRoot", ".")
    etree.SubElement(toolkit, f"{{{INFO_NAMESPACE}}}file").set("name", f"{name}.adl")
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _tar_of(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(members):
            header = tarfile.TarInfo(path)
            header.size = len(members[path])
            header.mode = 0o644
            tar.addfile(header, io.BytesIO(members[path]))
    return buffer.getvalue()


def _zip_of(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members.items():
            header = zipfile.ZipInfo(path, date_time=ZIP_EPOCH)
            header.compress_type = zipfile.ZIP_DEFLATED
            header.external_attr = 0o644 << 16
            archive.writestr(header, content)
    return buffer.getvalue()
