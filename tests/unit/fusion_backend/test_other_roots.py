"""What a Batch owns is none of a Job's business, whatever its labels say."""

from __future__ import annotations

import pytest

from contracts import labels
from services.fusion_backend.adapters.intake import INDEXES
from tests.batch import a_worker, a_worker_pod, batches
from tests.builders import Builder, a_config_map, a_pe, a_pod


@pytest.mark.parametrize("stranger", [a_worker_pod(), a_worker()], ids=["pod", "worker"])
def test_the_label_of_a_job_on_what_a_batch_owns_is_not_believed(stranger: Builder) -> None:
    with batches():
        entry = stranger.with_label(labels.JOB, "shop").entry()
        assert [*INDEXES["of-job"](entry)] == []


@pytest.mark.parametrize("own", [a_pod(), a_pe().orphaned(), a_config_map()])
def test_what_a_job_owns_is_found_by_its_name(own: Builder) -> None:
    with batches():
        assert [*INDEXES["of-job"](own.entry())] == [(own.kind, "default", "shop")]
