"""A bundle of the root counts as there once it is whole."""

from __future__ import annotations

import os
from pathlib import Path

from services.fusion_backend.core.spec.inputs import BundleSource
from tests.unit.fusion_backend.test_bundle_store import FromElsewhere, behind, store_of


async def test_a_bundle_is_whole_once_nobody_has_written_to_it_for_a_moment(
    tmp_path: Path,
) -> None:
    """A part of it would be refused for good as invalid. A time still to come says nothing."""
    now, root = 1_800_000_000.0, tmp_path / "root"
    (root / "deep").mkdir(parents=True)
    for whole in (root / "shop.sab", tmp_path / "secret.sab"):
        whole.write_bytes(b"a bundle")
    store = store_of(tmp_path, FromElsewhere(), now=lambda: now)

    async def is_whole(name: str, *, written_s_ago: float = 60.0) -> bool:
        if (root / name).exists():
            os.utime(root / name, (now - written_s_ago, now - written_s_ago))
        return await store.has_whole(BundleSource(name))

    assert await is_whole("shop.sab")
    assert not await is_whole("shop.sab", written_s_ago=0.5)
    assert await is_whole("shop.sab", written_s_ago=-3600.0)
    (root / "empty.sab").touch()
    for name in ("empty.sab", "missing.sab", "deep", "../secret.sab"):
        assert not await is_whole(name)
    assert not await store.has_whole(behind())
