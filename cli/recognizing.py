"""Detects whether a file is a bundle, an application description (ADL), or neither.

The first bytes decide, not the name. The message about any other file is ours: the message of an
XML parser would not help a person who named an image.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from cli.failing import Misused
from contracts.bundle_format import Bundle, BundleLimits
from contracts.reasons import Reason
from planner.application.bundles import open_bundle
from planner.refusals import PlanRefused, shown

BEGINS_ZIP = b"PK"
BEGIN_BYTES_SHOWN = 24
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")

Kind = Literal["bundle", "ADL", "neither"]


def contents_of(source: Path) -> bytes:
    """The bytes of a file, at most one more than a bundle may have.

    Raises Misused if the file cannot be read.
    """
    if source.is_dir():
        raise Misused(
            f"{source} is a folder: name the .adl file in it, or a bundle; `millrace bundle pack "
            f"{source}` makes one"
        )
    try:
        with source.open("rb") as file:
            return file.read(BundleLimits().compressed_bytes_max + 1)
    except OSError as problem:
        raise Misused(f"{source} cannot be read: {problem.strerror}") from None


def kind_of(data: bytes) -> Kind:
    """The kind of a file, from its first bytes."""
    if data.startswith(BEGINS_ZIP):
        return "bundle"
    text = data.removeprefix(_UTF_8_MARK).lstrip()
    return "ADL" if text.startswith(b"<") and not _is_utf_16(data) else "neither"


def bundle_of(source: Path) -> Bundle:
    """The bundle in a file, or a bundle that contains only the ADL. Raises PlanRefused, Misused."""
    data = contents_of(source)
    kind = kind_of(data)
    if kind == "bundle":
        return open_bundle(data)
    if kind == "neither":
        message = (
            f"{source} is neither a bundle (.sab) nor an application description (.adl, XML): "
            f"{beginning_of(data)}"
        )
        raise PlanRefused(Reason.BUNDLE_INVALID, field=str(source), value="", message=message)
    if len(data) > (most := BundleLimits().adl_bytes_max):
        message = f"{source} has more than {most} bytes, which is more than an ADL may have"
        raise PlanRefused(Reason.BUNDLE_TOO_LARGE, field=str(source), value="", message=message)
    return Bundle(
        digest=hashlib.sha256(data).hexdigest(),
        build_id=hashlib.sha224(data).hexdigest(),
        adl_file=source.name,
        adl_path=source.name,
        adl=data,
        application_directory="",
        output_directory="",
    )


def beginning_of(data: bytes) -> str:
    """A sentence about the first bytes of a file that is neither a bundle nor an ADL."""
    if not data:
        return "it is empty"
    if _is_utf_16(data):
        return "it is text in UTF-16, and must be UTF-8"
    begin = data[:BEGIN_BYTES_SHOWN].decode("utf-8", "ignore")
    is_text = "".join(begin.split()).isprintable() and begin.strip()
    return f"it begins with {shown(begin)!r}" if is_text else "it is data of another kind"


def _is_utf_16(data: bytes) -> bool:
    return data.startswith(_UTF_16_MARKS)
