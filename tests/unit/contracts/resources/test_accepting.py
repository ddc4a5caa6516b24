"""What of an accepted Job spec is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.resources import JobSpec, ignored_fields

SMALLEST: dict[str, Any] = {"bundle": {"name": "demo.Main.sab"}}


def ignored_paths(**fields: Any) -> set[str]:
    return {each.path for each in ignored_fields({**SMALLEST, **fields})}


def test_a_plain_job_has_nothing_ignored() -> None:
    assert ignored_fields(SMALLEST) == ()


def test_defaults_that_the_api_server_filled_in_are_not_reported() -> None:
    filled = JobSpec.model_validate(SMALLEST).model_dump(by_alias=True, mode="json")
    assert ignored_fields(filled) == ()


def test_what_the_original_s_operator_wrote_is_ignored_by_name() -> None:
    paths = ignored_paths(
        id=4,
        generationId=0,
        status="Submitted",
        statistics={"serviceCount": 3},
        parallelRegionWidths={"Region1": 2},
        processingElement={"launchCount": 7, "connectivity": "Full", "operators": []},
    )
    assert paths == {
        "spec.id",
        "spec.generationId",
        "spec.status",
        "spec.statistics",
        "spec.parallelRegionWidths",
        "spec.processingElement.launchCount",
        "spec.processingElement.connectivity",
        "spec.processingElement.operators",
    }


def test_an_ignored_field_in_a_list_is_named_with_its_position() -> None:
    regions = [{"alias": "A", "width": 2}, {"alias": "B", "width": 2, "index": 1}]
    assert ignored_paths(parallelRegions=regions) == {"spec.parallelRegions[1].index"}


def test_every_ignored_field_says_why() -> None:
    (ignored,) = ignored_fields({**SMALLEST, "generationId": 90})
    assert ignored.path == "spec.generationId"
    assert "operator" in ignored.why


def test_what_matters_for_an_url_only_is_ignored_without_one() -> None:
    given = {"name": "x", "pullPolicy": "Always", "secret": "s"}
    assert ignored_paths(bundle=given) == {"spec.bundle.pullPolicy", "spec.bundle.secret"}
    assert ignored_paths(bundle={**given, "url": "https://h/x"}) == set()
    http = {**given, "http": {"url": "https://h/x"}}
    assert ignored_paths(bundle=http) == {"spec.bundle.secret"}


@pytest.mark.parametrize(
    "template",
    [
        {"transportSecurityType": "TLSv1.2"},
        {"checkpointRepository": {"redis": {"service": "r"}}},
        {"checkpointDataStore": {"redis": {"service": "r"}}},
        {"podTemplate": {"spec": {"priorityClassName": "high"}}},
    ],
)
def test_what_a_pod_is_made_of_is_not_ignored(template: dict[str, Any]) -> None:
    assert ignored_paths(processingElement=template) == set()
