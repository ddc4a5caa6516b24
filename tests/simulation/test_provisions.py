"""What the PEs of a job share, over a job's life: one certificate, the servers of one redis."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from sandbox.http.in_process import Fault
from sandbox.store.deleting import DeleteOptions
from tests.golden_pods import REDIS
from tests.sandboxed import MERGE
from tests.simulation.applications import submit_example
from tests.simulation.world import Request, World, simulate

Obj = dict[str, Any]
SECRET = "j.transport"
SECRETS = "/api/v1/namespaces/default/secrets"
REFUSALS = 3
ENCRYPTED: Obj = {"processingElement": {"transportSecurityType": "TLSv1.2"}}
IN_REDIS: Obj = {"processingElement": {"checkpointRepository": {"redis": REDIS}}}
CONFIGURATION = "STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION"
STEADY_S = 600.0


def secret(world: World) -> Obj:
    return world.objects("secrets")[SECRET]


def status(world: World) -> Obj:
    found: Obj = world.objects("streamsjobs")["j"]["status"]
    return found


async def running(world: World, **spec: Obj) -> None:
    world.start()
    submit_example(world, "j", width=2, more=spec)
    await world.until("running", lambda: world.is_running("j"))
    await world.settle()


def launches(world: World) -> dict[str, int]:
    return {name: pe["status"]["launchCount"] for name, pe in world.objects("streamspes").items()}


def test_a_job_that_talks_over_tls_has_a_certificate_of_its_own_that_a_resize_keeps(
    tmp_path: Path,
) -> None:
    """Owned and labelled like every child; written once, and nothing more while all is well."""

    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        before = secret(world)
        meta = before["metadata"]
        uid = world.objects("streamsjobs")["j"]["metadata"]["uid"]
        assert meta["labels"][labels.JOB_UID] == uid
        assert [owner["uid"] for owner in meta["ownerReferences"]] == [uid]
        assert set(before["data"]) == {"transport.cert", "transport.key"}
        assert status(world)["transportCertificate"]["secretName"] == SECRET
        written = len(world.writes())
        await asyncio.sleep(STEADY_S)
        assert world.writes()[written:] == []
        world.resize("j", "Counted", 4)
        await world.until("wider", lambda: world.is_running("j") and len(launches(world)) == 8)
        await world.settle()
        assert secret(world) == before

    simulate(tmp_path, test)


def test_no_pod_of_an_encrypted_job_is_made_before_its_certificate_is(tmp_path: Path) -> None:
    """However long that takes: the pod would wait at its node, where nobody sees why."""

    async def test(world: World) -> None:
        refuse_at_first(world, "POST", SECRETS)
        await running(world, **ENCRYPTED)
        asked = [(each.method, each.path) for each in world.requests]
        tries = [number for number, each in enumerate(asked) if each == ("POST", SECRETS)]
        assert len(tries) == REFUSALS + 1
        assert tries[-1] < asked.index(("POST", "/api/v1/namespaces/default/pods"))

    simulate(tmp_path, test)


def refuse_at_first(world: World, method: str, path: str) -> None:
    """The API server cannot answer the first few requests to that path."""
    refused: list[Request] = []

    def fault(asked: Request) -> Fault | None:
        if (asked.method, asked.path) != (method, path) or len(refused) == REFUSALS:
            return None
        refused.append(asked)
        return Fault(status=503)

    world.faults = fault


@pytest.mark.parametrize("damage", ["deleted", "emptied"])
def test_a_certificate_that_somebody_deletes_or_damages_is_made_again(
    tmp_path: Path, damage: str
) -> None:
    """And nothing that runs is launched again."""

    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        before, launched = secret(world), launches(world)
        kind = world.kind("secrets")
        if damage == "deleted":
            world.store.delete(kind, "default", SECRET, DeleteOptions())
        else:
            emptied = {"data": {labels.PRIVATE_KEY_KEY: ""}}
            world.store.patch(kind, "default", SECRET, emptied, MERGE)
        await world.until(
            "again",
            lambda: bool(
                world.objects("secrets").get(SECRET, {}).get("data", {}).get("transport.key")
            ),
            wait_s=60.0,
        )
        await world.settle()
        after = secret(world)
        assert after["data"]["transport.key"] != before["data"]["transport.key"]
        assert (after["metadata"]["uid"] == before["metadata"]["uid"]) == (damage == "emptied")
        assert launches(world) == launched

    simulate(tmp_path, test)


def test_a_secret_of_somebody_else_in_place_of_the_certificate_is_reported_once(
    tmp_path: Path,
) -> None:
    """The job runs on, its condition Submitted names the Secret until it is gone, and no more."""

    def submitted(world: World) -> Obj:
        conditions: list[Obj] = status(world)["conditions"]
        return next(each for each in conditions if each["type"] == "Submitted")

    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        kind = world.kind("secrets")
        world.store.delete(kind, "default", SECRET, DeleteOptions())
        stranger = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "namespace": "default"},
        }
        world.store.create(kind, "default", stranger)
        await world.until("told", lambda: submitted(world)["status"] == "False", wait_s=60.0)
        assert (submitted(world)["reason"], SECRET in submitted(world)["message"]) == (
            "NameTaken",
            True,
        )
        written = len(world.writes())
        await asyncio.sleep(STEADY_S)
        assert world.writes()[written:] == []
        world.store.delete(kind, "default", SECRET, DeleteOptions())
        await world.until("over", lambda: submitted(world)["status"] == "True", wait_s=600.0)
        assert world.phase("j") == "Submitted"

    simulate(tmp_path, test)


def test_a_new_fusion_backend_leaves_the_certificate_as_it_is(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        before, written = secret(world), len(world.writes())
        await world.kill("fusion-backend")
        world.start("fusion-backend")
        await asyncio.sleep(STEADY_S)
        assert secret(world) == before
        assert world.writes()[written:] == []

    simulate(tmp_path, test)


def test_the_certificate_goes_with_its_job(tmp_path: Path) -> None:
    """By us, while a finalizer holds the Job: the garbage collector is only the net below."""

    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        jobs = world.kind("streamsjobs")
        hold = {"metadata": {"finalizers": ["example.com/hold"]}}
        world.store.patch(jobs, "default", "j", hold, MERGE)
        world.store.delete(jobs, "default", "j", DeleteOptions())
        await world.until("gone", lambda: SECRET not in world.objects("secrets"))

    simulate(tmp_path, test)


def test_an_attempt_that_fails_before_its_first_pe_leaves_no_certificate(tmp_path: Path) -> None:
    """The Job stays, so that no garbage collector takes the key."""

    async def test(world: World) -> None:
        world.faults = lambda asked: (
            Fault(status=403)
            if asked.method == "POST" and asked.path.endswith("/streamspes")
            else None
        )
        world.start()
        submit_example(world, "j", width=2, more={**ENCRYPTED, "submissionTimeOutInSeconds": 60})
        await world.until("made", lambda: SECRET in world.objects("secrets"))
        await world.until("failed", lambda: world.phase("j") == "Failed", wait_s=120.0)
        await world.settle()
        assert world.objects("secrets") == {}

    simulate(tmp_path, test)


def test_a_pe_that_is_reported_to_talk_over_tls_brings_its_job_a_certificate(
    tmp_path: Path,
) -> None:
    """Edited by hand, it is launched with it the next time."""

    async def test(world: World) -> None:
        await running(world)
        assert world.objects("secrets") == {}
        edit = {"spec": {"transportSecurityType": "TLSv1.2", "launchCount": 2}}
        world.store.patch(world.kind("streamspes"), "default", "j-0", edit, MERGE)
        await world.until("launched", lambda: launches(world)["j-0"] == 2 and world.is_running("j"))
        await world.settle()
        volumes = {each["name"]: each for each in world.live_pods("j")["j-0"]["spec"]["volumes"]}
        assert "projected" in volumes["job-config-volume"]
        assert SECRET in world.objects("secrets")

    simulate(tmp_path, test)


def test_a_key_is_in_no_fact_and_no_decision(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await running(world, **ENCRYPTED)
        key = secret(world)["data"]["transport.key"]
        said = b"".join(each.value or b"" for each in await world.facts())
        assert b"transportCertificate" in said
        for text in (key.encode(), base64.b64decode(key), b"PRIVATE KEY"):
            assert text not in said

    simulate(tmp_path, test)


def test_a_job_with_redis_is_launched_with_the_servers_that_were_found(tmp_path: Path) -> None:
    """Once: another fusion-backend and a resize ask nobody again."""

    async def test(world: World) -> None:
        await running(world, **IN_REDIS)
        config = status(world)["redisConfig"]
        servers = json.loads(config)["replicaGroups"][0]["servers"]
        assert servers == ["localhost:6379:password"]
        await world.kill("fusion-backend")
        world.start("fusion-backend")
        world.resize("j", "Counted", 3)
        await world.until("wider", lambda: world.is_running("j") and len(launches(world)) == 7)
        await world.settle()
        assert status(world)["redisConfig"] == config
        pods = world.live_pods("j").values()
        assert {told(pod, "STREAMS_CHECKPOINT_REPOSITORY") for pod in pods} == {"redis"}
        assert {told(pod, CONFIGURATION) for pod in pods} == {config}

    simulate(tmp_path, test)


def test_each_job_has_the_servers_of_its_own_redis(tmp_path: Path) -> None:
    """Also where they are submitted at once, from one bundle."""

    async def test(world: World) -> None:
        world.start()
        for job, service in (("j", "localhost"), ("k", "other")):
            redis = {"checkpointRepository": {"redis": REDIS | {"service": service}}}
            submit_example(world, job, width=1, more={"processingElement": redis})
        await world.until("running", lambda: all(map(world.is_running, ("j", "k"))))
        for job, server in (("j", "localhost"), ("k", "other-0")):
            config = world.objects("streamsjobs")[job]["status"]["redisConfig"]
            assert json.loads(config)["replicaGroups"][0]["servers"] == [f"{server}:6379:password"]
            pods = world.live_pods(job).values()
            assert {told(pod, CONFIGURATION) for pod in pods} == {config}

    simulate(tmp_path, test)


def told(pod: Obj, variable: str) -> str:
    """A variable of a pod's environment."""
    variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    found: str = variables[variable]
    return found


def test_a_pe_that_is_reported_of_a_redis_is_launched_with_its_servers(tmp_path: Path) -> None:
    """Edited by hand: the next launch waits until they are found."""

    async def test(world: World) -> None:
        await running(world)
        job = "/apis/streams.ibm.com/v1/namespaces/default/streamsjobs/j/status"
        refuse_at_first(world, "PATCH", job)
        edit = {"spec": IN_REDIS["processingElement"] | {"launchCount": 2}}
        world.store.patch(world.kind("streamspes"), "default", "j-0", edit, MERGE)
        await world.until("launched", lambda: launches(world)["j-0"] == 2 and world.is_running("j"))
        assert told(world.live_pods("j")["j-0"], CONFIGURATION) == status(world)["redisConfig"]

    simulate(tmp_path, test)


@pytest.mark.parametrize(
    ("redis", "field", "value"),
    [
        ({"replicaCount": 2}, "redis.replicaCount", "2"),
        ({"shardCount": 3}, "redis.service", "asks for 3"),
        ({"service": "nowhere"}, "redis.service", "nowhere"),
        ({"service": "redis.elsewhere"}, "redis.service", "redis.elsewhere"),
    ],
)
def test_a_redis_that_cannot_be_used_fails_the_job_instead_of_another_store(
    tmp_path: Path, redis: Obj, field: str, value: str
) -> None:
    """Field and value are named; nothing of the job is left."""

    async def test(world: World) -> None:
        world.start()
        store = {"checkpointDataStore": {"redis": REDIS | redis}}
        submit_example(world, "j", width=2, more={"processingElement": store})
        await world.until("failed", lambda: world.phase("j") == "Failed")
        await world.settle()
        said = status(world)
        assert said["reason"] == "CheckpointStoreInvalid"
        assert f"spec.processingElement.checkpointDataStore.{field}" in said["message"]
        assert value in said["message"]
        assert world.objects("streamspes") == {}

    simulate(tmp_path, test)


def test_a_pe_that_is_reported_of_a_redis_that_cannot_be_used_is_not_launched_without_it(
    tmp_path: Path,
) -> None:
    """An Event of the Job names field and value; what runs goes on."""

    async def test(world: World) -> None:
        await running(world)
        even = {"checkpointRepository": {"redis": REDIS | {"replicaCount": 2}}}
        world.store.patch(world.kind("streamspes"), "default", "j-0", {"spec": even}, MERGE)
        await world.until("told", lambda: any(map(says_even, world.objects("events").values())))
        await world.settle()
        assert "redisConfig" not in status(world)
        assert world.is_running("j")

    simulate(tmp_path, test)


def says_even(event: Obj) -> bool:
    """Whether an Event speaks of an even number of replicas."""
    return "ProcessingElement j-0: spec.checkpointRepository.redis.replicaCount is 2" in str(
        event.get("message")
    )
