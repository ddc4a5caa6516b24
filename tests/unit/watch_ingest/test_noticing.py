"""What is written on objects that cannot be read, whatever the API server answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest

from contracts.facts import KINDS, Epoch, Fact, FactType
from contracts.unreadable import FACT_DEPTH_MAX, Unreadable
from services.chassis.kube.port import KubeClient, Response
from services.chassis.process.clock import LoopClock
from services.chassis.process.metrics import Metrics
from services.watch_ingest.adapters.noticing import NOTICES_MAX, Notices
from services.watch_ingest.core.noticing import Notice, notice_of
from tests.builders import Builder, a_job, a_node, a_parallel_region, a_pod
from tests.unit.watch_ingest.test_resync import nested
from tests.virtual_time import virtually


def fact(builder: Builder, kind: str = "", data: Mapping[str, Any] | None = None) -> Fact:
    obj = builder.build()
    meta, kind = obj["metadata"], kind or builder.kind
    return Fact(
        FactType.ADDITION,
        kind,
        meta.get("namespace", ""),
        meta["name"],
        meta["uid"],
        int(meta["resourceVersion"]),
        Epoch(1, 1, "cluster"),
        data=KINDS[kind].of(obj) if data is None else data,
    )


def deep(builder: Builder) -> Builder:
    return builder.with_spec(extra=nested(FACT_DEPTH_MAX))


def noticed(it: Fact) -> Notice:
    found = notice_of(it, now=0.0)
    assert found is not None
    return found


def test_a_resource_of_ours_gets_a_condition_and_others_only_an_event() -> None:
    """Nobody but a kubelet writes the status of a pod."""
    region = noticed(fact(deep(a_parallel_region())))
    assert region.patch is not None
    (condition,) = [
        each for each in region.patch["status"]["conditions"] if each["type"] == "Readable"
    ]
    assert condition["status"] == "False"
    assert condition["message"] == region.why
    assert "make it flatter or smaller, or delete it" in region.why
    bad = Unreadable("it nests", {"metadata": {}})
    pod = noticed(fact(a_pod(), "BoundPod", bad))
    assert (pod.kind, pod.patch, pod.generation) == ("Pod", None, 0)
    assert noticed(fact(a_node(), data=bad)).why.startswith("it nests; ")


def test_what_can_be_read_and_jobs_get_no_notice() -> None:
    """fusion-backend refuses a Job, as it refuses every spec that it cannot use."""
    assert notice_of(fact(a_parallel_region()), now=0.0) is None
    assert notice_of(fact(deep(a_job())), now=0.0) is None
    assert notice_of(replace(fact(a_pod()), data=None), now=0.0) is None


def test_a_notice_that_stands_is_not_written_again_and_one_that_is_over_is_taken_back() -> None:
    region = deep(a_parallel_region())
    first = noticed(fact(region))
    assert first.patch is not None
    conditions = first.patch["status"]["conditions"]
    assert notice_of(fact(region.with_status(conditions=conditions)), now=5.0) is None
    mended = a_parallel_region().with_status(conditions=conditions)
    assert noticed(fact(mended)).patch == {"status": {"conditions": []}}
    assert noticed(fact(mended)).why == ""


# --------------------------------------------------------------------------- writing


REREAD = [f"GET {a_parallel_region().build()['metadata']['name']}", "POST events", "PATCH status"]


class Answers:
    """A transport that answers with the statuses that a test says, then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.asked: list[str] = []

    async def request(
        self, method: str, path: str, *, body: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        self.asked.append(f"{method} {path.rpartition('/')[2]}")
        status = self.statuses.pop(0) if self.statuses else 200
        if method == "GET":
            return Response(200, orjson.dumps(deep(a_parallel_region()).at_version(9).build()), {})
        reason = "AlreadyExists" if method == "POST" else "Conflict"
        answer: dict[str, Any] = {"reason": reason if status == 409 else "Oops", "metadata": {}}
        return Response(status, orjson.dumps(answer), {})

    def stream(self, path: str, *, headers: Mapping[str, str], silence_s: float) -> Any:
        raise NotImplementedError


@asynccontextmanager
async def writing(answers: Answers) -> AsyncIterator[tuple[Notices, Metrics]]:
    metrics = Metrics()
    notices = Notices(
        KubeClient(answers, "test"), clock=LoopClock(), random=random.Random(1), metrics=metrics
    )
    task = asyncio.create_task(notices.run())
    try:
        yield notices, metrics
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@virtually
@pytest.mark.parametrize(
    ("statuses", "asked"),
    [
        ((), ["POST events", "PATCH status"]),
        ((409,), ["POST events", "PATCH status"]),
        ((503, 500), ["POST events", "POST events", "POST events", "PATCH status"]),
        ((403,), ["POST events", "PATCH status"]),
        ((200, 409), ["POST events", "PATCH status", *REREAD]),
        ((200, 422), ["POST events", "PATCH status"]),
        ((404, 404), ["POST events", "PATCH status"]),
    ],
)
async def test_a_notice_is_written_once_and_tried_again_only_where_that_may_help(
    statuses: tuple[int, ...], asked: list[str]
) -> None:
    """Another one is written after it in any case."""
    answers = Answers(*statuses)
    async with writing(answers) as (notices, _):
        notices.add(noticed(fact(deep(a_parallel_region()))))
        await asyncio.sleep(60)
        assert answers.asked == asked
        notices.add(noticed(fact(a_node(), data=Unreadable("it nests", {"metadata": {}}))))
        await asyncio.sleep(60)
        assert answers.asked == [*asked, "POST events"]


@virtually
async def test_a_notice_that_fails_for_ever_delays_no_other() -> None:
    """The status of an object that the API server cannot read back answers 500, whatever it is."""

    class Stubborn(Answers):
        async def request(self, method: str, path: str, **more: Any) -> Response:
            if method == "PATCH" and "/stuck/" in path:
                return Response(500, b"{}", {})
            return await super().request(method, path, **more)

    answers = Stubborn()
    async with writing(answers) as (notices, _):
        one = noticed(fact(deep(a_parallel_region())))
        notices.add(replace(one, fact=replace(one.fact, name="stuck")))
        await asyncio.sleep(300)
        answers.asked.clear()
        notices.add(one)
        await asyncio.sleep(0.1)
        assert answers.asked == ["POST events", "PATCH status"]


@virtually
async def test_the_queue_of_notices_has_an_end() -> None:
    """Somebody may make more such objects than can be told; the next resync finds them again."""
    answers = Answers()
    async with writing(answers) as (notices, metrics):
        one = noticed(fact(deep(a_parallel_region())))
        for number in range(NOTICES_MAX + 5):
            notices.add(replace(one, fact=replace(one.fact, name=f"r-{number}")))
        assert metrics.value("watch_ingest_notices_dropped_total") == 5
