"""What every PE would carry is refused where it is too deep or too large, with the arithmetic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.bundle_format import pack
from contracts.reasons import Reason
from contracts.resources import JobSpec
from contracts.resources.fields import MESSAGE_CHARS_MAX
from planner.refusals import PlanRefused
from services.fusion_backend.adapters.planner import Applications, PlanTask, run_task
from services.fusion_backend.core.spec.accepting import refusal_of_spec, sentence
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.editing import refusal_of_edit
from services.fusion_backend.core.spec.inputs import PlanInputs, first_inputs, template_of
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES
from services.fusion_backend.core.spec.sizing import (
    COPIES_BYTES_MAX,
    OPTIONS_BYTES_MAX,
    REGIONS_BYTES_MAX,
    TEMPLATE_BYTES_MAX,
    TEMPLATE_DEPTH_MAX,
    VALUES_BYTES_MAX,
    refusal_of_copies,
)
from tests.places import ROOT

POD_TEMPLATE = "spec.processingElement.podTemplate"


def spec_of(**options: Any) -> dict[str, Any]:
    return {"bundle": {"name": "a.sab"}, "processingElement": options}


def template_of_bytes(size: int) -> dict[str, Any]:
    """A pod template of so many bytes as JSON, in annotations of a length that each may have."""
    around = len('{"metadata":{"annotations":{"a":"","b":"","c":""}}}')
    left, texts = size - around, {}
    for name in "abc":
        texts[name] = "x" * min(left, 30_000)
        left -= len(texts[name])
    return {"metadata": {"annotations": texts}}


def nested(levels: int) -> Any:
    value: Any = {}
    for level in range(levels - 1):
        value = [value] if level % 2 else {"a": value}
    return value


def inputs_of(spec: dict[str, Any]) -> PlanInputs:
    return first_inputs(
        JobSpec.model_validate(spec),
        job_name="shop",
        job_id=0,
        generation=0,
        cluster=Cluster(),
        template=template_of(spec),
    )


@pytest.mark.parametrize("levels", [TEMPLATE_DEPTH_MAX + 1, 64, 20_000])
def test_a_template_that_is_too_deep_is_refused_however_deep_it_is(levels: int) -> None:
    """It may be stored under an older definition, which kept every field."""
    refused = refusal_of_spec(spec_of(podTemplate=nested(levels)))
    assert refused is not None
    assert (refused.reason, refused.field) == (Reason.TEMPLATE_TOO_LARGE, POD_TEMPLATE)
    assert "nests more than 32 levels deep" in sentence(refused)


def test_a_template_of_as_many_levels_as_may_be_is_not_too_deep() -> None:
    deepest = spec_of(podTemplate={"metadata": None, "spec": {"x": nested(TEMPLATE_DEPTH_MAX - 2)}})
    refused = refusal_of_spec(deepest)
    assert refused is None or refused.reason is not Reason.TEMPLATE_TOO_LARGE


@pytest.mark.parametrize(
    ("spec", "reason", "field", "most"),
    [
        (
            spec_of(podTemplate=template_of_bytes(TEMPLATE_BYTES_MAX + 1)),
            Reason.TEMPLATE_TOO_LARGE,
            POD_TEMPLATE,
            TEMPLATE_BYTES_MAX,
        ),
        (
            spec_of(operators=["x" * 30_000], dataPath="/" + "y" * 4_000),
            Reason.TEMPLATE_TOO_LARGE,
            "spec.processingElement.operators",
            OPTIONS_BYTES_MAX,
        ),
        (
            {"bundle": {"name": "a.sab"}, "submissionTimeValues": {"v" * VALUES_BYTES_MAX: "1"}},
            Reason.SPEC_INVALID,
            "spec.submissionTimeValues",
            VALUES_BYTES_MAX,
        ),
        (
            {
                "bundle": {"name": "a.sab"},
                "parallelRegions": [
                    {"alias": f"{at}{'r' * 4000}", "width": 2}
                    for at in range(1 + REGIONS_BYTES_MAX // 4000)
                ],
            },
            Reason.SPEC_INVALID,
            "spec.parallelRegions",
            REGIONS_BYTES_MAX,
        ),
    ],
    ids=["template", "options", "values", "regions"],
)
def test_what_is_too_large_is_refused_with_field_bytes_limit_and_what_to_do(
    spec: dict[str, Any], reason: Reason, field: str, most: int
) -> None:
    refused = refusal_of_spec(spec)
    assert refused is not None
    assert (refused.reason, refused.field) == (reason, field)
    told = sentence(refused)
    assert f"{field} is " in told
    assert f"at most {most:,} are taken" in told
    assert "keep long texts" in told or "name regions with *" in told
    assert len(told) < 400


def test_a_template_of_exactly_the_limit_is_taken() -> None:
    spec = spec_of(podTemplate=template_of_bytes(TEMPLATE_BYTES_MAX))
    assert refusal_of_spec(spec) is None


def test_the_largest_template_fits_into_a_thousand_pes_with_the_usual_options() -> None:
    template = template_of_bytes(TEMPLATE_BYTES_MAX)
    usual = JobSpec.model_validate({"bundle": {"name": "a.sab"}}).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    spec = {**usual, "processingElement": {**usual["processingElement"], "podTemplate": template}}
    assert refusal_of_copies(inputs_of(spec), 1_000) is None


def test_bytes_times_pes_are_refused_with_the_arithmetic() -> None:
    spec = spec_of(podTemplate=template_of_bytes(60_000), image="image:1")
    inputs = inputs_of(spec)
    one = 60_000 + len('"image:1"')
    most = COPIES_BYTES_MAX // one
    assert refusal_of_copies(inputs, most) is None
    refused = refusal_of_copies(inputs, 5_000)
    assert refused is not None
    assert refusal_of_copies(inputs, most + 1) is not None
    assert (refused.reason, refused.field) == (Reason.TEMPLATE_TOO_LARGE, POD_TEMPLATE)
    told = sentence(refused)
    for said in (
        "is 60,000 bytes",
        f"are {one:,}",
        "5,000 PEs",
        f"{one * 5_000:,} bytes",
        f"at most {COPIES_BYTES_MAX:,}",
    ):
        assert said in told


def test_values_count_for_every_pe_as_options_do() -> None:
    values = {"one": "v" * 30_000, "two": "w" * 30_000}
    spec = {"bundle": {"name": "a.sab"}, "submissionTimeValues": values}
    refused = refusal_of_copies(inputs_of(spec), 2_000)
    assert refused is not None
    assert refused.field == "spec.submissionTimeValues"


def test_what_is_ignored_of_a_template_is_copied_into_no_pe() -> None:
    spec = spec_of(operators=["x" * 30_000])
    assert refusal_of_copies(inputs_of(spec), 80_000) is None


def test_the_largest_plan_there_is_takes_the_usual_options() -> None:
    """A plan record holds about 88,000 PEs."""
    usual = JobSpec.model_validate({"bundle": {"name": "a.sab"}}).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    assert refusal_of_copies(inputs_of(usual), 88_000) is None


def test_an_edit_that_the_pes_that_run_could_not_carry_is_refused() -> None:
    """The same edit of a smaller job is not, nor is a job that was never edited."""
    inputs = inputs_of(spec_of())
    spec = spec_of(podTemplate=template_of_bytes(60_000))
    assert refusal_of_edit(spec, inputs, DEFAULT_RULES, 1_000) is None
    refused = refusal_of_edit(spec, inputs, DEFAULT_RULES, 5_000)
    assert refused is not None
    assert refused.reason is Reason.EDIT_REFUSED
    assert "5,000 PEs would carry" in refused.message
    assert "take the edit back" in refused.message
    as_it_was = replace(inputs, template=template_of(spec))
    assert refusal_of_edit(spec, as_it_was, DEFAULT_RULES, 5_000) is None


def test_a_refusal_fits_into_a_status_whatever_it_speaks_of() -> None:
    """Keys of maps have any length, and are named by their path."""
    key = "k" * 60_000
    refused = refusal_of_spec(spec_of(podTemplate={"metadata": {"labels": {key: "x"}}}))
    assert refused is not None
    assert len(sentence(refused)) < MESSAGE_CHARS_MAX
    huge = PlanRefused(Reason.SPEC_INVALID, field=key, value=key, message=key * 2)
    assert len(sentence(huge)) < MESSAGE_CHARS_MAX


def test_the_planner_refuses_a_plan_before_anybody_records_it(tmp_path: Path) -> None:
    """But not the texts of a generation that is in force."""
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    bundle = tmp_path / "wordcount.sab"
    bundle.write_bytes(pack(adl.read_bytes()))
    spec = {
        "bundle": {"name": bundle.name},
        "fusion": {"legacy": True},
        "submissionTimeValues": {"width": "1200"},
        "processingElement": {"podTemplate": template_of_bytes(TEMPLATE_BYTES_MAX)},
    }
    inputs, applications = inputs_of(spec), Applications()
    with pytest.raises(PlanRefused, match="1,204 PEs would carry"):
        run_task(PlanTask(inputs, "d", bundle), applications)
    again = replace(inputs, rendered=(0,))
    assert len(run_task(PlanTask(again, "d", bundle), applications).record.pes) == 1_204


def test_the_planner_refuses_a_plan_whose_pes_cannot_share_devices(tmp_path: Path) -> None:
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    bundle = tmp_path / "wordcount.sab"
    bundle.write_bytes(pack(adl.read_bytes()))
    spec = {
        "bundle": {"name": bundle.name},
        "fusion": {"manual": 3},
        "resources": {"limits": {"cpu": "3", "nvidia.com/gpu": "2"}},
    }
    inputs, applications = inputs_of(spec), Applications()
    with pytest.raises(PlanRefused, match="2, and 3 PEs would share it") as refused:
        run_task(PlanTask(inputs, "d", bundle), applications)
    assert refused.value.reason is Reason.SPEC_INVALID
    assert run_task(PlanTask(replace(inputs, rendered=(0,)), "d", bundle), applications)


def test_an_edit_whose_pes_could_not_share_devices_is_refused() -> None:
    """The next resize would take it up."""
    spec = {"bundle": {"name": "a.sab"}, "resources": {"limits": {"nvidia.com/gpu": "4"}}}
    fewer = {**spec, "resources": {"limits": {"nvidia.com/gpu": "3"}}}
    inputs = inputs_of(spec)
    assert refusal_of_edit(fewer, inputs, DEFAULT_RULES, 3) is None
    refused = refusal_of_edit(fewer, inputs, DEFAULT_RULES, 4)
    assert refused is not None
    assert "3, and 4 PEs would share it" in refused.message
