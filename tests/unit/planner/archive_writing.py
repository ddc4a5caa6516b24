"""Writes bundles byte by byte, also such as no library would write."""

from __future__ import annotations

import hashlib
import random
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.unit.planner.adl_writing import Adl

ADL = Adl().chain("a", "b").text().encode()
ADL_PATH = "out/demo.Main.adl"
INFO = "bundleInfo.xml"
TAR = "tar/bundle.tar"
BLOCK = 512
MEGA = 1024 * 1024

# --------------------------------------------------------------------------- zips


@dataclass(frozen=True)
class Member:
    """One member of a zip; what is given wins over what its content would say."""

    name: str
    content: bytes
    method: int = zipfile.ZIP_DEFLATED
    flags: int = 0
    crc: int | None = None
    size: int | None = None
    packed_bytes: int | None = None
    local_name: str | None = None
    mode: int = 0o100644
    at: int | None = None
    packed: bytes | None = field(default=None)

    def stored(self) -> bytes:
        """Its bytes in the file."""
        if self.packed is not None:
            return self.packed
        if self.method != zipfile.ZIP_DEFLATED:
            return self.content
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflate.compress(self.content) + deflate.flush()


def zip_of(members: Iterable[Member]) -> bytes:
    """A zip that says of its members what they are reported to say."""
    body, directory, count = bytearray(), bytearray(), 0
    for member in members:
        packed = member.stored()
        crc = zlib.crc32(member.content) if member.crc is None else member.crc
        size = len(member.content) if member.size is None else member.size
        packed_bytes = len(packed) if member.packed_bytes is None else member.packed_bytes
        common = struct.pack(
            "<HHHHHLLL", 20, member.flags, member.method, 0, 33, crc, packed_bytes, size
        )
        name = member.name.encode()
        at = len(body) if member.at is None else member.at
        if member.at is None:
            local = (member.local_name or member.name).encode()
            body += b"PK\3\4" + common + struct.pack("<HH", len(local), 0) + local + packed
        directory += b"PK\1\2" + struct.pack("<H", 0x0314) + common
        directory += struct.pack("<HHHHHLL", len(name), 0, 0, 0, 0, member.mode << 16, at) + name
        count += 1
    end = struct.pack(
        "<HHHHLLH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), len(body), 0
    )
    return bytes(body + directory + b"PK\5\6" + end)


def info_of(tar: bytes, *, adl_file: str = "demo.Main.adl") -> bytes:
    """A bundleInfo.xml that tells the truth."""
    return (
        f'<bundleInfoModel adlFile="{adl_file}" applicationDirectory="app"'
        f' buildId="{hashlib.sha224(tar).hexdigest()}" outputDirectory="out"/>'
    ).encode()


def sab(tar: bytes | None = None, *more: Member, info: bytes | None = None) -> bytes:
    """A bundle around this tar."""
    tar = tar_of(file(ADL_PATH, ADL)) if tar is None else tar
    return zip_of((*parts(tar, info), *more))


def parts(tar: bytes, info: bytes | None = None) -> tuple[Member, Member]:
    """The two members that are read."""
    return Member(INFO, info_of(tar) if info is None else info), Member(TAR, tar)


def altered(**how: object) -> bytes:
    """A good bundle whose tar is a member with something wrong."""
    info, tar = parts(tar_of(file(ADL_PATH, ADL)))
    return zip_of((info, replace(tar, **how)))  # type: ignore[arg-type]


# --------------------------------------------------------------------------- tars


def padded(content: bytes) -> bytes:
    """Filled up to whole blocks."""
    return content + bytes(-len(content) % BLOCK)


def header(name: str, size: int, kind: bytes, target: str = "") -> bytes:
    """A header; a size that octal digits cannot say is written in base 256."""
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, target, 0o644
    block = bytearray(made.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")[-BLOCK:])
    block[124:136] = (
        b"%011o\0" % size
        if 0 <= size < 8**11
        else b"\xff" + size.to_bytes(11, "big", signed=True)
        if size < 0
        else b"\x80" + size.to_bytes(11, "big")
    )
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def file(name: str, content: bytes, *, size: int | None = None, kind: bytes = b"0") -> bytes:
    """A member with its body."""
    return header(name, len(content) if size is None else size, kind) + padded(content)


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> bytes:
    """A link."""
    return header(name, 0, kind, target)


def pax(pairs: dict[str, str], *, kind: bytes = b"x") -> bytes:
    """An extended header of POSIX."""
    text = b""
    for key, value in pairs.items():
        line = f" {key}={value}\n".encode()
        length = len(line)
        while len(str(length)) + len(line) != length:
            length = len(str(length)) + len(line)
        text += str(length).encode() + line
    return file("pax", text, kind=kind)


def tar_of(*members: bytes) -> bytes:
    """A tar of these members."""
    return b"".join(members) + bytes(2 * BLOCK)


def good(*more: bytes) -> bytes:
    """A bundle whose tar has something beside (before) the ADL."""
    return sab(tar_of(*more, file(ADL_PATH, ADL)))


# --------------------------------------------------------------------------- valid ones


def valid_with_payload(size: int) -> bytes:
    """A valid bundle of about `size` bytes that cannot be compressed."""
    payload = random.Random(1).randbytes(max(0, size - len(sab()) - 1_000))
    return good(file("out/bin/op.so", payload))


def valid_that_expands(size: int) -> bytes:
    """A valid bundle of about `size` bytes that expands as far as one may."""
    payload = random.Random(1).randbytes(max(0, size - len(sab()) - 1_300 - size // 20))
    return good(file("out/data", payload + bytes(min(150 * size, 3 * MEGA))))


def valid_with_members(size: int) -> bytes:
    """A valid bundle of at most `size` bytes with as many files as that allows."""
    count = 1_999
    while True:
        made = good(*(file(f"out/{number}", b"") for number in range(count)))
        if len(made) <= max(size, len(sab())) or count == 1:
            return made
        count = max(1, min(count - 1, count * size // len(made)))
