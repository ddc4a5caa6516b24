"""Fenced effects against the embedded API server: nothing is overwritten, lost or done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from contracts.labels import APP, APP_VALUE, GENERATION
from sandbox.cluster import Cluster
from sandbox.http.in_process import Fault, When
from services.chassis.kube.events import EVENT
from services.chassis.kube.port import Json, KubeClient
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Outcome, Writer
from services.chassis.process.clock import LoopClock
from services.chassis.process.errors import NameTaken, NotFound, Superseded, Transient
from services.chassis.running.confirming import confirm_own_writes
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from tests.sandboxed import SandboxTransport
from tests.unit.chassis.running.saying import RESOURCES_0, present
from tests.virtual_time import virtually

NS = "default"
CONFIG_MAP, SERVICE, POD = (resource_of(kind) for kind in ("ConfigMap", "Service", "Pod"))


class Scene:
    """A cluster, a writer with its table, and somebody else who writes as well."""

    def __init__(self) -> None:
        uids = count(1)
        cluster = Cluster(now=lambda: 1.7e9, new_uid=lambda: f"uid-{next(uids)}", nodes=0)
        self.fault: Callable[[str, str], Fault | None] = lambda _method, _path: None
        self.transport = SandboxTransport(cluster, lambda method, path: self.fault(method, path))
        self.kube = KubeClient(self.transport, "writer")
        self.others = KubeClient(SandboxTransport(cluster), "somebody else")
        self.table = Table()
        self.writer = Writer(self.kube, self.table, component="writer", now=lambda: 1.7e9)

    async def owner(self, name: str) -> Json:
        """An object that controls others (a Service, so that the writer can look it up)."""
        return await self.others.create(SERVICE, NS, service(name))

    async def entry(self, kind: str = "ConfigMap", name: str = "a") -> Entry:
        """The object as a decision saw it: in the table, and as its entry."""
        self.writer.observe(kind, await self.others.get(resource_of(kind), NS, name))
        entry = self.table.get(kind, NS, name)
        assert entry is not None
        return entry

    async def label(self, name: str, value: str, kind: str = "ConfigMap") -> Json:
        """Somebody else changes what a projection shows."""
        return await self._patch(kind, name, {"labels": {"by": value}})

    async def touch(self, name: str, value: str, kind: str = "ConfigMap") -> Json:
        """Somebody else makes a new version in which no projection changes."""
        return await self._patch(kind, name, {"annotations": {"other.example/note": value}})

    async def _patch(self, kind: str, name: str, metadata: Json) -> Json:
        resource = resource_of(kind)
        version = int((await self.others.get(resource, NS, name))["metadata"]["resourceVersion"])
        return await self.others.patch(
            resource, NS, name, {"metadata": metadata}, resource_version=version
        )

    def lose_answer_of(self, method: str, *, when: When = When.AFTER) -> None:
        """The next request of a method loses its answer."""
        lost = iter([Fault(lost=when)])
        self.fault = lambda asked, _path: next(lost, None) if asked == method else None

    def asked(self, method: str) -> int:
        return sum(1 for each, _ in self.transport.asked if each == method)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def metadata(name: str, generation: int, owner: Json | None) -> Json:
    meta: Json = {"name": name, "labels": {APP: APP_VALUE, GENERATION: str(generation)}}
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ]
    return meta


def config_map(name: str = "a", *, generation: int = 1, owner: Json | None = None) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(name, generation, owner),
        "data": {"k": "v"},
        "immutable": True,
    }


def service(name: str = "a", *, generation: int = 1, owner: Json | None = None) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, generation, owner),
        "spec": {"clusterIP": "None"},
    }


class TestCreate:
    """POST with a deterministic name."""

    async def test_a_created_object_is_in_the_table_at_once(self, scene: Scene) -> None:
        assert await scene.writer.create(CONFIG_MAP, NS, config_map()) is Outcome.CREATED
        entry = scene.table.get("ConfigMap", NS, "a")
        assert entry is not None
        assert entry.data["metadata"]["labels"][GENERATION] == "1"

    async def test_our_own_object_created_before_is_done(self, scene: Scene) -> None:
        owner = await scene.owner("job")
        await scene.others.create(CONFIG_MAP, NS, config_map(owner=owner))
        again = await scene.writer.create(CONFIG_MAP, NS, config_map(owner=owner), stamp=GENERATION)
        assert again is Outcome.EXISTED
        assert scene.table.get("ConfigMap", NS, "a") is not None
        assert scene.asked("PATCH") == 0

    async def test_an_object_of_an_older_generation_is_stamped_again(self, scene: Scene) -> None:
        owner = await scene.owner("job")
        await scene.others.create(CONFIG_MAP, NS, config_map(owner=owner))
        outcome = await scene.writer.create(
            CONFIG_MAP, NS, config_map(generation=2, owner=owner), stamp=GENERATION
        )
        assert outcome is Outcome.RESTAMPED
        entry = scene.table.get("ConfigMap", NS, "a")
        assert entry is not None
        assert entry.data["metadata"]["labels"][GENERATION] == "2"

    async def test_an_older_object_with_a_spec_is_left_to_a_new_decision(
        self, scene: Scene
    ) -> None:
        owner = await scene.owner("job")
        await scene.others.create(SERVICE, NS, service(owner=owner))
        with pytest.raises(Superseded):
            await scene.writer.create(
                SERVICE, NS, service(generation=2, owner=owner), stamp=GENERATION
            )
        assert scene.table.get("Service", NS, "a") is not None
        assert scene.asked("PATCH") == 0

    async def test_a_newer_generation_supersedes_ours(self, scene: Scene) -> None:
        owner = await scene.owner("job")
        await scene.others.create(CONFIG_MAP, NS, config_map(generation=3, owner=owner))
        with pytest.raises(Superseded):
            await scene.writer.create(
                CONFIG_MAP, NS, config_map(generation=2, owner=owner), stamp=GENERATION
            )

    async def test_an_object_that_somebody_else_controls_is_not_touched(self, scene: Scene) -> None:
        ours, theirs = await scene.owner("job"), await scene.owner("another")
        await scene.others.create(CONFIG_MAP, NS, config_map(owner=theirs))
        with pytest.raises(NameTaken, match="belongs to Service another"):
            await scene.writer.create(CONFIG_MAP, NS, config_map(owner=ours), stamp=GENERATION)

    async def test_an_object_that_nobody_controls_is_not_ours(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        with pytest.raises(NameTaken):
            await scene.writer.create(CONFIG_MAP, NS, config_map(owner=await scene.owner("job")))

    async def test_an_object_whose_owner_is_gone_is_waited_for(self, scene: Scene) -> None:
        earlier = await scene.owner("job")
        await scene.others.create(CONFIG_MAP, NS, config_map(owner=earlier))
        await scene.others.delete(SERVICE, NS, "job", uid=earlier["metadata"]["uid"])
        later = await scene.owner("job")
        with pytest.raises(Transient, match="garbage collector"):
            await scene.writer.create(CONFIG_MAP, NS, config_map(owner=later))

    async def test_an_owner_of_a_kind_that_ours_never_has_is_not_even_looked_at(
        self, scene: Scene
    ) -> None:
        """The least rights of a service do not hold a GET of just any kind."""
        theirs = config_map(owner=await scene.owner("theirs"))
        theirs["metadata"]["ownerReferences"][0] |= {"kind": "Node", "name": "nowhere"}
        await scene.others.create(CONFIG_MAP, NS, theirs)
        with pytest.raises(NameTaken, match="belongs to Node nowhere"):
            await scene.writer.create(CONFIG_MAP, NS, config_map(owner=await scene.owner("job")))
        assert not any("/nodes" in path for _, path in scene.transport.asked)

    async def test_an_object_that_is_being_deleted_is_waited_for(self, scene: Scene) -> None:
        body = config_map()
        body["metadata"]["finalizers"] = ["example.com/wait"]
        there = await scene.others.create(CONFIG_MAP, NS, body)
        await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        with pytest.raises(Transient, match="being deleted"):
            await scene.writer.create(CONFIG_MAP, NS, config_map())

    async def test_a_create_whose_answer_is_lost_is_looked_for(self, scene: Scene) -> None:
        scene.lose_answer_of("POST")
        assert await scene.writer.create(CONFIG_MAP, NS, config_map()) is Outcome.EXISTED
        assert scene.table.get("ConfigMap", NS, "a") is not None

    async def test_a_create_that_never_arrived_is_tried_again_later(self, scene: Scene) -> None:
        scene.lose_answer_of("POST", when=When.BEFORE)
        with pytest.raises(Transient):
            await scene.writer.create(CONFIG_MAP, NS, config_map())
        assert scene.table.get("ConfigMap", NS, "a") is None


class TestPatch:
    """A merge patch under the version that was decided on."""

    async def test_a_patch_is_in_the_table_at_once(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        outcome = await scene.writer.patch(entry, stamped(2))
        assert outcome is Outcome.PATCHED
        now = scene.table.get("ConfigMap", NS, "a")
        assert now is not None
        assert now.data["metadata"]["labels"][GENERATION] == "2"
        assert now.resource_version > entry.resource_version

    async def test_a_patch_that_changes_nothing_says_so(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        assert await scene.writer.patch(await scene.entry(), stamped(1)) is Outcome.UNCHANGED

    async def test_managed_fields_that_are_too_large_are_emptied_before_a_status_is_written(
        self, scene: Scene
    ) -> None:
        """Beside 1.2 MB of them each patch of a status kept an API server busy for 12 s."""
        large: Json = {"f:data": {f"f:{number:04d}{'x' * 100}": {} for number in range(1_000)}}
        managed: Json = {"manager": "x", "operation": "Update", "apiVersion": "v1"}
        managed |= {"fieldsType": "FieldsV1", "fieldsV1": large}
        body = service()
        body["metadata"]["managedFields"] = [managed]
        await scene.others.create(SERVICE, NS, body)
        entry = await scene.entry("Service")
        with pytest.raises(Superseded, match="managedFields"):
            await scene.writer.patch(entry, {"status": {"x": 1}}, subresource="status")
        assert scene.transport.asked[-1] == ("PATCH", "/api/v1/namespaces/default/services/a")
        now = scene.table.get("Service", NS, "a")
        assert now is not None
        assert now.data != entry.data
        assert await scene.writer.patch(now, stamped(2)) is Outcome.PATCHED

    async def test_a_new_version_that_looks_the_same_is_patched_all_the_same(
        self, scene: Scene
    ) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.touch("a", "heartbeat")
        assert await scene.writer.patch(entry, stamped(2)) is Outcome.PATCHED

    async def test_an_object_that_changed_is_not_patched_but_learnt(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.label("a", "somebody")
        with pytest.raises(Superseded):
            await scene.writer.patch(entry, stamped(2))
        now = scene.table.get("ConfigMap", NS, "a")
        assert now is not None
        assert now.data["metadata"]["labels"]["by"] == "somebody"
        assert now.data["metadata"]["labels"][GENERATION] == "1"

    async def test_an_object_that_changes_all_the_time_is_left_for_later(
        self, scene: Scene
    ) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.touch("a", "0")
        scene.fault = lambda method, _path: Fault(status=409) if method == "PATCH" else None
        with pytest.raises(Transient, match="all the time"):
            await scene.writer.patch(entry, stamped(2))
        assert scene.asked("PATCH") == 5

    async def test_an_object_that_is_gone_leaves_the_table(self, scene: Scene) -> None:
        there = await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        with pytest.raises(Superseded):
            await scene.writer.patch(entry, stamped(2))
        assert scene.table.get("ConfigMap", NS, "a") is None

    async def test_a_later_object_of_the_name_is_not_patched(self, scene: Scene) -> None:
        there = await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        later = await scene.others.create(CONFIG_MAP, NS, config_map())
        with pytest.raises(Superseded):
            await scene.writer.patch(entry, stamped(2))
        now = scene.table.get("ConfigMap", NS, "a")
        assert now is not None
        assert now.uid == later["metadata"]["uid"]
        assert now.data["metadata"]["labels"][GENERATION] == "1"

    async def test_a_patch_whose_answer_is_lost_is_read_again(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        scene.lose_answer_of("PATCH")
        with pytest.raises(Transient):
            await scene.writer.patch(entry, stamped(2))
        now = scene.table.get("ConfigMap", NS, "a")
        assert now is not None
        assert now.data["metadata"]["labels"][GENERATION] == "2"


class TestDelete:
    """DELETE of the object that was meant, and of no other."""

    async def test_a_deleted_object_leaves_the_table_at_once(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        assert await scene.writer.delete(await scene.entry()) is Outcome.GONE
        assert scene.table.get("ConfigMap", NS, "a") is None
        with pytest.raises(NotFound):
            await scene.others.get(CONFIG_MAP, NS, "a")

    async def test_an_object_that_waits_for_a_finalizer_is_seen_terminating(
        self, scene: Scene
    ) -> None:
        body = config_map()
        body["metadata"]["finalizers"] = ["example.com/wait"]
        await scene.others.create(CONFIG_MAP, NS, body)
        assert await scene.writer.delete(await scene.entry()) is Outcome.DELETING
        now = scene.table.get("ConfigMap", NS, "a")
        assert now is not None
        assert now.data["metadata"]["deletionTimestamp"]

    async def test_an_object_that_is_gone_already_is_gone(self, scene: Scene) -> None:
        there = await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        assert await scene.writer.delete(entry) is Outcome.GONE
        assert scene.table.get("ConfigMap", NS, "a") is None

    async def test_a_later_object_of_the_name_stays(self, scene: Scene) -> None:
        there = await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        later = await scene.others.create(CONFIG_MAP, NS, config_map())
        assert await scene.writer.delete(entry) is Outcome.GONE
        left = await scene.others.get(CONFIG_MAP, NS, "a")
        assert left["metadata"]["uid"] == later["metadata"]["uid"]

    async def test_an_object_that_was_stamped_again_meanwhile_stays(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.label("a", "generation-2")
        with pytest.raises(Superseded):
            await scene.writer.delete(entry, with_version=True)
        assert await scene.others.get(CONFIG_MAP, NS, "a")

    async def test_a_new_version_that_looks_the_same_is_deleted_all_the_same(
        self, scene: Scene
    ) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        await scene.touch("a", "heartbeat")
        assert await scene.writer.delete(entry, with_version=True) is Outcome.GONE

    async def test_a_delete_whose_answer_is_lost_is_looked_for(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()
        scene.lose_answer_of("DELETE")
        assert await scene.writer.delete(entry) is Outcome.GONE


class TestLooking:
    """Absence is confirmed, never assumed."""

    async def test_a_name_that_is_free_is_absent_and_leaves_the_table(self, scene: Scene) -> None:
        there = await scene.others.create(CONFIG_MAP, NS, config_map())
        await scene.entry()
        await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        assert await scene.writer.confirm_absent(CONFIG_MAP, NS, "a")
        assert scene.table.get("ConfigMap", NS, "a") is None

    async def test_an_object_that_no_fact_said_yet_is_found_and_learnt(self, scene: Scene) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        assert not await scene.writer.confirm_absent(CONFIG_MAP, NS, "a")
        assert scene.table.get("ConfigMap", NS, "a") is not None

    async def test_an_object_that_is_published_while_its_absence_is_confirmed_is_kept(
        self, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server answered before; its uid must not be buried until the next resync."""
        get = scene.writer._kube.get

        async def late_answer(*where: Any, **how: Any) -> Any:
            try:
                return await get(*where, **how)
            finally:
                created = present("a", kind="ConfigMap", uid="u-new", version=5)
                scene.table.apply(replace(created, namespace=NS), RESOURCES_0)

        monkeypatch.setattr(scene.writer._kube, "get", late_answer)
        assert await scene.writer.confirm_absent(CONFIG_MAP, NS, "a")
        assert [entry.uid for entry in scene.table.of_kind("ConfigMap")] == ["u-new"]

    async def test_kinds_that_the_stage_does_not_read_stay_out_of_its_table(
        self, scene: Scene
    ) -> None:
        scene.table.expect({"Pod": ()})
        await scene.writer.create(CONFIG_MAP, NS, config_map())
        assert scene.table.get("ConfigMap", NS, "a") is None


class TestEvents:
    """Events have deterministic names, so that a replay writes none twice."""

    async def test_an_event_is_written_once_for_object_reason_and_generation(
        self, scene: Scene
    ) -> None:
        await scene.others.create(CONFIG_MAP, NS, config_map())
        entry = await scene.entry()

        async def say(reason: str, generation: int) -> Outcome:
            return await scene.writer.emit_event(
                entry, reason=reason, message="m" * 5000, generation=generation, warning=True
            )

        assert await say("Refused", 1) is Outcome.CREATED
        assert await say("Refused", 1) is Outcome.EXISTED
        assert await say("Refused", 2) is Outcome.CREATED
        assert await say("Accepted", 2) is Outcome.CREATED
        events = await listed(scene)
        assert len(events) == 3
        assert events[0]["involvedObject"]["uid"] == entry.uid
        assert events[0]["type"] == "Warning"
        assert len(events[0]["message"]) == 1024

    async def test_a_later_object_of_the_name_has_events_of_its_own(self, scene: Scene) -> None:
        for _ in range(2):
            there = await scene.others.create(CONFIG_MAP, NS, config_map())
            outcome = await scene.writer.emit_event(
                there, reason="Refused", message="", generation=1
            )
            assert outcome is Outcome.CREATED
            await scene.others.delete(CONFIG_MAP, NS, "a", uid=there["metadata"]["uid"])
        assert len(await listed(scene)) == 2


async def listed(scene: Scene) -> list[Any]:
    return [obj async for page in scene.others.list_pages(EVENT, NS) for obj in page.items]


def stamped(generation: int) -> Json:
    return {"metadata": {"labels": {GENERATION: str(generation)}}}


class TestConfirming:
    """An own write that never comes back as a fact is read again."""

    @virtually
    async def test_an_object_that_vanished_before_any_fact_said_it_leaves_the_table(
        self,
    ) -> None:
        scene = Scene()
        await scene.writer.create(CONFIG_MAP, NS, config_map("vanishes"))
        await scene.writer.create(CONFIG_MAP, NS, config_map("stays"))
        vanishing = await scene.entry(name="vanishes")
        await scene.others.delete(CONFIG_MAP, NS, "vanishes", uid=vanishing.uid)
        confirming = asyncio.create_task(confirm_own_writes(scene.table, scene.writer, LoopClock()))
        await asyncio.sleep(29)
        assert scene.asked("GET") == 0
        await asyncio.sleep(60)
        assert [entry.name for entry in scene.table.of_kind("ConfigMap")] == ["stays"]
        confirming.cancel()

    async def test_what_a_fact_said_is_not_requested(self, scene: Scene) -> None:
        await scene.writer.create(CONFIG_MAP, NS, config_map("a"))
        assert [entry.name for entry in scene.table.unconfirmed()] == ["a"]
        entry = scene.table.unconfirmed()[0]
        said = present("a", kind="ConfigMap", uid=entry.uid, version=entry.resource_version)
        scene.table.apply(replace(said, namespace=NS), RESOURCES_0)
        assert scene.table.unconfirmed() == []

    async def test_results_of_a_stage_are_no_objects_to_ask_for(self, scene: Scene) -> None:
        scene.table.observe("Plan", NS, "a", uid="d", resource_version=1, data={})
        assert scene.table.unconfirmed() == []
