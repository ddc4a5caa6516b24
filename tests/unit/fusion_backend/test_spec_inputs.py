"""What of a Job's spec reaches the planner and the server of its bundle, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.reasons import Reason
from contracts.resources import JobSpec
from planner.graph.threading_models import Threading
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.inputs import bundle_source, first_inputs, fusion_of

OF_GITHUB = "https://api.github.com/repos/u/r/contents/x.sab"


def spec_of(**spec: Any) -> JobSpec:
    return JobSpec.model_validate({"bundle": {"name": "x.sab"}, **spec})


def test_a_bundle_behind_a_url_has_the_root_certificate_that_the_spec_names() -> None:
    ca = {"configMapName": "roots", "subPath": "hub.pem"}
    url = "https://example.com/x.sab"
    bundle = {"name": "x.sab", "http": {"url": url, "certificationAuthority": ca}}
    found = bundle_source(spec_of(bundle=bundle))
    assert (found.url, found.url_field) == (url, "http.url")
    assert (found.ca_config_map, found.ca_key) == ("roots", "hub.pem")


def test_values_and_threading_of_a_job_reach_the_planner() -> None:
    spec = spec_of(
        submissionTimeValues={"b": "2", "a": "1"}, threadingModel={"dynamic": {"threadCount": 3}}
    )
    found = first_inputs(spec, job_name="j", job_id=1, generation=0, cluster=Cluster())
    assert found.submission_time_values == (("a", "1"), ("b", "2"))
    assert found.threading == Threading("dynamic", 3, False)


def test_a_job_is_fused_as_its_spec_says() -> None:
    assert fusion_of(spec_of(fusion={"legacy": True}), Cluster()).scheme == "legacy"
    manual = fusion_of(spec_of(fusion={"manual": 3}), Cluster())
    assert (manual.scheme, manual.pes_max) == ("manual", 3)


def test_channels_fuse_like_all_else_unless_the_job_asks_for_more() -> None:
    found = fusion_of(spec_of(fusion={"manual": 3}), Cluster())
    assert found.type == "noChannelInfluence"
    isolated = fusion_of(spec_of(fusion={"manual": 3, "type": "channelIsolation"}), Cluster())
    assert isolated.type == "channelIsolation"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/x.sab",
        "http://api.github.com/repos/u/r/contents/x.sab",
        "https://api.github.com/repos/u/r/x.sab",
        "https://api.github.com/repos/u/r/contents/x.zip",
    ],
)
def test_a_token_goes_only_to_a_url_of_github_s_api(url: str) -> None:
    """Anybody may create a Job: a Secret of its namespace must not be sent to any server."""
    refusal = refusal_of_spec({"bundle": {"name": "x.sab", "github": {"url": url, "secret": "s"}}})
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.SPEC_INVALID, "spec.bundle.github.url")
    assert "https://api.HOST/repos/USER/REPOSITORY/contents/PATH.sab" in refusal.message


def test_a_token_goes_to_github_s_api_and_no_token_anywhere() -> None:
    """Of a URL without a Secret any form is taken."""
    for github in ({"url": OF_GITHUB, "secret": "s"}, {"url": "https://example.com/x.sab"}):
        assert refusal_of_spec({"bundle": {"name": "x.sab", "github": github}}) is None
