"""A bundle root in S3 is asked with a signature that S3 takes, in every way to say who asks."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable, HttpFetcher
from services.fusion_backend.adapters.bundles.root_urls import root_url_of
from services.fusion_backend.adapters.bundles.store import BundleStore
from services.fusion_backend.core.spec.inputs import BundleSource
from services.fusion_backend.settings import FusionBackendSettings
from tests.unit.fusion_backend.s3_serving import KEY_ID, S3, SECRET_KEY, signature_of
from tests.unit.fusion_backend.serving import (
    HOST,
    Served,
    fetcher,
    serving,
    to_this_machine,
)

ZIP = b"PK\3\4 a bundle"
DIGEST = hashlib.sha256(ZIP).hexdigest()
KEYS = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
NOWHERE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    "AWS_CONFIG_FILE": "/nowhere",
}


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says nothing of who we are, and no file or server of this machine does."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in NOWHERE.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """A server without TLS."""
    async with serving() as served:
        yield served


def say(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def s3_behind(server: Served, monkeypatch: pytest.MonkeyPatch, *, session_token: str = "") -> S3:
    """A bucket behind the server, which the environment says is S3."""
    objects = {"live/shop.sab": ZIP, "live/deep/a b+ü!@~.sab": ZIP}
    s3 = S3("apps", "eu-central-1", objects, session_token=session_token)
    server.otherwise = s3.answer
    say(monkeypatch, {"AWS_ENDPOINT_URL": server.url("/"), "AWS_REGION": "eu-central-1"})
    return s3


class NoKeys:
    """Names and paths in a root need nothing of the job's namespace."""

    async def token(self, namespace: str, source: BundleSource) -> str:
        raise AssertionError("it was asked for a token")

    async def certificates(self, namespace: str, source: BundleSource) -> str:
        raise AssertionError("it was asked for roots")


def store_of(tmp_path: Path, *, by: HttpFetcher | None = None) -> BundleStore:
    return BundleStore(
        root=tmp_path / "root",
        store=tmp_path / "store",
        fetcher=by or HttpFetcher(resolve=to_this_machine),
        keys=NoKeys(),
        now=time.time,
        root_url=root_url_of("s3://apps/live/"),
    )


def test_the_server_of_these_tests_signs_as_the_published_example_does() -> None:
    """GET Object of the documentation of S3's Signature 4, with a range."""
    nothing = hashlib.sha256(b"").hexdigest()
    headers = {
        "host": "examplebucket.s3.amazonaws.com",
        "range": "bytes=0-9",
        "x-amz-content-sha256": nothing,
        "x-amz-date": "20130524T000000Z",
    }
    signed = "host;range;x-amz-content-sha256;x-amz-date"
    scope = "20130524/us-east-1/s3/aws4_request"
    assert (
        signature_of("GET", "/test.txt", "", headers, signed, scope)
        == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
    )


@pytest.mark.parametrize("way", ["environment", "session", "file"])
async def test_a_private_bucket_gives_bundles_to_who_says_who_it_is(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """By variables, or by a file that a Secret is mounted as."""
    s3 = s3_behind(server, monkeypatch, session_token="t0ken" if way == "session" else "")
    file = tmp_path / "credentials"
    file.write_text(f"[default]\naws_access_key_id={KEY_ID}\naws_secret_access_key={SECRET_KEY}\n")
    say(
        monkeypatch,
        {
            "environment": KEYS,
            "session": {**KEYS, "AWS_SESSION_TOKEN": "t0ken"},
            "file": {"AWS_SHARED_CREDENTIALS_FILE": str(file)},
        }[way],
    )
    assert await store_of(tmp_path).take_in(BundleSource("shop.sab")) == DIGEST
    deep = BundleSource("x", "deep/a b+ü!@~.sab")
    assert await store_of(tmp_path).take_in(deep) == DIGEST
    assert [status for _, status in s3.asked] == [200, 200]
    assert s3.asked[1][0] == "/apps/live/deep/a%20b%2B%C3%BC%21%40~.sab"


async def test_what_is_not_in_the_bucket_is_missing_and_says_no_key(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3_behind(server, monkeypatch)
    say(monkeypatch, KEYS)
    with pytest.raises(PlanRefused) as caught:
        await store_of(tmp_path).take_in(BundleSource("other.sab"))
    assert caught.value.reason is Reason.BUNDLE_MISSING
    assert caught.value.field == "spec.bundle.name"
    assert f"{HOST}:{server.port}/apps/live/other.sab" in caught.value.message
    assert KEY_ID not in caught.value.message


async def test_a_wrong_key_is_refused_as_what_a_setting_has_to_change(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3_behind(server, monkeypatch)
    say(monkeypatch, {**KEYS, "AWS_SECRET_ACCESS_KEY": "another"})
    with pytest.raises(PlanRefused) as caught:
        await store_of(tmp_path).take_in(BundleSource("shop.sab"))
    assert caught.value.reason is Reason.BUNDLE_FORBIDDEN
    assert "settings of fusion-backend" in caught.value.message
    assert "another" not in caught.value.message


async def test_where_nobody_says_who_we_are_it_is_trouble_and_nobody_is_asked(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Secret may be mounted later."""
    s3 = s3_behind(server, monkeypatch)
    with pytest.raises(BundleUnreadable, match="AWS_ACCESS_KEY_ID") as caught:
        await store_of(tmp_path).take_in(BundleSource("shop.sab"))
    assert "spec.bundle.name: shop.sab" in str(caught.value)
    assert s3.asked == []


async def test_a_redirect_to_another_origin_sees_no_signature(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3_behind(server, monkeypatch)
    say(monkeypatch, KEYS)
    other = f"http://localhost:{server.port}/elsewhere"
    server.at("/apps/live/shop.sab", status=307, headers={"Location": other})
    server.at("/elsewhere", ZIP)
    await store_of(tmp_path, by=fetcher()).take_in(BundleSource("shop.sab"))
    first, second = server.requests
    assert "Authorization" in first.headers
    assert not {"Authorization", "X-Amz-Date", "X-Amz-Content-SHA256"} & second.headers.keys()


@pytest.mark.parametrize(
    ("url", "environment", "expected"),
    [
        ("s3://apps", {}, "https://apps.s3.us-east-1.amazonaws.com/x.sab"),
        (
            "s3://apps/a b/c/",
            {"AWS_DEFAULT_REGION": "eu-west-1"},
            "https://apps.s3.eu-west-1.amazonaws.com/a%20b/c/x.sab",
        ),
        (
            "s3://my.apps",
            {"AWS_REGION": "eu-west-1"},
            "https://s3.eu-west-1.amazonaws.com/my.apps/x.sab",
        ),
        (
            "s3://apps/p",
            {"AWS_ENDPOINT_URL": "http://store:9000"},
            "http://store:9000/apps/p/x.sab",
        ),
        (
            "s3://apps",
            {"AWS_ENDPOINT_URL": "http://no", "AWS_ENDPOINT_URL_S3": "https://store/"},
            "https://store/apps/x.sab",
        ),
        ("https://store/apps/", {}, "https://store/apps/x.sab"),
    ],
)
def test_a_bucket_is_where_its_region_or_endpoint_says(
    url: str, environment: dict[str, str], expected: str
) -> None:
    root = root_url_of(url, environment)
    assert root is not None
    wanted = root.wanted(BundleSource("x.sab"))
    assert wanted.url == expected
    assert wanted.is_ours


@pytest.mark.parametrize("wrong", ["s3://", "s3://A_B/x", "s3:/apps", "ftp://store/apps", "apps"])
def test_a_root_that_is_invalid_is_refused_at_the_start_with_the_form(wrong: str) -> None:
    with pytest.raises(ValidationError, match="s3://BUCKET/PREFIX"):
        FusionBackendSettings(bundle_root=Path("b"), bundle_store=Path("s"), bundle_root_url=wrong)


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_endpoint_that_is_invalid_is_refused_by_the_name_of_its_variable(name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} "):
        root_url_of("s3://apps", {name: "store:9000"})


def test_a_url_is_no_folder() -> None:
    with pytest.raises(ValidationError, match="MILLRACE_BUNDLE_ROOT_URL"):
        FusionBackendSettings(bundle_root=Path("s3://apps/live"), bundle_store=Path("s"))
