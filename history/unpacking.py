"""The bytes of a recording's file, its manifest, and the text of its frames.

A recording is packed by zstd. Where files must be text, as in version control or a mail, it is kept
in base64 between two lines that say so (`as_text`), and is read as if it was not.
"""

from __future__ import annotations

import base64
import binascii
import io
from pathlib import Path
from typing import BinaryIO, Final

import orjson
import zstandard

from history.manifests import Manifest, ManifestMalformed

FRAME_TEXT_BYTES_MAX: Final = 8 * 1024 * 1024
MANIFEST_BYTES_MAX: Final = 4 * 1024 * 1024
"""As objects a text of brackets takes some forty times its bytes."""
WINDOW_BYTES_MAX: Final = 8 * 1024 * 1024
_CHUNK_BYTES: Final = 1024
"""Of a manifest: the text of so few bytes is bounded, however they are packed."""
_MAGIC: Final = zstandard.FRAME_HEADER
_BEGIN: Final = b"-----BEGIN MILLRACE RECORDING-----"
_END: Final = b"-----END MILLRACE RECORDING-----"
_LINE_CHARS: Final = 100
TEXT_BYTES_MAX: Final = 64 * 1024 * 1024
"""A recording that is text is read into memory; a larger one is kept packed."""


class RecordingRefused(Exception):
    """A file that cannot be read as a recording; the message says why."""


def opened(path: Path) -> BinaryIO:
    """The packed bytes of a recording. Raises RecordingRefused or OSError."""
    if not path.is_file() and path.exists():
        raise RecordingRefused(f"{path} is no recording: it is no regular file")
    with open(path, "rb") as file:
        is_text = file.read(len(_BEGIN)) == _BEGIN
        text = file.read(TEXT_BYTES_MAX + 1) if is_text else b""
    return io.BytesIO(_bytes_of(text, path)) if is_text else open(path, "rb")


def _bytes_of(text: bytes, path: Path) -> bytes:
    if len(text) > TEXT_BYTES_MAX:
        raise RecordingRefused(f"{path} has more than {TEXT_BYTES_MAX} bytes of text")
    lines = text.splitlines()  # a mail or another system may have ended them otherwise
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines or lines.pop().strip() != _END:
        raise RecordingRefused(f"{path} is cut off: its last line is missing")
    try:
        lines = [each.strip() for each in lines]
        return base64.b64decode(b"".join(lines), validate=True)
    except binascii.Error as problem:
        raise RecordingRefused(f"{path} is damaged: {problem}") from None


def as_text(packed: bytes) -> bytes:
    """The text of a recording's file, which can be read in its place."""
    text = base64.b64encode(packed)
    lines = [text[at : at + _LINE_CHARS] for at in range(0, len(text), _LINE_CHARS)]
    return b"\n".join([_BEGIN, *lines, _END, b""])


def read_manifest(file: BinaryIO, path: Path) -> tuple[Manifest, int]:
    """The manifest, and where its frame ends. Raises RecordingRefused."""
    text, behind = _first_frame(file, path)
    try:
        return Manifest.of_json(orjson.loads(text)), behind
    except ManifestMalformed as problem:
        raise RecordingRefused(f"{path} {problem}") from None
    except orjson.JSONDecodeError:
        raise RecordingRefused(f"{path} is no recording: it does not begin with JSON") from None


def unpacked(packed: bytes, path: Path) -> bytes:
    """The text of a frame, which is as long as it says. Raises RecordingRefused."""
    try:
        size = zstandard.frame_content_size(packed)
        if not 0 <= size <= FRAME_TEXT_BYTES_MAX:
            raise RecordingRefused(f"{path} has a frame that no release writes")
        decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES_MAX)
        return decompressor.decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as problem:
        raise RecordingRefused(f"{path} is damaged: {problem}") from None


def _first_frame(file: BinaryIO, path: Path) -> tuple[bytes, int]:
    begin = file.read(len(_MAGIC))
    if not begin:
        raise RecordingRefused(f"{path} is no recording: it is empty")
    if begin != _MAGIC:
        raise RecordingRefused(
            f"{path} is no recording: it is not compressed with zstd, and does not begin with "
            f"{_BEGIN.decode()}"
        )
    text, size = [], 0
    reading = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES_MAX).decompressobj()
    chunk = begin
    try:
        while chunk:
            text.append(reading.decompress(chunk))
            size += len(text[-1])
            if size > MANIFEST_BYTES_MAX:
                raise RecordingRefused(f"{path} is no recording: its first frame is too long")
            if reading.eof:
                return b"".join(text), file.tell() - len(reading.unused_data)
            chunk = file.read(_CHUNK_BYTES)
    except zstandard.ZstdError as problem:
        raise RecordingRefused(f"{path} is damaged: {problem}") from None
    raise RecordingRefused(f"{path} is cut off: its first frame has no end")
