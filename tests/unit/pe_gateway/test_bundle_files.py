"""Bundles are found by their digest, wherever they are, and nothing else is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from services.pe_gateway.adapters.bundle_files import BundleFiles

DIGEST = hashlib.sha256(b"bundle").hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    (tmp_path / "root").mkdir()
    return tmp_path


async def test_the_store_comes_before_the_root(folder: Path) -> None:
    files = BundleFiles(folder / "store", folder / "root")
    assert await files.find("a.sab", DIGEST) is None
    (folder / "root" / "a.sab").write_bytes(b"bundle")
    assert await files.find("a.sab", DIGEST) == folder / "root" / "a.sab"
    (folder / "store" / f"{DIGEST}.sab").write_bytes(b"bundle")
    assert await files.find("a.sab", DIGEST) == folder / "store" / f"{DIGEST}.sab"


async def test_a_file_of_the_root_that_was_replaced_is_not_the_bundle(folder: Path) -> None:
    files = BundleFiles(None, folder / "root")
    (folder / "root" / "a.sab").write_bytes(b"bundle")
    assert await files.find("a.sab", DIGEST)
    (folder / "root" / "a.sab").write_bytes(b"another one")
    assert await files.find("a.sab", DIGEST) is None


@pytest.mark.parametrize("name", ["../root/a.sab", "a.txt", ".a.sab", ""])
async def test_only_a_bundle_in_the_root_itself_is_looked_at(folder: Path, name: str) -> None:
    (folder / "root" / "a.sab").write_bytes(b"bundle")
    assert await BundleFiles(None, folder / "root").find(name, DIGEST) is None


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", DIGEST.upper()])
async def test_what_is_no_digest_leads_nowhere(folder: Path, digest: str) -> None:
    assert await BundleFiles(folder / "store", None).find("a.sab", digest) is None


def test_it_says_where_it_looks() -> None:
    assert (
        BundleFiles(Path("s"), Path("r")).places == "MILLRACE_BUNDLE_STORE and MILLRACE_BUNDLE_ROOT"
    )
    assert "no setting names a place" in BundleFiles(None, None).places
