"""Tokens and roots are read from the job's namespace, and said nowhere."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.chassis.kube.port import Kube, Resource
from services.chassis.process.errors import NotAllowed, NotFound
from services.fusion_backend.adapters.bundles.fetching import BundleUnreadable
from services.fusion_backend.adapters.bundles.keys import BundleKeys
from services.fusion_backend.core.spec.inputs import BundleSource

TOKEN = "gh-s3cret"
GITHUB = BundleSource(
    "x.sab",
    url="https://api.github.com/repos/u/r/contents/x.sab",
    url_field="github.url",
    secret="hub",
)
HTTP = BundleSource("x.sab", url="https://h/x.sab", url_field="http.url", ca_config_map="roots")


class Objects:
    """The objects of a cluster."""

    def __init__(self, **objects: dict[str, Any]) -> None:
        self.objects = objects
        self.asked: list[tuple[str, str, str]] = []
        self.allowed = True

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        """One object."""
        self.asked.append((resource.kind, namespace, name))
        if not self.allowed:
            raise NotAllowed(403, "Forbidden", "no", {})
        if name not in self.objects:
            raise NotFound(404, "NotFound", "no", {})
        return self.objects[name]


def keys_of(objects: Objects) -> BundleKeys:
    kube: Kube = objects  # type: ignore[assignment]  # nothing but `get` is asked
    return BundleKeys(kube)


def secret(token: bytes, **more: Any) -> dict[str, Any]:
    return {"data": {"token": base64.b64encode(token).decode()}, **more}


async def test_a_token_is_that_of_the_job_s_namespace() -> None:
    objects = Objects(hub=secret(f"{TOKEN}\n".encode()))
    assert await keys_of(objects).token("team-a", GITHUB) == TOKEN
    assert objects.asked == [("Secret", "team-a", "hub")]


async def test_what_names_nothing_reads_nothing() -> None:
    objects = Objects()
    source = BundleSource("x.sab", url="https://h/x.sab", url_field="http.url")
    assert await keys_of(objects).token("default", source) == ""
    assert await keys_of(objects).certificates("default", source) == ""
    assert objects.asked == []


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"data": None},
        {"data": {"other": "eA=="}},
        {"data": {"token": "%%%"}},
        secret(b""),
        secret(b"two words of it"),
        secret(b"line\r\nX-Header: 1"),
        secret("tökén".encode()),
        secret(TOKEN.encode(), type="kubernetes.io/service-account-token"),
    ],
)
async def test_a_secret_without_a_token_of_github_is_refused_and_not_quoted(
    found: dict[str, Any],
) -> None:
    with pytest.raises(PlanRefused) as caught:
        await keys_of(Objects(hub=found)).token("default", GITHUB)
    assert caught.value.reason is Reason.SPEC_INVALID
    assert caught.value.field == "spec.bundle.github.secret"
    assert TOKEN not in caught.value.message
    assert "words" not in caught.value.message


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_secret_that_is_not_there_yet_is_waited_for(allowed: bool) -> None:
    objects = Objects()
    objects.allowed = allowed
    with pytest.raises(BundleUnreadable, match=r"spec.bundle.github.secret: Secret hub"):
        await keys_of(objects).token("default", GITHUB)
    with pytest.raises(BundleUnreadable, match=r"configMapName: ConfigMap roots"):
        await keys_of(objects).certificates("default", HTTP)


@pytest.mark.parametrize(
    ("data", "key", "expected"),
    [
        ({"any": "PEM"}, "", "PEM"),
        ({"ca.crt": "PEM", "b": ""}, "", "PEM"),
        ({"a": "", "b": "PEM"}, "b", "PEM"),
    ],
)
async def test_roots_are_under_the_key_that_is_named_or_the_only_one_or_ca_crt(
    data: dict[str, str], key: str, expected: str
) -> None:
    source = BundleSource(
        "x.sab", url=HTTP.url, url_field="http.url", ca_config_map="roots", ca_key=key
    )
    objects = Objects(roots={"data": data})
    assert await keys_of(objects).certificates("default", source) == expected


async def test_a_key_that_a_config_map_does_not_have_is_refused_with_those_it_has() -> None:
    with pytest.raises(PlanRefused) as caught:
        await keys_of(Objects(roots={"data": {"a": "", "b": ""}})).certificates("default", HTTP)
    assert caught.value.field == "spec.bundle.http.certificationAuthority.subPath"
    assert "(a, b)" in caught.value.message


@pytest.mark.parametrize("text", ["", " \n"])
async def test_a_key_with_nothing_under_it_is_refused_and_is_not_no_root(text: str) -> None:
    """Else the server would be held against other roots than the ones that were meant."""
    with pytest.raises(PlanRefused, match="is a key of ConfigMap roots with nothing") as caught:
        await keys_of(Objects(roots={"data": {"ca.crt": text}})).certificates("default", HTTP)
    assert caught.value.field == "spec.bundle.http.certificationAuthority.subPath"
