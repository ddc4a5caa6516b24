"""Objects of others that bear the marks of a job, and records of others: the job goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from contracts import labels
from services.chassis.log.bus import NewRecord
from tests.simulation.applications import OUTSIDE, with_example
from tests.simulation.world import Obj, World, simulate


def _marked(world: World, name: str, **marks: str) -> Obj:
    uid = world.objects("streamsjobs")["j"]["metadata"]["uid"]
    marked = {labels.APP: labels.APP_VALUE, labels.JOB_UID: uid, **marks}
    return {"metadata": {"name": name, "namespace": "default", "labels": marked}}


async def _resize(world: World, width: int) -> None:
    world.resize("j", "Counted", width)
    await world.until(
        "resized",
        lambda: (
            world.phase("j") == "Submitted"
            and len(world.objects("streamspes", "j")) == width + OUTSIDE
        ),
        wait_s=60.0,
    )


@pytest.mark.parametrize("name", ["nobody", ""])
def test_a_pod_with_the_uid_of_a_job_and_another_name_takes_no_pod_with_it(
    tmp_path: Path, name: str
) -> None:
    """There is no Job of that name; the pods of the Job with that uid are none of its business."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods = {pod["metadata"]["uid"] for pod in world.live_pods("j").values()}
        body = _marked(world, "stranger", **{labels.JOB: name})
        body["spec"] = {"containers": [{"name": "c", "image": "i"}]}
        owner = world.objects("streamspes", "j")["j-0"]["metadata"]
        body["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "streams.ibm.com/v1",
                "kind": "ProcessingElement",
                "name": owner["name"],
                "uid": owner["uid"],
                "controller": True,
            }
        ]
        world.store.create(world.kind("pods"), "default", body)
        await world.clock.sleep(30)
        assert pods <= {pod["metadata"]["uid"] for pod in world.live_pods("j").values()}

    simulate(tmp_path, test)


def test_a_stranger_with_the_marks_of_a_job_survives_its_resizes(tmp_path: Path) -> None:
    """Nobody's child is not cleaned up, whatever generation its label says."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        body = _marked(world, "stranger", **{labels.JOB: "j", labels.GENERATION: "0"})
        world.store.create(world.kind("configmaps"), "default", body)
        await _resize(world, 5)
        await world.settle()
        assert "stranger" in world.objects("configmaps")

    simulate(tmp_path, test)


@pytest.mark.parametrize(
    "lie", [{"incarnation": 2**40}, {"list": 2**40}, {"cluster": "another"}, {"incarnation": 1e30}]
)
def test_a_record_that_speaks_above_everything_is_spoken_over(tmp_path: Path, lie: Obj) -> None:
    """watch-ingest begins an incarnation above it in seconds, and nothing is launched again."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods = {pod["metadata"]["uid"] for pod in world.live_pods("j").values()}
        for record in await world.facts():
            if record.key.startswith(b"sync/"):
                told = orjson.loads(record.value)
                false = replace(record, value=orjson.dumps(told | {"epoch": told["epoch"] | lie}))
                await world.log.produce(
                    [NewRecord(false.partition, false.key, false.value, false.headers)]
                )
        await world.clock.sleep(60)
        assert pods == {pod["metadata"]["uid"] for pod in world.live_pods("j").values()}
        await _resize(world, 4)

    simulate(tmp_path, test)


def test_a_job_that_a_record_puts_into_another_namespace_is_looked_for_once(
    tmp_path: Path,
) -> None:
    """What is made for it there vanishes with its missing owner, and is not made for ever."""

    async def test(world: World) -> None:
        world.store.create(world.kind("namespaces"), None, {"metadata": {"name": "elsewhere"}})
        await with_example(world, "j", width=3)
        before = len(world.requests)
        for record in await world.facts():
            kind, _, _ = (
                record.key.decode().split("/", 2) if b"sync" not in record.key else ("", "", "")
            )
            if kind not in ("Job", "ConfigMap", "ProcessingElement"):
                continue
            told = orjson.loads(record.value) | {"namespace": "elsewhere"}
            key = f"{kind}/elsewhere/{told['name']}".encode()
            await world.log.produce(
                [NewRecord(record.partition, key, orjson.dumps(told), record.headers)]
            )
        await world.clock.sleep(60)
        assert len(world.writes(before)) < 100
        await _resize(world, 4)

    simulate(tmp_path, test)


def test_a_record_that_says_falsely_that_the_job_is_gone_costs_a_look_at_it(tmp_path: Path) -> None:
    """Its pods run, so nothing of it is deleted, and nothing else would show that it is there."""

    async def test(world: World) -> None:
        await with_example(world, "j", width=3)
        pods = {pod["metadata"]["uid"] for pod in world.live_pods("j").values()}
        (record,) = [each for each in await world.facts() if each.key == b"Job/default/j"][-1:]
        told = orjson.loads(record.value)
        told |= {"object": None, "resourceVersion": told["resourceVersion"] + 1}
        headers = dict(record.headers) | {"ce_type": b"com.ibm.streams.fact.deletion"}
        await world.log.produce(
            [NewRecord(record.partition, record.key, orjson.dumps(told), tuple(headers.items()))]
        )
        await world.clock.sleep(5)
        assert pods == {pod["metadata"]["uid"] for pod in world.live_pods("j").values()}
        await _resize(world, 4)

    simulate(tmp_path, test)
