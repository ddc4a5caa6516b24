"""The bundle root lets nothing out, and the store keeps what planning was given."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable, Sink, Wanted
from services.fusion_backend.adapters.bundles.incoming import Incoming
from services.fusion_backend.adapters.bundles.root_urls import root_url_of
from services.fusion_backend.adapters.bundles.store import BundleStore, StoreLimits
from services.fusion_backend.core.spec.inputs import BundleSource

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
    return store_of(root.parent, FromElsewhere())


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


async def test_a_missing_bundle_is_refused_without_the_names_of_others(store: BundleStore) -> None:
    refusal = await refused(store, BundleSource("shap.sab"))
    assert refusal.reason is Reason.BUNDLE_MISSING
    what = "is not in the bundle root; put the bundle there, or correct the name"
    assert refusal.message == f"spec.bundle.name: shap.sab {what}"


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


@pytest.mark.parametrize("damage", [b"", CONTENT[:3], b"another bundle"])
async def test_a_damaged_bundle_is_fetched_again_or_missing(
    store: BundleStore, root: Path, damage: bytes
) -> None:
    """What is not what was planned is neither refused as a bad bundle nor planned."""
    source = BundleSource("shop.sab")
    await store.take_in(source)
    kept = root.parent / "store" / f"{DIGEST}.sab"
    kept.write_bytes(damage)
    assert (await store.path_of(DIGEST, source)).read_bytes() == CONTENT
    kept.write_bytes(damage)
    (root / "shop.sab").unlink()
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


@pytest.mark.parametrize("code", [errno.EROFS, errno.EPERM, errno.EACCES])
async def test_a_kept_bundle_is_planned_from_though_the_store_cannot_be_written_to(
    store: BundleStore, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A resize only reads: a disk that became read-only is no reason to hold it up."""
    source = BundleSource("shop.sab")
    await store.take_in(source)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "utime", refuse)
    assert (await store.path_of(DIGEST, source)).read_bytes() == CONTENT


# --------------------------------------------------------------------------- bundles behind URLs

URL = "https://bundles.example/shop.sab?key=hidden"
ZIP = b"PK\3\4 a bundle"


class FromElsewhere:
    """A fetcher and keys: answers with what is there, and counts."""

    def __init__(self, content: bytes = ZIP) -> None:
        self.content = content
        self.asked: list[Wanted] = []
        self.away = False
        self.gates: dict[str, asyncio.Event] = {}

    async def fetch(self, wanted: Wanted, bytes_max: int, sink: Sink) -> None:
        """Give it in pieces."""
        self.asked.append(wanted)
        content = self.content
        if gate := self.gates.get(wanted.url):
            await gate.wait()
        await sink(content[:3])
        if self.away:
            raise wanted.unreadable("it is away")
        await sink(content[3:])

    async def token(self, namespace: str, source: BundleSource) -> str:
        """The token of a namespace."""
        return f"token of {namespace}" if source.secret else ""

    async def certificates(self, namespace: str, source: BundleSource) -> str:
        """The roots of a namespace."""
        return f"roots of {namespace}" if source.ca_config_map else ""


@pytest.fixture
def elsewhere() -> FromElsewhere:
    """What is behind every URL."""
    return FromElsewhere()


def store_of(
    tmp_path: Path,
    elsewhere: FromElsewhere,
    *,
    root_url: str = "",
    now: Callable[[], float] = time.time,
) -> BundleStore:
    """A store, as a process that starts would make it."""
    return BundleStore(
        root=tmp_path / "root",
        store=tmp_path / "store",
        fetcher=elsewhere,
        keys=elsewhere,
        root_url=root_url_of(root_url),
        limits=StoreLimits(bytes_max=100),
        now=now,
        in_threads=False,
    )


def behind(url: str = URL, **more: str) -> BundleSource:
    """A source behind a URL."""
    given = {"url_field": "http.url", "pull_policy": "IfNotPresent"} | more
    return BundleSource("shop.sab", url=url, **given)


async def test_what_was_fetched_is_there_for_a_store_that_starts_again(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """A restarted service plans a resize although the server is gone."""
    digest = await store_of(tmp_path, elsewhere).take_in(behind(), "default")
    assert digest == hashlib.sha256(ZIP).hexdigest()
    elsewhere.away = True
    path = await store_of(tmp_path, elsewhere).path_of(digest, behind(), "default")
    assert path.read_bytes() == ZIP
    assert len(elsewhere.asked) == 1


async def test_a_bundle_is_fetched_again_if_it_is_not_present_or_always(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    store = store_of(tmp_path, elsewhere)
    first = await store.take_in(behind(), "default")
    elsewhere.content = ZIP + b", another one"
    assert await store.take_in(behind(), "default") == first, "it is present"
    second = await store.take_in(behind(pull_policy="Always"), "default")
    assert second != first
    assert await store.take_in(behind(), "default") == second, "the newest one is present"
    assert len(elsewhere.asked) == 2
    (tmp_path / "store" / f"{second}.sab").unlink()
    assert await store.take_in(behind(), "default") == second, "its file is gone: fetched again"


async def test_what_another_namespace_or_another_secret_fetched_is_not_present(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """A private bundle is given to those who may have it, not to all who know its URL."""
    store = store_of(tmp_path, elsewhere)
    private = behind(url_field="github.url", secret="mine")
    await store.take_in(private, "default")
    await store.take_in(private, "other")
    await store.take_in(behind(url_field="github.url", secret="yours"), "default")
    await store.take_in(behind(url_field="github.url"), "default")
    await store.take_in(behind(ca_config_map="roots"), "default")
    assert [each.token for each in elsewhere.asked] == [
        "token of default",
        "token of other",
        "token of default",
        "",
        "",
    ]
    assert [each.certificates for each in elsewhere.asked] == ["", "", "", "", "roots of default"]


async def test_what_was_no_good_bundle_is_not_present_for_the_next(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    store = store_of(tmp_path, elsewhere)
    await store.take_in(behind(), "default")
    await store.distrust(behind(), "default")
    await store.take_in(behind(), "default")
    assert len(elsewhere.asked) == 2


async def test_what_is_no_zip_is_refused_and_nothing_of_it_stays(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """A page that asks people to log in."""
    elsewhere.content = b"<html>log in"
    refusal = await refused_behind(store_of(tmp_path, elsewhere))
    assert refusal.reason is Reason.BUNDLE_INVALID
    assert "log in" not in refusal.message
    assert [each for each in (tmp_path / "store").rglob("*") if each.is_file()] == []


async def test_a_broken_fetch_leaves_nothing(tmp_path: Path, elsewhere: FromElsewhere) -> None:
    elsewhere.away = True
    with pytest.raises(BundleUnreadable, match="it is away"):
        await store_of(tmp_path, elsewhere).take_in(behind(), "default")
    assert [each for each in (tmp_path / "store").rglob("*") if each.is_file()] == []


async def test_a_bundle_too_large_leaves_nothing(tmp_path: Path, elsewhere: FromElsewhere) -> None:
    elsewhere.content = ZIP + bytes(100)
    refusal = await refused_behind(store_of(tmp_path, elsewhere))
    assert refusal.reason is Reason.BUNDLE_TOO_LARGE
    assert [each for each in (tmp_path / "store").rglob("*") if each.is_file()] == []


async def refused_behind(store: BundleStore) -> PlanRefused:
    with pytest.raises(PlanRefused) as caught:
        await store.take_in(behind(), "default")
    assert caught.value.field == "spec.bundle.http.url"
    assert caught.value.value == "https://bundles.example/shop.sab"
    assert "hidden" not in caught.value.message
    return caught.value


async def test_a_lost_bundle_that_has_changed_where_it_came_from_is_missing(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    store = store_of(tmp_path, elsewhere)
    digest = await store.take_in(behind(), "default")
    (tmp_path / "store" / f"{digest}.sab").unlink()
    elsewhere.content = ZIP + b"!"
    with pytest.raises(PlanRefused) as caught:
        await store.path_of(digest, behind(), "default")
    assert caught.value.reason is Reason.BUNDLE_MISSING


async def test_what_was_fetched_before_and_is_damaged_is_not_present(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    store = store_of(tmp_path, elsewhere)
    first = await store.take_in(behind(), "default")
    (tmp_path / "store" / f"{first}.sab").write_bytes(b"")
    elsewhere.content = ZIP + b"!"
    second = await store.take_in(behind(), "default")
    assert second == hashlib.sha256(ZIP + b"!").hexdigest()


async def test_names_and_paths_may_be_those_of_a_store_behind_http(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """It is requested each submission, and trusted as the directory is."""
    store = store_of(tmp_path, elsewhere, root_url="https://store.example/apps/")
    await store.take_in(BundleSource("a b.sab"), "default")
    await store.take_in(BundleSource("x.sab", "deep/ü.sab"), "default")
    assert [each.url for each in elsewhere.asked] == [
        "https://store.example/apps/a%20b.sab",
        "https://store.example/apps/deep/%C3%BC.sab",
    ]
    assert all(each.is_ours and not each.token for each in elsewhere.asked)
    for source in (BundleSource("../x.sab"), BundleSource("x", "../x.sab"), BundleSource("a/b")):
        assert (await refused(store, source)).reason is Reason.SPEC_INVALID


@pytest.mark.parametrize("is_fetched", [True, False])
async def test_a_full_disk_is_reported_as_one_and_leaves_nothing(
    tmp_path: Path, elsewhere: FromElsewhere, monkeypatch: pytest.MonkeyPatch, is_fetched: bool
) -> None:
    """It is no fault of the server or of the bundle root."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "shop.sab").write_bytes(ZIP)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Incoming, "write", full)
    source = behind() if is_fetched else BundleSource("shop.sab")
    with pytest.raises(BundleUnreadable, match="cannot be copied into the bundle store") as caught:
        await store_of(tmp_path, elsewhere).take_in(source, "default")
    assert os.strerror(errno.ENOSPC) in str(caught.value)
    assert source.field in str(caught.value)
    assert [each for each in (tmp_path / "store").rglob("*") if each.is_file()] == []


async def test_what_is_taken_in_or_planned_from_is_marked_as_used(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    now = [1_000.0]
    store = store_of(tmp_path, elsewhere, now=lambda: now[0])
    digest = await store.take_in(behind(), "default")
    path = await store.path_of(digest, behind(), "default")
    assert path.stat().st_mtime == 1_000.0
    now[0] = 2_000.0
    await store.take_in(behind(), "default")
    assert path.stat().st_mtime == 2_000.0
    now[0] = 3_000.0
    await store.path_of(digest, behind(), "default")
    assert path.stat().st_mtime == 3_000.0
