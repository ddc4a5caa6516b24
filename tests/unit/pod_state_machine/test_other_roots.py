"""What a Batch owns is none of a Job's business, whatever its labels say."""

from __future__ import annotations

import pytest

from contracts import labels
from contracts.belonging import label_of
from services.pod_state_machine.adapters.reading import job_of
from tests.batch import BATCH, a_worker_pod, batches
from tests.builders import Builder, a_pe, a_pod


@pytest.mark.parametrize(
    ("obj", "job"),
    [
        (a_worker_pod().with_label(labels.JOB, "shop"), ""),
        (a_worker_pod(), ""),
        (a_pod().orphaned().having("metadata", "labels", labels.JOB, value=""), ""),
        (a_pod().orphaned(), "shop"),
        (a_pod().with_label(label_of(BATCH), "other"), "shop"),
        (a_pe().having("metadata", "labels", labels.JOB, value=""), "shop"),
    ],
)
def test_the_label_of_a_job_on_what_a_batch_owns_is_not_believed(obj: Builder, job: str) -> None:
    with batches():
        assert job_of(obj.entry()) == job
