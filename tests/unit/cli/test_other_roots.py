"""Commands about a Batch: KIND/NAME means it, and a NAME alone the Job as ever."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cli import why_gathering
from cli.connecting import Cluster
from cli.failing import Failure
from cli.inspecting import events_of, one_job, one_root
from cli.job_commands import checked_root
from cli.why_gathering import gather, gather_all
from cli.why_logs import Subject
from contracts.belonging import Root
from history.why.gathered import LogSeen
from tests.batch import BATCH, WORKER, a_batch, a_worker, a_worker_pod, batches, sandboxed
from tests.builders import a_job, a_pe, a_pod
from tests.sandboxed import Sandboxed
from tests.virtual_time import virtually


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The rows of a Batch."""
    with batches():
        yield


def both() -> Sandboxed:
    """A Job and a Batch of one name, with what they own."""
    found = sandboxed()
    for each in (a_job(), a_pe(), a_batch(), a_worker()):
        found.create(each.orphaned())
    containers = [{"name": "c", "image": "i"}]
    for pod in (a_pod(), a_worker_pod()):
        found.create(pod.orphaned().with_spec(containers=containers), api_version="v1")
    return found


def cluster_of(found: Sandboxed) -> Cluster:
    return Cluster(found.client(), Path("kubeconfig"), None)


@virtually
async def test_why_gathers_what_belongs_to_the_root_of_the_question() -> None:
    cluster = cluster_of(both())
    for words in ("batch/shop", "Worker/shop-w0", "shop-w0"):
        found = await gather(cluster, "default", words, None)
        assert {
            kind: len(each) for kind, each in found.objects.items() if each and kind != "Node"
        } == {
            BATCH: 1,
            WORKER: 1,
            "Pod": 1,
        }
    of_job = await gather(cluster, "default", "job/shop", None)
    assert len(of_job.objects["ProcessingElement"]) == len(of_job.objects["Pod"]) == 1
    with pytest.raises(Failure, match="say one of Job/shop, Batch/shop"):
        await gather(cluster, "default", "shop", None)


@virtually
async def test_the_log_is_searched_for_the_root_of_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sought: list[str] = []

    async def log_of(_options: object, _kubeconfig: object, subject: Subject) -> LogSeen:
        sought.append(subject.job)
        return LogSeen()

    monkeypatch.setattr(why_gathering, "log_of", log_of)
    for words in ("batch/shop", "worker/shop-w0", "job/shop", "pe/shop-0"):
        await gather(cluster_of(both()), "default", words, None)
    assert sought == ["Batch/shop", "Batch/shop", "shop", "shop"]


@virtually
async def test_every_root_of_a_namespace_is_looked_at() -> None:
    found = await gather_all(cluster_of(both()), "default")
    assert [(each.kind, len(each.objects["Pod"])) for each in found] == [("Job", 1), (BATCH, 1)]


@virtually
async def test_events_of_a_root_are_those_of_its_own_objects() -> None:
    kube = both().client()
    objects = await one_root(kube, "default", Root(BATCH, "shop"))
    assert {kind.kind: len(each) for kind, each in objects.children.items()} == {
        WORKER: 1,
        "Pod": 1,
    }
    assert {each.kind for each in (await one_job(kube, "default", "shop")).children} == {
        "ProcessingElement",
        "Pod",
    }
    assert await events_of(kube, objects) == []
    with pytest.raises(Failure, match="there is no batch none in namespace default"):
        await one_root(kube, "default", Root(BATCH, "none"))


def test_an_option_takes_the_name_of_a_job_or_kind_and_name() -> None:
    assert [checked_root(each) for each in ("shop", "job/shop", "batch/shop", "")] == [
        "shop",
        "shop",
        "Batch/shop",
        "",
    ]
    for wrong in ("Pod/shop", "Batch/", "a b"):
        with pytest.raises(typer.BadParameter):
            checked_root(wrong)
