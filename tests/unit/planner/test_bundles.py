"""Bundles are untrusted: whatever the bytes are, they are opened or refused, within limits."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bundle_format import BundleLimits, pack
from contracts.reasons import Reason
from planner.application.adl import read_application
from planner.application.bundles import open_bundle
from planner.refusals import PlanRefused
from tests.places import corpus
from tests.unit.planner.adl_writing import Adl

ADL = Adl().chain("a", "b").text().encode()
ADL_PATH = "out/demo.Main.adl"


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for header, content in members:
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return buffer.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, target
    return header, b""


def good_tar(*more: tuple[tarfile.TarInfo, bytes], adl: bytes = ADL) -> bytes:
    return tar_of(*more, (tarfile.TarInfo(ADL_PATH), adl))


def sab(
    tar: bytes | None = None,
    *,
    info: str | None = None,
    more: Mapping[str | zipfile.ZipInfo, bytes] | None = None,
    adl_file: str = "demo.Main.adl",
) -> bytes:
    tar = good_tar() if tar is None else tar
    if info is None:
        info = (
            f'<bundleInfoModel adlFile="{adl_file}" applicationDirectory="app"'
            f' buildId="{hashlib.sha224(tar).hexdigest()}" outputDirectory="out"/>'
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bundleInfo.xml", info)
        archive.writestr("tar/bundle.tar", tar)
        for member, content in (more or {}).items():
            archive.writestr(member, content)
    return buffer.getvalue()


def refused(data: bytes, limits: BundleLimits | None = None) -> PlanRefused:
    with pytest.raises(PlanRefused) as caught:
        open_bundle(data, limits)
    return caught.value


def test_a_packed_bundle_opens_again_and_is_the_same_every_time() -> None:
    data = pack(ADL, files={"bin/op.so": b"code"})
    assert data == pack(ADL, files={"bin/op.so": b"code"})
    bundle = open_bundle(data)
    assert bundle.adl == ADL
    assert bundle.adl_path == "output/demo.Main.adl"
    assert bundle.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["apps.parallel.Parallel", "apps.hostpools.HostPools"])
def test_real_bundles_open_although_they_hold_links(name: str) -> None:
    """The links of a real bundle stay inside; they are skipped and never followed."""
    bundle = open_bundle(corpus(f"{name}.sab").read_bytes())
    assert bundle.adl_path.endswith(f"/{name}.adl")
    assert read_application(bundle).name == name.replace(".P", "::P").replace(".H", "::H")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "zip"),
        (b"not a zip at all", "zip"),
        (sab()[:-30], "zip"),
        (sab()[: len(sab()) // 2], "zip"),
        (sab(info="<other/>"), "bundleInfoModel"),
        (sab(info="<bundleInfoModel"), "not well-formed"),
        (sab(info='<bundleInfoModel buildId="x"/>'), "adlFile"),
        (sab(info='<bundleInfoModel adlFile="../x" buildId="x"/>'), "adlFile"),
        (sab(info='<bundleInfoModel adlFile="demo.Main.adl" buildId="beef"/>'), "SHA-224"),
        (sab(adl_file="other.adl"), "has no ADL 'other.adl'"),
        (sab(b"no tar" * 200), "tar"),
        (sab(good_tar()[:700]), "tar"),
        (sab(good_tar((tarfile.TarInfo("../escape"), b"x"))), "leaves its directory"),
        (sab(good_tar((tarfile.TarInfo("/etc/passwd"), b"x"))), "leaves its directory"),
        (sab(good_tar(link("out/bin/sab", "../../../etc/passwd"))), "points outside"),
        (sab(good_tar(link("out/bin/sab", "/etc/passwd"))), "points outside"),
        (sab(good_tar(link("out/hard", "../passwd", tarfile.LNKTYPE))), "points outside"),
        (sab(good_tar(link("out/fifo", "", tarfile.FIFOTYPE))), "no file, directory or link"),
        (sab(tar_of(link(ADL_PATH, "elsewhere"))), "has no ADL"),
        (sab(more={"../escape": b"x"}), "leaves its directory"),
        (sab(more={"/absolute": b"x"}), "leaves its directory"),
        (sab(more={"C:/windows": b"x"}), "leaves its directory"),
    ],
)
def test_a_bad_bundle_is_refused_and_says_why(data: bytes, says: str) -> None:
    """One message per way of being bad; the field is that of the job's spec."""
    error = refused(data)
    assert error.reason is Reason.BUNDLE_INVALID
    assert error.field == "spec.bundle"
    assert says in error.message


def test_a_link_in_the_zip_is_refused() -> None:
    header = zipfile.ZipInfo("link")
    header.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "holds a link" in refused(sab(more={header: b"/etc/passwd"})).message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_second_tar_of_the_same_name_is_refused() -> None:
    """Two readers could see two different applications."""
    assert "more than once" in refused(sab(more={"tar/bundle.tar": b"other"})).message


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (BundleLimits(compressed_bytes_max=100), "at most 100"),
        (BundleLimits(expanded_bytes_max=5_000), "at most 5000"),
        (BundleLimits(member_bytes_max=5_000), "more than 5000"),
        (BundleLimits(info_bytes_max=20), "more than 20"),
        (BundleLimits(adl_bytes_max=200), "at most 200"),
        (BundleLimits(zip_members_max=1), "at most 1"),
    ],
)
def test_every_limit_holds_and_is_named(limits: BundleLimits, says: str) -> None:
    error = refused(sab(), limits)
    assert error.reason is Reason.BUNDLE_TOO_LARGE
    assert says in error.message


def test_a_tar_of_many_members_is_stopped() -> None:
    many = [(tarfile.TarInfo(f"out/{n}"), b"") for n in range(50)]
    error = refused(sab(good_tar(*many)), BundleLimits(members_max=20))
    assert error.reason is Reason.BUNDLE_TOO_LARGE


def test_a_zip_bomb_is_stopped_while_it_expands() -> None:
    """Twenty megabytes of zeros in twenty kilobytes: the ratio stops it long before the end."""
    bomb = good_tar((tarfile.TarInfo("out/zeros"), bytes(20_000_000)))
    error = refused(sab(bomb))
    assert error.reason is Reason.BUNDLE_TOO_LARGE
    assert "tar/bundle.tar expands to more than" in error.message


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x SYSTEM "http://example.com/x.dtd">',
    ],
)
def test_a_document_type_is_refused_in_both_documents(declaration: str) -> None:
    """Entity bombs, external entities and external subsets never reach the parser."""
    info = f'{declaration}<bundleInfoModel adlFile="demo.Main.adl" buildId="x"/>'
    assert "document type" in refused(sab(info=info)).message
    bundle = open_bundle(sab(good_tar(adl=declaration.encode() + ADL)))
    with pytest.raises(PlanRefused, match="document type") as caught:
        read_application(bundle)
    assert caught.value.reason is Reason.ADL_INVALID


def test_a_document_type_cannot_hide_in_an_encoding() -> None:
    adl = ADL.decode().encode("utf-16")
    with pytest.raises(PlanRefused, match="not UTF-8"):
        read_application(open_bundle(sab(good_tar(adl=adl))))


VALID = sab()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), max_size=6),
    st.integers(0, len(VALID)),
)
def test_damage_anywhere_is_a_refusal_or_harmless(
    changes: list[tuple[int, int]], length: int
) -> None:
    """No damaged byte makes any other exception."""
    data = bytearray(VALID)
    for position, value in changes:
        data[position] = value
    try:
        bundle = open_bundle(bytes(data[:length] if not changes else data))
    except PlanRefused:
        return
    assert bundle.adl == ADL
