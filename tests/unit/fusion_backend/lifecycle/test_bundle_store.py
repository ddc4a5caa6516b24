"""The bundle root lets nothing out, and the store keeps what planning was given."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from contracts.bundle_format import BundleLimits
from contracts.reasons import Reason
from services.fusion_backend.adapters.bundle_store import BundleStore, BundleUnreadable
from services.fusion_backend.core.inputs import BundleSource
from services.fusion_backend.core.refusals import PlanRefused

CONTENT = b"a bundle"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A bundle root with one bundle, and a secret beside it."""
    folder = tmp_path / "root"
    (folder / "deep").mkdir(parents=True)
    (folder / "shop.sab").write_bytes(CONTENT)
    (folder / "deep" / "other.sab").write_bytes(CONTENT)
    (tmp_path / "secret.sab").write_bytes(b"secret")
    return folder


@pytest.fixture
def store(root: Path) -> BundleStore:
    """A store over that root."""
    limits = BundleLimits(compressed_bytes_max=100)
    return BundleStore(root=root, store=root.parent / "store", limits=limits, in_threads=False)


async def refused(store: BundleStore, source: BundleSource) -> PlanRefused:
    """The refusal that taking this in ends with."""
    with pytest.raises(PlanRefused) as caught:
        await store.take_in(source)
    assert source.value in caught.value.message
    assert caught.value.field == source.field
    return caught.value


async def test_a_bundle_is_kept_under_its_digest(store: BundleStore, root: Path) -> None:
    source = BundleSource("shop.sab")
    assert await store.take_in(source) == DIGEST
    (root / "shop.sab").unlink()
    path = await store.path_of(DIGEST, source)
    assert path.name == f"{DIGEST}.sab"
    assert path.read_bytes() == CONTENT


async def test_a_bundle_may_lie_deeper_in_the_root(store: BundleStore) -> None:
    assert await store.take_in(BundleSource("other.sab", "deep/other.sab")) == DIGEST


async def test_a_missing_bundle_is_refused_with_what_there_is(store: BundleStore) -> None:
    refusal = await refused(store, BundleSource("shap.sab"))
    assert refusal.reason is Reason.BUNDLE_MISSING
    assert refusal.field == "spec.bundle.name"
    assert "shop.sab" in refusal.message


@pytest.mark.parametrize(
    "path", ["../secret.sab", "/etc/passwd", "deep/../../secret.sab", "link.sab", "dir/secret.sab"]
)
async def test_no_path_leads_out_of_the_root(store: BundleStore, root: Path, path: str) -> None:
    (root / "link.sab").symlink_to(root.parent / "secret.sab")
    (root / "dir").symlink_to(root.parent)
    refusal = await refused(store, BundleSource("x.sab", path))
    assert refusal.reason is Reason.SPEC_INVALID
    assert not any((root.parent / "store").glob("*"))


async def test_a_name_is_no_path(store: BundleStore) -> None:
    refusal = await refused(store, BundleSource("deep/other.sab"))
    assert refusal.reason is Reason.SPEC_INVALID


async def test_a_bundle_over_the_limit_leaves_nothing(store: BundleStore, root: Path) -> None:
    (root / "large.sab").write_bytes(b"x" * 101)
    refusal = await refused(store, BundleSource("large.sab"))
    assert refusal.reason is Reason.BUNDLE_TOO_LARGE
    assert not any((root.parent / "store").iterdir())


async def test_what_is_no_regular_file_is_refused_without_waiting(
    store: BundleStore, root: Path
) -> None:
    os.mkfifo(root / "pipe.sab")
    for name in ("pipe.sab", "deep"):
        assert (await refused(store, BundleSource(name))).reason is Reason.BUNDLE_INVALID


async def test_a_lost_bundle_is_not_replaced_by_another_of_its_name(
    store: BundleStore, root: Path
) -> None:
    source = BundleSource("shop.sab")
    await store.take_in(source)
    (root.parent / "store" / f"{DIGEST}.sab").unlink()
    assert (await store.path_of(DIGEST, source)).is_file(), "the same bundle is fetched again"
    (root.parent / "store" / f"{DIGEST}.sab").unlink()
    (root / "shop.sab").write_bytes(b"another")
    with pytest.raises(PlanRefused) as caught:
        await store.path_of(DIGEST, source)
    assert caught.value.reason is Reason.BUNDLE_MISSING


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ENOSPC])
async def test_a_bundle_that_cannot_be_read_for_now_is_trouble_and_no_refusal(
    store: BundleStore, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """It names field and value; when it can be read, it is taken in."""
    real = os.open

    def refuse(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(BundleUnreadable, match="cannot be") as caught:
        await store.take_in(BundleSource("shop.sab"))
    assert os.strerror(code) in str(caught.value)
    assert "spec.bundle.name: shop.sab" in str(caught.value)
    monkeypatch.setattr(os, "open", real)
    assert await store.take_in(BundleSource("shop.sab")) == DIGEST
