"""Reads the inner tar of a bundle as a stream: one header after the other, and nothing is kept.

`tarfile` keeps every header, reads the records of extended headers whole, whatever size they claim,
and follows the maps of sparse files; here each of these has a limit or is refused. It decodes the
headers (`TarInfo.frombuf`); which header comes next, and what may follow it, is decided here.
"""

from __future__ import annotations

import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from contracts.bundle_limits import (
    CHUNK_BYTES,
    BundleInvalid,
    BundleLimits,
    BundleTooLarge,
    check_path,
    shown_path,
)

_BLOCK: Final = 512
_LONG_NAMES: Final = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}
_RECORDS: Final = frozenset({tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE})
_OF_ALL: Final = frozenset({"path", "linkpath", "size"})
"""What no header may say of all members that follow."""


class Source(Protocol):
    """Bytes in order."""

    def read(self, size: int) -> bytes:
        """At most so many bytes; fewer only at the end, or where a chunk ends."""
        ...


class TarStream:
    """The members of a tar: iterate, and `read` the one that was given last, or do not."""

    def __init__(self, source: Source, limits: BundleLimits, *, name: str) -> None:
        self._source = source
        self._limits = limits
        self._name = name
        self._headers = 0
        self._unread = 0  # of the body of the member that was given last, with its padding

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        """Every file, directory and link. Raises BundleInvalid and BundleTooLarge."""
        extended: dict[str, str] = {}
        while (header := self._next()) is not None:
            if header.type in _LONG_NAMES:
                text = self._record(header).rstrip(b"\0")
                extended[_LONG_NAMES[header.type]] = text.decode("utf-8", "surrogateescape")
            elif header.type in _RECORDS:
                extended |= self._pairs(self._record(header))
            elif header.type == tarfile.XGLTYPE:
                self._check_global(self._pairs(self._record(header)))
            else:
                self._apply_extended(header, extended)
                extended = {}
                self._check(header)
                self._unread = _padded(header.size)
                yield header

    def read(self, member: tarfile.TarInfo) -> bytes:
        """The body of the member that was given last."""
        body = self._exactly(member.size)
        self._unread -= member.size
        return body

    # ------------------------------------------------------------------ headers

    def _next(self) -> tarfile.TarInfo | None:
        """The next header; None at the end."""
        self._skip()
        block = self._exactly(_BLOCK, may_end=True)
        if not block.strip(b"\0"):
            return None
        self._headers += 1
        if self._headers > self._limits.members_max:
            raise BundleTooLarge(
                f"{self._name} has more than {self._limits.members_max} members", part=self._name
            )
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.TarError, ValueError, OverflowError) as error:
            raise self._bad(f"cannot be read: {error}") from error
        if header.size < 0:
            raise self._bad(f"has a member of {header.size} bytes: {shown_path(header.name)}")
        return header

    def _record(self, header: tarfile.TarInfo) -> bytes:
        """The body of a header that says something about the next one."""
        if header.size > self._limits.record_bytes_max:
            raise BundleTooLarge(
                f"{self._name} has an extended header of {header.size} bytes;"
                f" at most {self._limits.record_bytes_max} are allowed",
                part=self._name,
            )
        self._unread = _padded(header.size)
        return self.read(header)

    def _pairs(self, record: bytes) -> dict[str, str]:
        """What the records of POSIX say: lines `LENGTH KEY=VALUE`."""
        found: dict[str, str] = {}
        position = 0
        while position < len(record) and record[position]:
            space = record.find(b" ", position, position + 8)
            digits = record[position:space]
            end = position + int(digits) if space > 0 and digits.isdigit() else 0
            line = record[space + 1 : end]
            if end > len(record) or not line.endswith(b"\n") or b"=" not in line:
                raise self._bad("has an extended header that is damaged")
            key, _, value = line[:-1].decode("utf-8", "surrogateescape").partition("=")
            found[key] = value.rstrip("/") if key == "path" else value
            position = end
        return found

    def _check_global(self, pairs: Mapping[str, str]) -> None:
        if wrong := sorted(pairs.keys() & _OF_ALL):
            raise self._bad(f"gives all members one {wrong[0]}")

    def _apply_extended(self, header: tarfile.TarInfo, extended: Mapping[str, str]) -> None:
        """Apply the values of extended headers to this one."""
        if any(key.startswith("GNU.sparse") for key in extended):
            raise self._bad(f"has a sparse file: {shown_path(header.name)}")
        header.name = extended.get("path", header.name)
        if header.isdir():
            header.name = header.name.rstrip("/")
        header.linkname = extended.get("linkpath", header.linkname)
        size = extended.get("size")
        if size is not None:
            if not size.isascii() or not size.isdigit() or len(size) > 18:
                raise self._bad(f"has a member of {shown_path(size)} bytes")
            header.size = int(size)

    def _check(self, member: tarfile.TarInfo) -> None:
        """Links of real bundles stay inside and are skipped; others, and devices, are refused."""
        check_path(member.name, self._limits, archive="tar")
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise self._bad(f"has a sparse file: {shown_path(member.name)}")
        if member.isreg():
            if member.size > self._limits.member_bytes_max:
                raise BundleTooLarge(
                    f"{shown_path(member.name)} in the tar has {member.size} bytes;"
                    f" at most {self._limits.member_bytes_max} are allowed",
                    part=shown_path(member.name),
                )
        elif member.issym() or member.islnk():
            _check_link(member)
            member.size = 0
        elif member.isdir():
            member.size = 0
        else:
            raise BundleInvalid(
                f"{shown_path(member.name)} in the tar is no file, directory or link",
                part=shown_path(member.name),
            )

    # ------------------------------------------------------------------ bytes

    def _skip(self) -> None:
        while self._unread:
            self._unread -= len(self._exactly(min(self._unread, CHUNK_BYTES)))

    def _exactly(self, size: int, *, may_end: bool = False) -> bytes:
        pieces = []
        left = size
        while left and (piece := self._source.read(min(left, CHUNK_BYTES))):
            pieces.append(piece)
            left -= len(piece)
        if left and (pieces or not may_end):
            raise self._bad("ends in the middle of a member")
        return b"".join(pieces)

    def _bad(self, what: str) -> BundleInvalid:
        return BundleInvalid(f"{self._name} {what}", part=self._name)


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _check_link(member: tarfile.TarInfo) -> None:
    base = posixpath.dirname(member.name) if member.issym() else ""
    target = posixpath.normpath(posixpath.join(base, member.linkname))
    if target.startswith(("/", "../")) or target == ".." or "\0" in target:
        raise BundleInvalid(
            f"the link {shown_path(member.name)} in the tar points outside:"
            f" {shown_path(member.linkname)}",
            part=shown_path(member.name),
        )
