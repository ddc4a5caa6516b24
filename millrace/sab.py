"""The container of a bundle (`.sab`): a zip with `bundleInfo.xml` and a tar of the application.

Equal input gives equal bytes: names are sorted, and no time is written. What is in the ADL is not
looked at: `contracts/bundle_packing.py` of the control plane reads an ADL of others and calls this.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

INFO_NAMESPACE: Final = "http://www.ibm.com/xmlns/prod/streams/spl/bundleInfoModel"
MANIFEST_MEMBER: Final = "META-INF/MANIFEST.MF"
INFO_MEMBER: Final = "bundleInfo.xml"
TAR_MEMBER: Final = "tar/bundle.tar"
PYTHON_FOLDER: Final = "python"
"""Below the output directory: the modules of the author of an application in Python."""
WHEELS_FOLDER: Final = f"{PYTHON_FOLDER}/wheels"
ZIP_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle contains. `files`: paths below the output directory.

    `name`: that of the application, with dots; the ADL becomes `<output_directory>/<name>.adl`.
    """

    name: str
    adl: bytes
    output_directory: str
    application_directory: str
    files: Mapping[str, bytes]
    build_date_s: int = 0

    @property
    def members(self) -> dict[str, bytes]:
        """The files of the tar by their paths."""
        found = {f"{self.output_directory}/{path}": data for path, data in self.files.items()}
        found[f"{self.output_directory}/{self.name}.adl"] = self.adl
        return found


def packed(contents: Contents) -> bytes:
    """The bundle of these contents. Its build id is the SHA-224 of its tar."""
    try:
        tar = _tar_of(contents.members, tarfile.USTAR_FORMAT)
    except ValueError:  # a path or its parts are too long for a plain header
        tar = _tar_of(contents.members, tarfile.PAX_FORMAT)
    build_id = hashlib.sha224(tar).hexdigest()
    name = contents.name
    manifest = (
        f"Manifest-Version: 1.0\r\nStreamsBundleFile: {name}.sab\r\nBuildId: {build_id}\r\n\r\n"
    )
    info = _info_text(contents, build_id)
    return _zip_of({MANIFEST_MEMBER: manifest.encode(), INFO_MEMBER: info, TAR_MEMBER: tar})


def _info_text(contents: Contents, build_id: str) -> bytes:
    attributes = {
        "adlFile": f"{contents.name}.adl",
        "applicationDirectory": contents.application_directory,
        "buildDate": str(contents.build_date_s),
        "buildId": build_id,
        "bundleVersion": "4300",
        "executionMode": "distributed",
        "outputDirectory": contents.output_directory,
    }
    from xml.sax.saxutils import quoteattr  # loads much, and a PE writes no bundle

    written = "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())
    text = (
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        f'<bundleInfoModel xmlns="{INFO_NAMESPACE}"{written}>'
        f'<toolkit name={quoteattr(contents.name)} version="1.0.0" compileRoot=".">'
        f"<file name={quoteattr(f'{contents.name}.adl')}/></toolkit></bundleInfoModel>"
    )
    return text.encode()


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
