"""`millrace restart` requests a launch of each PE and waits for it; `scale` to the same width."""

from __future__ import annotations

import pytest

from cli.failing import Failure
from cli.inspecting import one_job, pe_of
from cli.jobs import has_width
from cli.pod_logs import LogOptions
from cli.restarting import restart_all
from contracts import labels
from tests.builders import a_job
from tests.sandboxed import Sandboxed
from tests.virtual_time import virtually


@virtually
async def test_a_job_or_pe_that_does_not_exist_is_named_with_what_to_do() -> None:
    with pytest.raises(Failure, match=r"no job and no processing element x in .*millrace get"):
        await pe_of(Sandboxed().client(), "default", "x")


@virtually
async def test_a_pe_that_is_of_no_job_is_refused_with_where_to_look() -> None:
    sandboxed = Sandboxed()
    body = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ProcessingElement",
        "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"id": 0, "job": "shop"},
    }
    sandboxed.cluster.store.create(sandboxed.kind("ProcessingElement"), "default", body)
    with pytest.raises(Failure, match=r"mine is of no job.*kubectl describe stp mine"):
        await pe_of(sandboxed.client(), "default", "mine")


@virtually
async def test_a_restart_gives_the_annotation_a_value_that_it_never_had() -> None:
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop"))
    store, kind = sandboxed.cluster.store, sandboxed.kind("ProcessingElement")
    body = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "ProcessingElement",
        "metadata": {"name": "shop-0", "namespace": "default", "labels": {labels.JOB: "shop"}},
        "spec": {"id": 0, "job": "shop"},
    }
    store.create(kind, "default", body)
    kube = sandboxed.client()
    reports: list[str] = []
    values = set()
    for _ in range(2):
        job = await one_job(kube, "default", "shop")
        await restart_all(kube, job, job.pes_by_id, reports.append, wait_s=None)
        pe = store.get(kind, "default", "shop-0")
        values.add(pe["metadata"]["annotations"][labels.RESTART])
    assert len(values) == 2
    assert reports == ["shop-0 is requested to restart"] * 2


def test_a_region_has_a_width_if_it_requests_it_and_has_it_in_force() -> None:
    region = {"spec": {"width": 3}, "status": {"width": 3}}
    assert has_width(region, 3)
    assert not has_width(region, 4)
    assert not has_width({**region, "spec": {"width": 9}}, 3), "a refused one is taken back"
    assert not has_width({"spec": {"width": 3}}, 3)


def test_options_of_a_log_are_those_of_the_api() -> None:
    """A pod with containers of the template's has no log without the name of one."""
    assert LogOptions().query == "?container=pe"
    assert LogOptions(True, True, 5).query == "?container=pe&follow=true&tailLines=5"
