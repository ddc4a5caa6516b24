"""Packs a `.sab`: an ADL and the files of its application, byte for byte the same every time."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Final

from lxml import etree

from contracts.bundle_limits import (
    INFO_MEMBER,
    TAR_MEMBER,
    BundleInvalid,
    BundleLimits,
    check_path,
)
from contracts.untrusted_xml import parse_untrusted_xml

INFO_NAMESPACE: Final = "http://www.ibm.com/xmlns/prod/streams/spl/bundleInfoModel"
APPLICATIONS: Final = ("splApplication", "application")  # of an ADL v4200, v4000
MANIFEST_MEMBER: Final = "META-INF/MANIFEST.MF"
ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def pack(adl: bytes, *, files: Mapping[str, bytes] | None = None, build_date_s: int = 0) -> bytes:
    """A bundle of this ADL and of further files (paths below the output directory).

    Equal input gives equal bytes. Raises BundleInvalid if the ADL has no application.
    """
    application = _splapplication(adl)
    name = application.get("name", "").replace("::", ".")
    output = application.get("outputDirectory", "").strip("/") or name
    if not name or "/" in name:
        raise BundleInvalid("splApplication has no usable name", part="name")
    check_path(output, BundleLimits(), archive="tar")
    members = {f"{output}/{path}": content for path, content in (files or {}).items()}
    members[f"{output}/{name}.adl"] = adl
    for path in members:
        check_path(path, BundleLimits(), archive="tar")
    try:
        tar = _tar_of(members, tarfile.USTAR_FORMAT)
    except ValueError:  # a path or its parts are too long for a plain header
        tar = _tar_of(members, tarfile.PAX_FORMAT)
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
        if isinstance(child.tag, str) and etree.QName(child).localname in APPLICATIONS:
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


def _tar_of(members: Mapping[str, bytes], form: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
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
