"""Where a Job's spec says that its bundle is, and which fields an edit of it names."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.resources import JobSpec
from services.fusion_backend.core.spec.inputs import bundle_differences, bundle_source

URL = "https://api.hub.example/repos/u/r/contents/x.sab"


def source_of(**bundle: Any) -> Any:
    spec = JobSpec.model_validate({"bundle": {"name": "x.sab", **bundle}})
    return bundle_source(spec)


@pytest.mark.parametrize("kind", ["http", "github"])
def test_a_source_behind_a_url_has_its_root_certificate_and_an_edit_names_the_field(
    kind: str,
) -> None:
    ca = {"configMapName": "roots", "subPath": "root.pem"}
    source = source_of(**{kind: {"url": URL, "certificationAuthority": ca}})
    assert (source.url, source.ca_config_map, source.ca_key) == (URL, "roots", "root.pem")
    bare = source_of(**{kind: {"url": URL}})
    field = f"spec.bundle.{kind}.certificationAuthority"
    assert list(bundle_differences(bare, source)) == [
        (f"{field}.configMapName", "not given", "roots"),
        (f"{field}.subPath", "not given", "root.pem"),
    ]
    assert [name for name, *_ in bundle_differences(source, bare)] == [
        f"{field}.configMapName",
        f"{field}.subPath",
    ]


def test_only_a_source_of_github_has_a_secret_of_its_own() -> None:
    source = source_of(github={"url": URL, "secret": "hub"})
    assert (source.secret, source.secret_field) == ("hub", "spec.bundle.github.secret")
