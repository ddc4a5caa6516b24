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
import posixpath
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

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
    raise NotImplementedError


def pack(adl: bytes, *, files: Mapping[str, bytes] | None = None, build_date_s: int = 0) -> bytes:
    """A bundle of this ADL and of further files (paths below the output directory).

    Equal input gives equal bytes. Raises BundleInvalid when the ADL is no application set.
    """
    raise NotImplementedError
