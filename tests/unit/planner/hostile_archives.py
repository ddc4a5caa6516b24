"""Archives that somebody made to hurt, and how each is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace

from contracts.bundle_format import BundleLimits
from contracts.reasons import Reason
from tests.unit.planner.archive_writing import (
    ADL,
    ADL_PATH,
    BLOCK,
    INFO,
    MEGA,
    TAR,
    Member,
    altered,
    file,
    good,
    header,
    info_of,
    link,
    parts,
    pax,
    sab,
    tar_of,
    zip_of,
)

LIMITS = BundleLimits(
    compressed_bytes_max=4 * MEGA, info_bytes_max=MEGA // 2, members_max=2_000, zip_members_max=100
)
"""Lower than ours, so that what exceeds them is made in no time."""


@dataclass(frozen=True)
class Hostile:
    """An archive, made when it is requested, and how it is refused."""

    name: str
    make: Callable[[], bytes]
    says: str
    reason: Reason = Reason.BUNDLE_INVALID


def overlapping() -> bytes:
    """Ninety members that share one body: a bomb without recursion."""
    body = Member("0", random.Random(1).randbytes(1_000) * 100, mode=0)
    one = body.stored()
    names = (str(number) for number in range(1, 90))
    return zip_of((body, *(replace(body, name=name, at=0, packed=one) for name in names)))


def entries_of_nothing(count: int) -> bytes:
    """A directory of entries without names, and not one member."""
    entry = b"PK\1\2" + bytes(42)
    end = struct.pack("<HHHHLLH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entry) * count, 4, 0)
    return b"PK\3\4" + entry * count + b"PK\5\6" + end


def member(name: str, content: bytes = b"x", **more: object) -> bytes:
    """A good bundle with one member more in the zip."""
    return sab(None, Member(name, content, **more))  # type: ignore[arg-type]


def zipped(content: bytes) -> bytes:
    """An ordinary zip around something."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", content)
    return buffer.getvalue()


def with_wrong_sum() -> bytes:
    """A tar whose header was changed after its sum was made."""
    made = bytearray(tar_of(file(ADL_PATH, ADL)))
    made[0] ^= 1
    return sab(bytes(made))


TOO_LARGE = Reason.BUNDLE_TOO_LARGE
CONTAINERS = (
    Hostile("nothing", lambda: b"", "zip"),
    Hostile("text", lambda: b"<html>log in first</html>", "zip"),
    Hostile("gzip", lambda: gzip.compress(ADL), "zip"),
    Hostile("half of one", lambda: sab()[: len(sab()) // 2], "zip"),
    Hostile("without the end of its directory", lambda: sab()[:-30], "zip"),
    Hostile("an empty zip", lambda: b"PK\5\6" + bytes(18), "zip"),
    Hostile("hidden behind something else", lambda: b"#!/bin/sh\n" + sab(), "zip"),
    Hostile(
        "too many members",
        lambda: sab(None, *(Member(str(number), b"") for number in range(100))),
        "102 members",
        TOO_LARGE,
    ),
    Hostile(
        "a directory of 50,000 entries", lambda: entries_of_nothing(50_000), "50000", TOO_LARGE
    ),
    Hostile("a size beyond all", lambda: bytes(4 * MEGA + 1), "4194305 bytes", TOO_LARGE),
    Hostile("encrypted", lambda: altered(flags=0x1), "encrypted"),
    Hostile("strongly encrypted", lambda: altered(flags=0x40), "encrypted"),
    Hostile("encrypted directory", lambda: altered(flags=0x2000), "encrypted"),
    Hostile("bzip2", lambda: altered(method=12, packed=bz2.compress(bytes(MEGA))), "method 12"),
    Hostile("lzma", lambda: altered(method=14, packed=lzma.compress(bytes(MEGA))), "method 14"),
    Hostile("a method nobody knows", lambda: altered(method=99), "method 99"),
    Hostile(
        "a bomb",
        lambda: good(file("out/zeros", bytes(20 * MEGA))),
        "tar/bundle.tar expands to more than",
        TOO_LARGE,
    ),
    Hostile(
        "a bomb beside",
        lambda: member("beside", bytes(20 * MEGA)),
        "beside expands to more than",
        TOO_LARGE,
    ),
    Hostile("a member of 4 GB, it says", lambda: altered(size=2**32 - 2), "expands", TOO_LARGE),
    Hostile("more bytes than it says", lambda: altered(size=BLOCK), "zip: Bad CRC"),
    Hostile("fewer bytes than it says", lambda: altered(size=200_000), "says it has 200000"),
    Hostile("more packed bytes than there are", lambda: altered(packed_bytes=2**31), "overlap"),
    Hostile("overlapping members", overlapping, "overlap"),
    Hostile("two lists of contents", lambda: member(INFO), "more than once"),
    Hostile("two tars", lambda: member(TAR), "more than once"),
    Hostile(
        "a name twice", lambda: sab(None, Member("m", b"1"), Member("m", b"2")), "more than once"
    ),
    Hostile("a way up", lambda: member("../escape"), "leaves its directory"),
    Hostile("a way up for others", lambda: member("a\\..\\..\\escape"), "leaves its directory"),
    Hostile("an absolute name", lambda: member("/etc/passwd"), "leaves its directory"),
    Hostile("a drive", lambda: member("C:/windows"), "leaves its directory"),
    Hostile("a name of 64 KB", lambda: member("n" * 65_535), "65535 characters"),
    Hostile("a link", lambda: member("l", b"/etc", mode=stat.S_IFLNK | 0o777), "holds a link"),
    Hostile("a wrong sum", lambda: altered(crc=7), "zip: Bad CRC"),
    Hostile(
        "a wrong sum of the list",
        lambda: zip_of(
            (replace(each, crc=7) if each.name == INFO else each)
            for each in parts(tar_of(file(ADL_PATH, ADL)))
        ),
        "zip: Bad CRC",
    ),
    Hostile("two names for one member", lambda: altered(local_name="x" * len(TAR)), "differ"),
    Hostile("no list of contents", lambda: zip_of([Member(TAR, b"")]), "has no bundleInfo.xml"),
    Hostile("no tar", lambda: zip_of([parts(b"")[0]]), "has no tar/bundle.tar"),
    Hostile(
        "another tar than the one it was built with",
        lambda: sab(info=info_of(b"another")),
        "SHA-224",
    ),
    Hostile(
        "an ADL from elsewhere", lambda: sab(info=info_of(b"", adl_file="../x.adl")), "adlFile"
    ),
    Hostile(
        "a list of 1 MB",
        lambda: sab(info=info_of(b"") + random.Random(1).randbytes(MEGA)),
        "bundleInfo.xml expands",
        TOO_LARGE,
    ),
)

TARS = (
    Hostile("a zip in place of the tar", lambda: sab(zipped(bytes(9_000))), "tar/bundle.tar"),
    Hostile("a gzip in place of the tar", lambda: sab(gzip.compress(ADL)), "tar/bundle.tar"),
    Hostile("a bomb in a bomb", lambda: sab(zipped(zipped(bytes(MEGA)))), "tar/bundle.tar"),
    Hostile("half a tar", lambda: sab(tar_of(file(ADL_PATH, ADL))[:700]), "in the middle"),
    Hostile("a wrong sum in the tar", with_wrong_sum, "cannot be read"),
    Hostile("an empty tar", lambda: sab(tar_of()), "has no ADL"),
    Hostile("an ADL that is a link", lambda: sab(tar_of(link(ADL_PATH, "x"))), "has no ADL"),
    Hostile("two ADLs", lambda: good(file(ADL_PATH, ADL)), "more than once"),
    Hostile("a way up in the tar", lambda: good(file("../x", b"")), "leaves its directory"),
    Hostile("an absolute name in the tar", lambda: good(file("/x", b"")), "leaves its directory"),
    Hostile("a link that leads out", lambda: good(link("out/l", "../../x")), "points outside"),
    Hostile("a link to the root", lambda: good(link("out/l", "/etc/passwd")), "points outside"),
    Hostile(
        "a hard link that leads out",
        lambda: good(link("out/l", "../x", tarfile.LNKTYPE)),
        "points outside",
    ),
    Hostile("a pipe", lambda: good(header("out/p", 0, tarfile.FIFOTYPE)), "no file, directory"),
    Hostile("a terminal", lambda: good(header("out/t", 0, tarfile.CHRTYPE)), "no file, directory"),
    Hostile("a disk", lambda: good(header("out/d", 0, tarfile.BLKTYPE)), "no file, directory"),
    Hostile("a kind nobody knows", lambda: good(header("out/u", 0, b"Z")), "no file, directory"),
    Hostile(
        "a name of 64 KB in the tar",
        lambda: good(file("@", b"n" * 65_536, kind=b"L"), file("x", b"")),
        "extended header of 65536 bytes",
        TOO_LARGE,
    ),
    Hostile(
        "a name of 5,000 characters in the tar",
        lambda: good(file("@", b"n" * 5_000, kind=b"L"), file("x", b"")),
        "5000 characters",
    ),
    Hostile(
        "a name of 100 MB, it says",
        lambda: good(file("@", b"", size=100 * MEGA, kind=b"L")),
        "extended header",
        TOO_LARGE,
    ),
    Hostile(
        "an extended header of 100 MB, it says",
        lambda: good(file("@", b"", size=100 * MEGA, kind=b"x")),
        "extended header",
        TOO_LARGE,
    ),
    Hostile("a sparse file", lambda: good(header("out/s", 0, b"S")), "a sparse file"),
    Hostile(
        "a sparse file of 8 EB",
        lambda: good(
            pax({"GNU.sparse.major": "1", "GNU.sparse.realsize": str(2**63)}), file("x", b"")
        ),
        "sparse",
    ),
    Hostile(
        "a sparse file with a map of a billion holes",
        lambda: good(
            pax({"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}), file("x", b"9999999999")
        ),
        "sparse",
    ),
    Hostile(
        "a way up in an extended header",
        lambda: good(pax({"path": "../x"}), file("x", b"")),
        "leaves its directory",
    ),
    Hostile(
        "a link that leads out in an extended header",
        lambda: good(pax({"linkpath": "/etc"}), link("out/l", "x")),
        "points outside",
    ),
    Hostile(
        "a negative size in an extended header",
        lambda: good(pax({"size": "-1024"}), file("x", b"")),
        "'-1024' bytes",
    ),
    Hostile(
        "an endless size in an extended header",
        lambda: good(pax({"size": "9" * 4_000}), file("x", b"")),
        "has a member of",
    ),
    Hostile("one name for all", lambda: good(pax({"path": "x"}, kind=b"g")), "all members one"),
    Hostile("a damaged extended header", lambda: good(file("@", b"99 a", kind=b"x")), "damaged"),
    Hostile("a negative size", lambda: good(file("x", b"", size=-BLOCK)), "-512 bytes"),
    Hostile("a size of 8 EB", lambda: good(file("x", b"", size=2**63)), "at most", TOO_LARGE),
    Hostile(
        "an ADL of 100 MB, it says",
        lambda: sab(tar_of(file(ADL_PATH, ADL, size=100 * MEGA))),
        "at most 67108864",
        TOO_LARGE,
    ),
    Hostile(
        "one file too many",
        lambda: good(*(file(f"out/{number}", b"") for number in range(2_000))),
        "more than 2000 members",
        TOO_LARGE,
    ),
    Hostile(
        "extended headers of nothing",
        lambda: good(*(pax({"comment": str(number)}) for number in range(3_000))),
        "more than 2000 members",
        TOO_LARGE,
    ),
)
ARCHIVES = CONTAINERS + TARS
