"""Effects against a sandboxed cluster: the checks that need the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from contracts import labels
from contracts.facts import Epoch, Fact, FactType
from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Writer
from services.chassis.log.bus import Partition
from services.chassis.process.errors import Rejected, Superseded
from services.chassis.table.table import Table
from services.launching.adapters.launches import Launches
from services.launching.core.effects import CreatePod, DeletePod, PatchStatus, SetPodAside
from services.launching.core.owners import LaunchStatus
from services.launching.core.snapshot import Timing
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.adapters.assignments import Assignments
from services.pod_state_machine.adapters.carry_out import CarryOut
from services.pod_state_machine.core.deciding import decide
from services.pod_state_machine.core.effects import DeletePodsOfJob, Effect
from services.pod_state_machine.core.pod_spec import RuntimeImage
from services.pod_state_machine.core.snapshot import JobKey, Key, PeKey, PeSnapshot
from tests.builders import Builder, Obj, a_config_map, a_job, a_pe, a_pod
from tests.sandboxed import Sandboxed
from tests.virtual_time import run_virtually

PE_KEY = PeKey("default", "shop-0")


class Cluster:
    """A sandboxed cluster with a job and a PE, and the table of a service that knows them."""

    def __init__(self) -> None:
        self.sandbox = Sandboxed()
        self.table = Table()
        self.table.declare_indexes(intake.INDEXES)
        kinds = dict.fromkeys(intake.KINDS, (Partition("millrace.resources", 0),))
        self.table.expect(kinds)
        self.launches = Launches()
        self.writer = Writer(self.sandbox.client(), self.table, now=self.sandbox.clock.now)
        self.carry_out = CarryOut(
            self.table, self.writer, RuntimeImage(), self.launches, self.sandbox.clock.now
        )
        self.job = self.have(a_job())
        job_uid = self.job["metadata"]["uid"]
        self.pe = self.have(
            a_pe().with_label(labels.JOB_UID, job_uid).owned_by("Job", "shop", job_uid)
        )
        for config_map in (a_config_map(), a_config_map(pe_id=0)):
            self.have(config_map.orphaned(), "v1")

    def have(self, builder: Builder, api_version: str = "streams.ibm.com/v1") -> Obj:
        """Create an object and put it into the table."""
        created = self.hide(builder, api_version)
        self.writer.observe(builder.kind, created)
        return created

    def hide(self, builder: Builder, api_version: str = "streams.ibm.com/v1") -> Obj:
        """Create an object without putting it into the table."""
        obj = builder.build()
        for owner in obj["metadata"].get("ownerReferences", ()):
            owner["apiVersion"] = "streams.ibm.com/v1"
        whole = builder.having(
            "metadata", "ownerReferences", value=obj["metadata"].get("ownerReferences", [])
        )
        return self.sandbox.create(whole, api_version)

    def hide_pod(self, launch: int, *, owner: str = "") -> Obj:
        """Create a pod without putting it into the table."""
        uid = owner or self.pe["metadata"]["uid"]
        pod = a_pod(launch=launch, owner=uid).with_label(
            labels.JOB_UID, self.job["metadata"]["uid"]
        )
        spec = {"containers": [{"name": "pe", "image": "x"}]}
        return self.hide(pod.having("spec", value=spec).having("status", value={}), "v1")

    def snapshot(self, key: Key = PE_KEY) -> PeSnapshot:
        found = intake.snapshot_of(self.table, key, self.launches, Assignments())
        assert isinstance(found, PeSnapshot)
        return found

    def decided(self) -> tuple[Effect, ...]:
        return decide(self.snapshot(), self.sandbox.clock.now(), Timing()).effects

    async def run(self, effect: Effect, key: Key = PE_KEY) -> str:
        snapshot = intake.snapshot_of(self.table, key, self.launches, Assignments())
        return await self.carry_out.run(key, snapshot, effect)

    def status(self) -> Obj:
        pes = self.sandbox.kind("ProcessingElement")
        found = self.sandbox.cluster.store.get(pes, "default", "shop-0")
        return dict(found.get("status") or {})

    def pods(self) -> list[str]:
        pods = self.sandbox.kind("Pod")
        return [
            item["metadata"]["name"]
            for item in self.sandbox.cluster.store.list(pods, "default").items
            if not item["metadata"].get("deletionTimestamp")
        ]


def with_cluster(test: Callable[[Cluster], object]) -> None:
    async def run() -> None:
        cluster = Cluster()
        outcome = test(cluster)
        if asyncio.iscoroutine(outcome):
            await outcome

    run_virtually(run())


def test_a_launch_is_one_create_and_one_status_patch() -> None:
    """The responses to the writes are observations for the next decision."""

    async def test(cluster: Cluster) -> None:
        (create,) = cluster.decided()
        assert isinstance(create, CreatePod)
        assert await cluster.run(create) == "created"
        (patch,) = cluster.decided()
        assert isinstance(patch, PatchStatus)
        assert await cluster.run(patch) == "patched"
        assert cluster.decided() == ()
        assert cluster.pods() == [create.name]
        status = cluster.status()
        assert (status["launchCount"], status["phase"], status["pod"]) == (
            1,
            "Starting",
            create.name,
        )

    with_cluster(test)


def test_a_launch_that_is_created_twice_exists_once() -> None:
    """Its name is deterministic."""

    async def test(cluster: Cluster) -> None:
        (create,) = cluster.decided()
        await cluster.run(create)
        assert await cluster.run(create) == "existed"
        assert len(cluster.pods()) == 1

    with_cluster(test)


@pytest.mark.parametrize("code", [403, 422])
def test_a_refused_pod_is_recorded_in_the_status_once(code: int) -> None:
    """With the message of the API server; the chassis backs off."""

    async def test(cluster: Cluster) -> None:
        cluster.sandbox.faults = lambda method, path: (
            Fault(status=code) if (method, path.endswith("/pods")) == ("POST", True) else None
        )
        (create,) = cluster.decided()
        for _ in range(2):
            with pytest.raises(Rejected):
                await cluster.run(create)
        status = cluster.status()
        assert (status["phase"], status["reason"]) == ("Waiting", "PodRefused")
        assert status["message"]
        assert "launchCount" not in status
        assert cluster.decided() == (create,)
        cluster.sandbox.faults = lambda _method, _path: None
        await cluster.run(create)
        (patch,) = cluster.decided()
        await cluster.run(patch)
        assert cluster.status()["reason"] == "PodStarting"

    with_cluster(test)


def test_a_launch_is_stopped_by_an_earlier_pod_without_a_fact() -> None:
    """The GET puts it into the table, so that the next decision waits for it."""

    async def test(cluster: Cluster) -> None:
        earlier = cluster.hide_pod(1)["metadata"]["name"]
        create = CreatePod("shop-0-second", 2, "c1", "", 1, believed_gone=(earlier,))
        with pytest.raises(Superseded):
            await cluster.run(create)
        assert cluster.pods() == [earlier]
        assert cluster.table.get("Pod", "default", earlier) is not None

    with_cluster(test)


def test_no_later_launch_is_intended_while_the_one_before_has_a_pod_without_a_fact() -> None:
    """The GET puts it into the table, and the next decision removes it first."""

    async def test(cluster: Cluster) -> None:
        waiting = cluster.hide_pod(1)["metadata"]["name"]
        leap = PatchStatus(
            cluster.pe["metadata"]["uid"], LaunchStatus(launch_count=7), believed_gone=waiting
        )
        with pytest.raises(Superseded):
            await cluster.run(leap)
        assert "launchCount" not in cluster.status()
        assert cluster.table.get("Pod", "default", waiting) is not None

    with_cluster(test)


def test_a_pod_is_not_deleted_when_its_owner_turns_out_to_exist() -> None:
    """The fact of the re-created PE was still on its way."""

    async def test(cluster: Cluster) -> None:
        pod = cluster.hide_pod(1)
        await cluster.writer.confirm_absent(resource_of("Pod"), "default", pod["metadata"]["name"])
        owner = cluster.pe["metadata"]["uid"]
        meta = pod["metadata"]
        lives = DeletePod(meta["name"], meta["uid"], "x", believed_gone_owner=owner)
        with pytest.raises(Superseded):
            await cluster.run(lives)
        assert cluster.pods() == [meta["name"]]
        gone = DeletePod(meta["name"], meta["uid"], "x", believed_gone_owner="uid-older")
        await cluster.run(gone)
        assert cluster.pods() == []

    with_cluster(test)


@pytest.mark.parametrize(
    ("is_there", "is_lost"), [(False, True), (True, False)], ids=["gone", "there after all"]
)
def test_a_pod_is_deleted_by_force_only_when_its_node_turns_out_to_be_lost(
    is_there: bool, is_lost: bool
) -> None:
    """A false record of the deletion of the node must not make the PE run twice."""

    async def test(cluster: Cluster) -> None:
        meta = cluster.hide_pod(1)["metadata"]
        await cluster.writer.confirm_absent(resource_of("Pod"), "default", meta["name"])
        if is_there:
            body = {"metadata": {"name": "n1"}}
            cluster.sandbox.cluster.store.create(cluster.sandbox.kind("Node"), None, body)
        forced = DeletePod(meta["name"], meta["uid"], "x", by_force=True, lost_node="n1")
        if is_lost:
            await cluster.run(forced)
        else:
            with pytest.raises(Superseded):
                await cluster.run(forced)
        assert cluster.pods() == ([] if is_lost else [meta["name"]])

    with_cluster(test)


def test_a_pod_that_is_set_aside_keeps_its_other_labels() -> None:
    """The job's clean-up finds it by them; the PE's Service does not."""

    async def test(cluster: Cluster) -> None:
        pod = cluster.hide_pod(1)
        meta = pod["metadata"]
        await cluster.writer.confirm_absent(resource_of("Pod"), "default", meta["name"])
        assert await cluster.run(SetPodAside(meta["name"], meta["uid"])) == "patched"
        entry = cluster.table.get("Pod", "default", meta["name"])
        assert entry is not None
        assert entry.data["metadata"]["labels"] == {**meta["labels"], "svc": "zombie"}
        assert await cluster.run(SetPodAside(meta["name"], "uid-of-another")) == "gone"

    with_cluster(test)


def test_the_pods_of_a_job_are_not_deleted_when_the_job_turns_out_to_exist() -> None:
    """Absence in the table is not absence."""

    async def test(cluster: Cluster) -> None:
        cluster.hide_pod(1)
        uid = cluster.job["metadata"]["uid"]
        with pytest.raises(Superseded):
            await cluster.run(DeletePodsOfJob("shop", uid), JobKey("default", "shop", uid))
        assert len(cluster.pods()) == 1
        cluster.sandbox.cluster.store.delete(
            cluster.sandbox.kind("Job"), "default", "shop", DeleteOptions()
        )
        await cluster.run(DeletePodsOfJob("shop", uid), JobKey("default", "shop", uid))
        assert cluster.pods() == []

    with_cluster(test)


def test_a_false_record_of_the_deletion_of_an_owner_deletes_no_pod() -> None:
    """A record proves nothing: a GET to the API server confirms it."""

    async def test(cluster: Cluster) -> None:
        meta = cluster.hide_pod(1)["metadata"]
        for owner in (cluster.job, cluster.pe):
            cluster.table.apply(false_end_of(owner), Partition("millrace.resources", 0))
        uid = cluster.job["metadata"]["uid"]
        with pytest.raises(Superseded):
            await cluster.run(DeletePodsOfJob("shop", uid), JobKey("default", "shop", uid))
        owner_uid = cluster.pe["metadata"]["uid"]
        with pytest.raises(Superseded):
            await cluster.run(
                DeletePod(meta["name"], meta["uid"], "x", believed_gone_owner=owner_uid)
            )
        assert cluster.pods() == [meta["name"]]

    with_cluster(test)


def false_end_of(obj: Obj) -> Fact:
    """The deletion of an object that lives, under a version that it does not have."""
    meta = obj["metadata"]
    return Fact(
        FactType.DELETION,
        obj["kind"],
        "default",
        meta["name"],
        meta["uid"],
        int(meta["resourceVersion"]) + 1000,
        Epoch(1, 1, "c"),
    )


def test_a_status_is_not_written_over_one_that_is_newer_than_the_decision() -> None:
    """Another instance launched in between: decide again."""

    async def test(cluster: Cluster) -> None:
        (create,) = cluster.decided()
        await cluster.run(create)
        (patch,) = cluster.decided()
        snapshot = cluster.snapshot()
        patched = cluster.sandbox.cluster.store.patch(
            cluster.sandbox.kind("ProcessingElement"),
            "default",
            "shop-0",
            {"status": {"launchCount": 3}},
            "application/merge-patch+json",
            subresource="status",
        )
        with pytest.raises(Superseded):
            await cluster.carry_out.run(PE_KEY, snapshot, patch)
        cluster.writer.observe("ProcessingElement", patched)
        with pytest.raises(Superseded):
            await cluster.carry_out.run(PE_KEY, snapshot, patch)
        assert cluster.status()["launchCount"] == 3

    with_cluster(test)
