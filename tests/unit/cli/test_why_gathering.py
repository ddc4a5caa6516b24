"""What `why` reads: the object by its name, with the rights of the person, and of Secrets names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli import why_services
from cli.connecting import Cluster
from cli.failing import Failure, Misused
from cli.history_logs import HistoryOptions
from cli.service_status import Probed, Reported, ServiceStatus
from cli.why_gathering import gather, gather_all, requested_of
from history.why.answering import answer_of
from sandbox.http.in_process import Fault
from tests.builders import a_job, a_parallel_region, a_pe, a_placement, a_pod
from tests.sandboxed import Sandboxed
from tests.virtual_time import virtually

VOLUMES = [{"name": "keys", "secret": {"secretName": "keys"}}]


def with_job() -> Sandboxed:
    """A job whose only pod waits for a Secret, which does not exist."""
    sandboxed = Sandboxed()
    containers = [{"name": "pe", "image": "runtime:1"}]
    pod = a_pod("shop").orphaned().with_spec(containers=containers, volumes=VOLUMES)
    sandboxed.create(a_job("shop").with_status(phase="Submitted", observedGeneration=1))
    sandboxed.create(a_pe("shop").orphaned())
    sandboxed.create(a_parallel_region("shop", width=3).orphaned())
    sandboxed.create(a_placement({}).orphaned())
    sandboxed.create(pod.on_node("node-0"), api_version="v1")
    return sandboxed


def cluster_of(sandboxed: Sandboxed, folder: Path) -> Cluster:
    """The cluster as a command has it; no `up` is known."""
    return Cluster(sandboxed.client(), folder / "kubeconfig", None)


@virtually
async def test_a_secret_that_does_not_exist_is_found_by_the_names_of_secrets(
    tmp_path: Path,
) -> None:
    found = await gather(cluster_of(with_job(), tmp_path), "default", "pe/shop-0", HistoryOptions())
    assert "Secret/keys" in found.missing
    assert answer_of(found).trouble == "SECRET_MISSING"


@virtually
async def test_a_name_of_several_objects_is_refused_with_the_candidates(tmp_path: Path) -> None:
    cluster = cluster_of(with_job(), tmp_path)
    with pytest.raises(Failure, match="ProcessingElement/shop-0, ParallelRegion/shop-0"):
        await gather(cluster, "default", "shop-0", HistoryOptions())


@virtually
async def test_the_name_of_a_job_and_its_placement_means_the_job(tmp_path: Path) -> None:
    cluster = cluster_of(with_job(), tmp_path)
    assert (await gather(cluster, "default", "shop", HistoryOptions())).kind == "Job"
    placement = await gather(cluster, "default", "stpl/shop", HistoryOptions())
    assert placement.kind == "Placement"


@virtually
async def test_a_name_that_nothing_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="namespace default has no nobody of the kinds Job"):
        await gather(cluster_of(with_job(), tmp_path), "default", "nobody", HistoryOptions())


@pytest.mark.parametrize("words", ["thing/shop", "pe/", "/shop"])
def test_words_that_name_no_kind_are_misused(words: str) -> None:
    with pytest.raises(Misused, match="say NAME, or KIND/NAME"):
        requested_of(words)


@virtually
async def test_kinds_that_may_not_be_read_are_named_and_the_answer_goes_without_them(
    tmp_path: Path,
) -> None:
    sandboxed = with_job()
    closed = ("/secrets", "/events", "/nodes", "/deployments")

    def forbidden(_method: str, path: str) -> Fault | None:
        is_closed = any(f"{each}?" in path or f"{each}/" in path for each in closed)
        return Fault(status=403) if is_closed else None

    sandboxed.faults = forbidden
    found = await gather(cluster_of(sandboxed, tmp_path), "default", "shop", HistoryOptions())
    assert found.unread.keys() == {"Secret", "Event", "Node"}
    assert found.services is None
    limits = "\n".join(answer_of(found).limits)
    assert "without Secrets: you may not list secrets" in limits
    assert "without the state of the services" in limits


@virtually
async def test_the_jobs_of_a_namespace_are_read_once_for_each_kind(tmp_path: Path) -> None:
    sandboxed = with_job()
    sandboxed.create(a_job("other"))
    found = await gather_all(cluster_of(sandboxed, tmp_path), "default")
    assert [each.name for each in found] == ["other", "shop"]
    assert [len(each.objects["Pod"]) for each in found] == [0, 1]


def a_service(name: str, state: str, *, ready: bool = False) -> ServiceStatus:
    exit_code = None if state == "running" else 1
    reported = Reported(name, "i", state, 1, exit_code, 5.0, 0, "http://x", "/logs/x.log")
    return ServiceStatus(reported, Probed(ready))


def test_services_of_up_have_the_command_that_starts_them(tmp_path: Path) -> None:
    """Of two instances one that is ready is enough."""
    statuses = [
        a_service("watch-ingest", "running", ready=True),
        a_service("fusion-backend", "stopped"),
        a_service("node-tainter", "ended"),
        a_service("node-tainter-2", "running", ready=True),
        a_service("hostpool-manager", "running"),
    ]
    found = {each.name: each for each in why_services.of_up(statuses, tmp_path)}
    assert not found["watch-ingest"].problem
    assert not found["node-tainter"].problem
    assert found["fusion-backend"].problem == "is stopped"
    assert f"service start fusion-backend --state {tmp_path}" in found["fusion-backend"].remedy
    assert found["hostpool-manager"].problem == "runs and is not ready"
    assert "/logs/x.log" in found["hostpool-manager"].remedy


@pytest.mark.parametrize(
    ("spec", "status", "problem"),
    [
        ({}, {"readyReplicas": 1}, ""),
        ({"replicas": 0}, {}, "is scaled to 0 replicas"),
        ({}, {}, "has no ready pod in namespace millrace: pod p is on no node: full"),
    ],
)
def test_services_of_an_installation_are_seen_by_their_deployments(
    spec: dict[str, object], status: dict[str, object], problem: str
) -> None:
    labels = {"app.kubernetes.io/component": "fusion-backend"}
    meta = {"name": "millrace-fusion-backend", "namespace": "millrace", "labels": labels}
    full = {"type": "PodScheduled", "status": "False", "message": "full"}
    pod = {"metadata": {**meta, "name": "p"}, "status": {"conditions": [full]}}
    deployment = {"metadata": meta, "spec": spec, "status": status}
    found = why_services.of_deployment(deployment, [pod])
    assert (found.name, found.problem) == ("fusion-backend", problem)
