"""A Batch with the name of a Job: what is shown, recorded, replayed and explained is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from contracts.belonging import root_named
from contracts.topics import RESOURCES
from history.belonging import job_observed
from history.concerning import Concerning
from history.entries import Decided, Seen
from history.merging import Sought, by_time, history, ranges_of
from history.recording import Wanted, extent_of
from history.replaying import Wanted as Replayed
from history.why.answering import answer_of
from services.watch_ingest.core.publishing import Ledger
from tests.batch import BATCH, WORKER, a_batch, a_worker, a_worker_pod, batches
from tests.builders import Builder, a_job, a_pe, a_pod
from tests.unit.history.logs import FewRecords, decisions_of, partition_of_job
from tests.unit.history.test_concerning import seen
from tests.unit.history.troubles import Scene, a_ready_node, condition
from tests.unit.watch_ingest.test_publishing import say

ROOT = "Batch/shop"
IMAGE = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The rows of a Batch."""
    with batches():
        yield


@pytest.fixture
def source() -> FewRecords:
    """A log of a Job and of a Batch with its name, and a decision about each."""
    ledger, found = Ledger(), FewRecords()
    objects: tuple[Builder, ...] = (a_job(), a_pod(), a_batch(), a_worker(), a_worker_pod())
    for number, each in enumerate(objects):
        (news,) = say(ledger, each)
        seen(found, float(number), news.fact)
    for number, root in enumerate(("shop", ROOT)):
        found.decide(10.0 + number, root, "Planned", start=root)
    return found


async def test_what_happened_to_a_batch_is_shown_without_the_job_of_its_name(
    source: FewRecords,
) -> None:
    about: dict[str, list[str]] = {}
    for root in ("shop", ROOT):
        concerning = Concerning("default", root)
        async for entry in by_time(history(source, Sought("default", root))):
            about.setdefault(root, []).extend(words.about for _, words in concerning.take(entry))
    pod = a_worker_pod().build()["metadata"]["name"]
    assert about[ROOT] == ["Batch/shop", "Worker/shop-w0", f"Pod/{pod}", "Batch/shop"]
    assert about["shop"] == ["Job/shop", f"Pod/{a_pod().build()['metadata']['name']}", "Job/shop"]


def test_what_was_observed_of_a_worker_concerns_its_batch() -> None:
    for each, root in ((a_worker(), ROOT), (a_pe(), "shop")):
        entry = each.entry()
        assert job_observed({"ref": list(entry.ref), "data": entry.data}) == root


async def test_a_batch_is_looked_for_in_its_own_partition(source: FewRecords) -> None:
    found = await ranges_of(source, Sought("default", ROOT))
    assert partition_of_job(ROOT) in found
    assert partition_of_job(ROOT) != partition_of_job("shop")
    assert partition_of_job("shop") not in found
    number = root_named(ROOT).partition("default", source.layout.partitions)
    assert partition_of_job(ROOT) == f"{RESOURCES.suffix}/{number}"


async def test_a_recording_and_a_replay_of_a_batch_have_its_decisions_only(
    source: FewRecords,
) -> None:
    extent = await extent_of(source, Wanted(("default", ROOT)), settle=lambda: asyncio.sleep(0))
    assert {start for _, start in extent.starts} == {ROOT}
    assert partition_of_job("shop") not in extent.ranges
    replayed = Replayed(namespace="default", job=ROOT)
    decided = [each async for each in history(source) if isinstance(each, Decided)]
    assert [each.job for each in decided if replayed.admits(each)] == [ROOT]
    assert decisions_of(ROOT) in extent.ranges
    assert all(isinstance(each, Seen | Decided) for each in decided)


RUNS = replace(
    Scene(
        (
            a_batch().with_status(phase="Running", observedGeneration=1),
            a_worker().with_status(phase="Running"),
            a_worker_pod()
            .on_node("node-1")
            .with_status(phase="Running", conditions=[condition("Ready", "True")]),
            a_ready_node(),
        )
    ),
    target=(BATCH, "shop"),
)


def waiting() -> Scene:
    """A Batch whose Worker has a pod without an image."""
    pod = (
        a_worker_pod()
        .on_node("node-1")
        .with_status(containerStatuses=[{"name": "worker", "state": IMAGE}])
    )
    things = tuple(pod if each.kind == "Pod" else each for each in RUNS.things)
    return replace(RUNS, things=things)


@pytest.mark.parametrize("target", [(BATCH, "shop"), (WORKER, "shop-w0")])
def test_a_batch_that_runs_is_well(target: tuple[str, str]) -> None:
    found = answer_of(RUNS.about(*target).gathered())
    assert found.trouble is None, found.cause
    assert found.cause.startswith(f"nothing is wrong: {'/'.join(target).replace('/', ' ')} runs")


@pytest.mark.parametrize("target", [(BATCH, "shop"), (WORKER, "shop-w0")])
def test_why_leads_from_a_batch_to_the_pod_of_its_worker(target: tuple[str, str]) -> None:
    found = answer_of(waiting().about(*target).gathered())
    assert found.trouble == "IMAGE_MISSING"
    (link,) = found.chain
    assert link.text.startswith(f"{target[0]} {target[1]} is Running")
