"""Reading specs: defaults, synonyms, and what manifests for the original look like."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from contracts.resources import JobSpec, ProcessingElementSpec

SMALLEST = {"bundle": {"name": "demo.Main.sab"}}


def pe(**fields: Any) -> ProcessingElementSpec:
    return ProcessingElementSpec.model_validate({"id": 0, **fields})


def test_the_smallest_job_has_the_documented_defaults() -> None:
    job = JobSpec.model_validate(SMALLEST)
    assert job.fusion.automatic is True
    assert job.submission_time_out_in_seconds == 300
    assert job.transport_certificate_validity_in_days == 30
    assert job.image_pull_policy == "Always"
    assert job.bundle.pull_policy == "IfNotPresent"


def test_a_pe_has_the_documented_defaults() -> None:
    element = pe()
    assert element.build_type is None, "absent means that of the settings"
    assert element.resources.requests == {"cpu": "100m", "memory": "128Mi"}
    assert element.resources.limits is None
    assert (element.restart_failed_pod, element.delete_failed_pod) == (None, True)
    assert (element.restart_completed_pod, element.restart_deleted_pod) == (False, False)
    assert element.initial_probe_delay_in_seconds == 30
    assert element.probe_interval_in_seconds == 10
    assert element.probe_failure_threshold is None, "absent means that of the image"
    assert element.probe_timeout_in_seconds is None, "absent means that of the image"
    assert element.launch_count == 0
    assert element.image_pull_policy is None, "absent means inherited from the Job"


def test_resources_of_a_pe_that_are_given_replace_the_default_as_a_whole() -> None:
    element = pe(resources={"limits": {"cpu": 2}})
    assert element.resources.requests is None
    assert element.resources.limits == {"cpu": 2}


def test_a_job_without_a_bundle_is_refused() -> None:
    with pytest.raises(ValidationError, match="bundle"):
        JobSpec.model_validate({"fusion": {"manual": 1}})


def test_a_chosen_fusion_leaves_no_automatic_beside_it() -> None:
    job = JobSpec.model_validate({**SMALLEST, "fusion": {"manual": 3}})
    assert (job.fusion.automatic, job.fusion.legacy, job.fusion.manual) == (None, None, 3)


@pytest.mark.parametrize("field", ["sabName", "bundleName"])
def test_the_bundle_of_a_pe_is_read_under_both_names(field: str) -> None:
    assert pe(**{field: "demo.Main.sab"}).bundle == "demo.Main.sab"


@pytest.mark.parametrize("field", ["checkpointRepository", "checkpointDataStore"])
def test_the_checkpoint_store_is_read_under_both_names(field: str) -> None:
    store = pe(**{field: {"fileSystem": {}}}).checkpoints
    assert store is not None
    assert store.file_system is not None
    assert store.file_system.path is None
    assert store.file_system.mount_path == "/checkpoint"


def test_submission_time_values_that_were_left_unquoted_are_read_as_text() -> None:
    job = JobSpec.model_validate({**SMALLEST, "submissionTimeValues": {"width1": 2, "name": "x"}})
    assert job.submission_time_values == {"width1": "2", "name": "x"}


def test_nulls_of_the_original_are_read_as_absence() -> None:
    template = {"restartFailedPod": None, "imagePullSecret": None, "dataVolumeClaim": None}
    job = JobSpec.model_validate(
        {**SMALLEST, "imagePullSecret": None, "id": None, "processingElement": template}
    )
    assert job.processing_element.restart_failed_pod is None
    assert job.processing_element.image_pull_secret is None


def test_unknown_fields_are_dropped() -> None:
    job = JobSpec.model_validate({**SMALLEST, "colour": "blue"})
    assert "colour" not in job.model_dump()
