"""Launches and clean-ups of a Batch that has the name of a Job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from contracts import labels
from contracts.belonging import Root
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Partition
from services.chassis.process.errors import Superseded
from services.chassis.table.table import Table
from services.launching.adapters.clearing import delete_pods, is_left
from services.launching.core.pods import pod_of
from tests.batch import BATCH, CONTAINER, a_batch, a_worker_pod, batches, sandboxed
from tests.builders import a_pod
from tests.sandboxed import Sandboxed
from tests.virtual_time import virtually

ROOT, JOB_ROOT = Root(BATCH, "shop"), Root("Job", "shop")
SPEC = {"containers": [{"name": "c", "image": "i"}]}


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The rows of a Batch."""
    with batches():
        yield


def names(cluster: Sandboxed) -> set[str]:
    """The pods that are not being deleted."""
    found = cluster.cluster.store.list(cluster.kind("Pod"), "default").items
    return {
        each["metadata"]["name"] for each in found if not each["metadata"].get("deletionTimestamp")
    }


@virtually
async def test_the_pods_of_a_batch_go_with_it_and_those_of_a_job_of_its_name_stay() -> None:
    cluster, table = sandboxed(), Table()
    table.expect(dict.fromkeys(("Pod", "Job", BATCH), (Partition("millrace.resources", 0),)))
    writer = Writer(cluster.client(), table, now=cluster.clock.now)
    batch = cluster.create(a_batch())
    uid = batch["metadata"]["uid"]
    writer.observe(BATCH, batch)
    for pod in (a_pod(), a_worker_pod()):
        marked = pod.with_label(labels.JOB_UID, uid).with_label("streams.ibm.com/batch-uid", uid)
        cluster.create(marked.orphaned().with_spec(**SPEC), "v1")
    both = names(cluster)
    with pytest.raises(Superseded, match="batch default/shop exists after all"):
        await delete_pods(table, writer, "default", ROOT, uid)
    assert names(cluster) == both
    cluster.cluster.store.delete(cluster.kind(BATCH), "default", "shop")
    await delete_pods(table, writer, "default", ROOT, uid)
    assert names(cluster) == both - {a_worker_pod().build()["metadata"]["name"]}
    await delete_pods(table, writer, "default", JOB_ROOT, uid)
    assert names(cluster) == set()


def test_pods_are_left_of_the_root_that_launched_them() -> None:
    for pod, root in ((a_pod(), JOB_ROOT), (a_worker_pod(), ROOT)):
        assert [each for each in (JOB_ROOT, ROOT) if is_left(pod.entry(), each)] == [root]
        assert not is_left(pod.deleting().entry(), root)
        assert not is_left(pod.orphaned().entry(), root)
    lying = a_worker_pod().with_label(labels.JOB, "shop").entry()
    assert not is_left(lying, JOB_ROOT)


def test_the_pod_of_a_worker_is_seen_as_that_of_a_pe_is() -> None:
    """By its own container: here a container called `pe` is a sidecar."""
    ended = {"terminated": {"exitCode": 3, "finishedAt": "2026-11-20T00:00:05Z"}}
    later = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-20T00:00:09Z"}}
    statuses = [{"name": "pe", "state": later}, {"name": CONTAINER, "state": ended}]
    status = {"phase": "Failed", "containerStatuses": statuses}
    found = pod_of(a_worker_pod().with_status(**status).entry(), "uid-shop-w0")
    assert (found.phase, found.job_uid) == ("Failed", "uid-batch-shop")
    assert "Container worker: " in found.problem
    of_pe = pod_of(a_pod().with_status(**status).entry(), "uid-shop-0")
    assert (of_pe.phase, of_pe.job_uid) == ("Succeeded", "uid-shop")
    assert of_pe.finished_at - found.finished_at == 4.0
