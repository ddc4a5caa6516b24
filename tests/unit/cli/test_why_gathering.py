"""What `why` reads: the object by its name, with the rights of the person, and of Secrets names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from cli import why_logs, why_reading, why_services
from cli.connecting import Cluster
from cli.failing import Failure, Misused
from cli.history_logs import FoundLog, HistoryOptions
from cli.service_status import Probed, Reported, ServiceStatus
from cli.why_command import ill_of
from cli.why_gathering import gather, gather_all, requested_of
from history.entries import Entry
from history.merging import Sought
from history.sources import Source
from history.why.answering import answer_of
from sandbox.http.in_process import Fault
from tests.builders import (
    Builder,
    a_host_pool,
    a_job,
    a_node,
    a_parallel_region,
    a_pe,
    a_placement,
    a_pod,
)
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


@virtually
async def test_a_misspelt_name_is_answered_with_those_like_it(tmp_path: Path) -> None:
    """A pool, too, which its application knows by another name than its object has."""
    sandboxed = with_job()
    sandboxed.create(a_host_pool("shop", 7, name="fast").orphaned())
    cluster = cluster_of(sandboxed, tmp_path)
    for words, near in (
        ("shpo", "did you mean shop"),
        ("stpr/shop-1", "ParallelRegion/shop-0"),
        ("HostPool/shop-fast", "did you mean HostPool/shop-7"),
        ("fast", "did you mean HostPool/shop-7"),
    ):
        with pytest.raises(Failure, match=near):
            await gather(cluster, "default", words, HistoryOptions())
    with pytest.raises(Failure) as refused:
        await gather(cluster, "default", "nobody", HistoryOptions())
    assert "did you mean" not in str(refused.value)


@virtually
async def test_the_jobs_that_are_not_well_are_in_the_order_of_what_runs_of_them(
    tmp_path: Path,
) -> None:
    sandboxed = with_job()
    sandboxed.create(a_job("zebra").with_status(phase="Failed", observedGeneration=1))
    refused = {"type": "Accepted", "status": "False", "reason": "EditRefused", "message": "no"}
    refused["lastTransitionTime"] = "2026-11-20T09:30:00Z"
    alpha = a_job("alpha").with_status(phase="Submitted", observedGeneration=1)
    sandboxed.create(alpha.with_status(conditions=[refused]))
    sandboxed.create(a_pe("alpha").orphaned().launched(1))
    pod = a_pod("alpha").orphaned().with_spec(containers=[{"name": "pe", "image": "runtime:1"}])
    sandboxed.create(pod.in_phase("Running"), api_version="v1")
    found = await gather_all(cluster_of(sandboxed, tmp_path), "default")
    ill = ill_of(found, [answer_of(each) for each in found])
    assert [(impact.text, each.title) for impact, each in ill] == [
        ("0 of 1 PE run", "Job shop"),
        ("nothing runs", "Job zebra"),
        ("runs; a change was refused", "Job alpha"),
    ]


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


@virtually
async def test_jobs_that_may_not_be_listed_are_a_failure_and_not_well(tmp_path: Path) -> None:
    sandboxed = with_job()
    sandboxed.faults = lambda _method, path: (
        Fault(status=403) if path.split("?")[0].endswith("/streamsjobs") else None
    )
    with pytest.raises(Failure, match="jobs of namespace default are not known: you may not list"):
        await gather_all(cluster_of(sandboxed, tmp_path), "default")


@virtually
async def test_an_answer_of_the_server_that_is_no_refusal_is_not_called_one(tmp_path: Path) -> None:
    """A list that went away between two pages is one that was read in part."""
    sandboxed = with_job()
    codes = {"/secrets": 400, "/events": 410}
    sandboxed.faults = lambda _method, path: next(
        (Fault(status=code) for each, code in codes.items() if f"{each}?" in path), None
    )
    found = await gather(cluster_of(sandboxed, tmp_path), "default", "shop", HistoryOptions())
    assert found.unread["Secret"].startswith("secrets cannot be listed: ")
    assert found.partly == {"Event": 0}
    assert "of Events only the first 0 were read" in answer_of(found).limits


@virtually
async def test_a_kind_that_was_read_in_part_lacks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why_reading, "PAGES_MAX", 0)
    reader = why_reading.Reader(with_job().client(), "default")
    around = await why_reading.surroundings_of(
        reader, {"Pod": [a_pod("shop").with_spec(volumes=VOLUMES).build()]}
    )
    assert "Secret" in reader.partly
    assert not around.missing


def a_warning(about: str, name: str, namespace: str) -> Builder:
    body = {
        "metadata": {"name": f"{name}.1", "namespace": namespace},
        "type": "Warning",
        "reason": "Because",
        "message": "it is so",
        "involvedObject": {"kind": about, "name": name},
    }
    return Builder("Event", body)


@virtually
async def test_warnings_about_nodes_are_read_where_the_cluster_writes_them(tmp_path: Path) -> None:
    """In namespace default, whatever the namespace of the question."""
    sandboxed = Sandboxed()
    sandboxed.create(a_node(), api_version="v1")
    for name in ("node-1", "node-2"):
        sandboxed.create(a_warning("Node", name, "default"), api_version="v1")
    paths: list[str] = []
    sandboxed.faults = lambda _method, path: paths.append(path)
    found = await gather(cluster_of(sandboxed, tmp_path), "shops", "node/node-1", HistoryOptions())
    assert [each["involvedObject"]["name"] for each in found.objects["Event"]] == ["node-1"]
    assert not [each for each in paths if "/namespaces/shops/events" in each or "/pods" in each]


@virtually
async def test_a_recording_is_read_back_from_when_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the last hour of an old one is empty; and only one that is slow is not read whole."""
    sought: list[float] = []

    async def read(_source: object, wanted: Sought) -> AsyncIterator[Entry]:
        sought.append(wanted.since_s)
        await asyncio.sleep(2 * why_logs.QUICK_S)
        for entry in tuple[Entry, ...]():
            yield entry

    @asynccontextmanager
    async def found(*_: object) -> AsyncIterator[FoundLog]:
        yield FoundLog(cast(Source, object()), now=5_000.0)

    monkeypatch.setattr(why_logs, "history", read)
    monkeypatch.setattr(why_logs, "history_source", found)
    seen = await why_logs.log_of(HistoryOptions(), tmp_path, why_logs.Subject("default", "shop"))
    assert sought == [1_400.0]
    assert seen.since_s == 1_400.0


def a_service(name: str, state: str, *, ready: bool = False, since_s: float = 5.0) -> ServiceStatus:
    exit_code = None if state == "running" else 1
    reported = Reported(name, "i", state, 1, exit_code, since_s, 0, "http://x", "/logs/x.log")
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
    assert f"service stop hostpool-manager --state {tmp_path}" in found["hostpool-manager"].remedy


def test_the_promise_that_up_starts_a_service_is_made_only_where_its_process_ended(
    tmp_path: Path,
) -> None:
    states = ("ended", "running")
    ended, hung = (
        why_services.of_up([a_service("node-tainter", each)], tmp_path)[0].remedy for each in states
    )
    log = f"millrace logs --service node-tainter --tail 50 --state {tmp_path}"
    assert log in ended
    assert log in hung
    assert "`up` starts it again by itself" in ended
    assert "`up` starts it again by itself" not in hung
    assert f"then millrace service start node-tainter --state {tmp_path}" in hung


def test_a_service_that_has_just_started_is_waited_for(tmp_path: Path) -> None:
    (found,) = why_services.of_up(
        [a_service("node-tainter", "running", since_s=time.time())], tmp_path
    )
    assert found.remedy.startswith("Wait: it started ")


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


def a_deployment(release: str, *, replicas: int = 1, namespaces: str = "") -> dict[str, object]:
    """The backend of a release in namespace millrace; it is ready if it has replicas."""
    labels = {
        "app.kubernetes.io/component": "fusion-backend",
        "app.kubernetes.io/instance": release,
    }
    env = [{"name": "MILLRACE_NAMESPACES", "value": namespaces}]
    return {
        "metadata": {"name": f"{release}-backend", "namespace": "millrace", "labels": labels},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"env": env}]}}},
        "status": {"readyReplicas": replicas},
    }


@pytest.mark.parametrize(
    ("namespaces", "problem"),
    [("", ""), ("default", ""), ("others", "is scaled to 0 replicas")],
)
def test_an_installation_that_does_not_run_is_no_cause_beside_one_that_does(
    namespaces: str, problem: str
) -> None:
    """But where the one that runs works in other namespaces."""
    both = [a_deployment("old", replicas=0), a_deployment("new", namespaces=namespaces)]
    (found,) = why_services.of_installations(both, [], "default")
    assert found.problem == problem


def test_an_installation_of_other_namespaces_does_not_work_on_a_job() -> None:
    assert not why_services.of_installations([a_deployment("new", namespaces="x")], [], "default")
