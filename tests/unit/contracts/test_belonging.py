"""Which root an object belongs to, of two kinds of roots that have one name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contracts import labels
from contracts.belonging import Root, container_of, label_of, root_in, root_named, root_of, roots
from contracts.facts import Epoch, FactType, fact_from_json, project
from contracts.topics import PARTITIONS
from services.watch_ingest.core.publishing import Ledger
from tests.batch import BATCH, CONTAINER, WORKER, a_batch, a_worker, a_worker_pod, batches
from tests.builders import Builder, a_config_map, a_host_pool, a_job, a_pe, a_pod
from tests.unit.watch_ingest.test_publishing import say

JOB_ROOT, BATCH_ROOT = Root("Job", "shop"), Root(BATCH, "shop")


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The rows of both kinds of roots."""
    with batches():
        yield


def unowned(kind: str, obj: Builder) -> Root:
    """The root of an object whose owners nobody saw."""
    return root_of(kind, obj.build(), lambda *_: None)


def test_each_object_belongs_to_the_root_that_its_labels_name() -> None:
    of_job = [a_job(), a_pe(), a_pod(), a_config_map(), a_host_pool()]
    assert {unowned(each.kind, each) for each in of_job} == {JOB_ROOT}
    of_batch = [a_batch(), a_worker(), a_worker_pod()]
    assert {unowned(each.kind, each) for each in of_batch} == {BATCH_ROOT}


def test_a_projection_names_the_same_root_as_its_object() -> None:
    for each in (a_job(), a_pe(), a_pod(), a_config_map(), a_batch(), a_worker(), a_worker_pod()):
        obj = each.build()
        data = project(each.kind, obj)
        assert data is not None
        assert root_in(each.kind, obj["metadata"]["name"], data) == unowned(each.kind, each)


def test_the_label_of_a_job_on_what_a_batch_owns_says_nothing() -> None:
    """Else it would wake those who work on a Job of that name."""
    stranger = a_worker_pod().with_label(labels.JOB, "other")
    assert unowned("Pod", stranger) == BATCH_ROOT
    assert unowned(WORKER, a_worker().with_label(labels.JOB, "other").orphaned()) == BATCH_ROOT
    assert unowned("ProcessingElement", a_pe().with_label(label_of(BATCH), "other")) == JOB_ROOT
    assert unowned("ConfigMap", a_config_map().orphaned()) == JOB_ROOT


def test_without_a_label_the_spec_names_the_root_and_else_an_object_stands_alone() -> None:
    bare = a_worker().orphaned().having("metadata", "labels", value={})
    assert unowned(WORKER, bare.with_spec(batch="shop")) == BATCH_ROOT
    assert unowned(WORKER, bare.with_spec(job="shop")) == Root(BATCH, "shop-w0")
    assert (
        unowned(
            "ConfigMap", a_config_map(pe_id=1).orphaned().having("metadata", "labels", value={})
        ).kind
        == "Job"
    )


def test_a_job_is_called_by_its_name_and_another_root_by_its_kind_too() -> None:
    """Facts and partitions of Jobs are those of every release before."""
    assert (JOB_ROOT.key, BATCH_ROOT.key) == ("shop", "Batch/shop")
    assert (JOB_ROOT.partition("default", PARTITIONS), BATCH_ROOT.partition("default", 256)) == (
        3,
        210,
    )
    for root in (JOB_ROOT, BATCH_ROOT):
        assert root_named(root.key) == root
    assert root_named("batch/shop") == BATCH_ROOT
    assert root_named("job/shop") == JOB_ROOT
    for wrong in ("Pod/shop", "Batch/", "/shop", "a b", ""):
        with pytest.raises(ValueError, match="names no root"):
            root_named(wrong)


def test_labels_and_selectors_of_the_roots_differ() -> None:
    assert label_of("Job") == labels.JOB
    assert JOB_ROOT.selector_of_uid("u") == "streams.ibm.com/job-uid=u,streams.ibm.com/job=shop"
    assert (
        BATCH_ROOT.selector_of_uid("u") == "streams.ibm.com/batch-uid=u,streams.ibm.com/batch=shop"
    )
    assert len({label_of(kind) for kind in roots()}) == len([*roots()]) == 2


def test_facts_of_a_batch_are_in_its_partition_with_its_trace() -> None:
    ledger = Ledger()
    (batch,) = say(ledger, a_batch())
    (worker,) = say(ledger, a_worker())
    (pod,) = say(ledger, a_worker_pod().with_label(label_of(BATCH), "elsewhere"))
    (job,) = say(ledger, a_job())
    assert {each.fact.job for each in (batch, worker, pod)} == {"Batch/shop"}
    assert {each.trace_id for each in (worker, pod)} == {batch.trace_id}
    assert job.trace_id != batch.trace_id
    assert batch.begins == 1


def test_a_fact_names_its_root_in_a_form_that_readers_take() -> None:
    (seen,) = say(Ledger(), a_batch())
    value: dict[str, Any] = seen.fact.to_json()
    assert value["job"] == "Batch/shop"
    assert fact_from_json(FactType.ADDITION, value) == seen.fact
    assert isinstance(seen.fact.epoch, Epoch)
    for wrong in ("pods/shop", "Batch/a/b", "Batch/", "/shop"):
        with pytest.raises(ValueError, match="its job"):
            fact_from_json(FactType.ADDITION, value | {"job": wrong})


def test_a_pod_ends_as_the_container_of_its_owner_does() -> None:
    """In the pod of a Worker a container named `pe` is a sidecar."""
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-20T00:00:00Z"}}
    statuses = [{"name": CONTAINER, "state": ended}, {"name": "pe", "state": {"running": {}}}]
    for pod, container, phase in (
        (a_worker_pod(), CONTAINER, "Succeeded"),
        (a_pod(), "pe", "Running"),
        (a_pod().orphaned(), "pe", "Running"),
    ):
        obj = pod.with_status(phase="Running", containerStatuses=statuses).build()
        assert container_of(obj) == container
        assert (project("Pod", obj) or {})["phase"] == phase
