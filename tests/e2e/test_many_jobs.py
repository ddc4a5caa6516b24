"""Many jobs side by side: submitted together, resized together while a service dies, deleted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from contracts import labels
from loadtest.api import MERGE, STREAMS, Api, Follower
from tests.e2e.examples import BUNDLE, example_bundle
from tests.e2e.killing import kill, start_again
from tests.e2e.watching import PATHS, TEST_S_MAX, WAIT_S, Cluster, Obj, followed_patiently

COVERS = (
    "services/chassis/running/work_queue.py",
    "services/chassis/table/table.py",
    "services/chassis/table/indexing.py",
    "services/fusion_backend/adapters/job_ids.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
JOBS = 50
JOBS_PATH = f"{STREAMS}/streamsjobs"
NAMES = frozenset(f"many-{number}" for number in range(JOBS))


class Crowd:
    """All jobs of the namespace, their regions, PEs and pods, by four watches."""

    def __init__(self, api: Api) -> None:
        self._changed = asyncio.Condition()
        self.jobs, self.regions, self.pes, self.pods = self.followers = tuple(
            Follower(api, path, self._changed)
            for path in (JOBS_PATH, PATHS["regions"], PATHS["pes"], PATHS["pods"])
        )

    def running(self) -> Mapping[str, int]:
        """How many PEs of each job run, as the last launch that their status counts."""
        ran: Counter[str] = Counter()
        for pod in self.pods.objects.values():
            marks = pod["metadata"]["labels"]
            if pod["status"].get("phase") == "Running" and marks[labels.JOB] in NAMES:
                ran[marks[labels.JOB]] += 1
        return ran

    def are_submitted(self, width: int) -> bool:
        """Whether every job is Submitted with that width in force, and one PE, whose pod runs."""
        phases = {name: _status(job).get("phase") for name, job in self.jobs.objects.items()}
        widths = [_status(region).get("width") for region in self.regions.objects.values()]
        return (
            phases == dict.fromkeys(NAMES, "Submitted")
            and widths == [width] * JOBS
            and self.running() == dict.fromkeys(NAMES, 1)
            and len(self.pods.objects) == JOBS
        )

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait by watch."""
        try:
            async with asyncio.timeout(2 * WAIT_S), self._changed:
                await self._changed.wait_for(holds)
        except TimeoutError:
            there = [len(each.objects) for each in self.followers]
            raise AssertionError(f"{what} did not come: {there}, {self.running()}") from None


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}


@asynccontextmanager
async def crowd_of(api: Api) -> AsyncIterator[Crowd]:
    """A crowd that is followed; at the end its jobs are deleted, and all of them is gone."""
    crowd = Crowd(api)
    following = [asyncio.create_task(followed_patiently(each)) for each in crowd.followers]
    try:
        yield crowd
    finally:
        await at_once(api, "DELETE", lambda name: f"{JOBS_PATH}/{name}", crowd.jobs.objects)
        await crowd.until("the end", lambda: not any(each.objects for each in crowd.followers))
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)


async def at_once(
    api: Api, method: str, path: Callable[[str], str], names: Mapping[str, Obj | None]
) -> None:
    """One request for each name, all in flight together."""
    async with asyncio.TaskGroup() as requests:
        for name, body in list(names.items()):
            given = None if method == "DELETE" else body
            content = {"content_type": MERGE} if method == "PATCH" else {}
            requests.create_task(api.call(method, path(name), given, **content))


def job_called(name: str) -> Obj:
    """A Job of one PE with the example's region in it."""
    spec = {"bundle": {"name": BUNDLE}, "fusion": {"manual": 1}}
    return {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": spec | {"submissionTimeValues": {"width": "1"}},
    }


@pytest.mark.scenario(3)
@pytest.mark.parametrize("system", ["sandbox"], indirect=True)
async def test_fifty_jobs_live_at_once_are_resized_while_a_service_dies_and_deleted(
    cluster: Cluster,
) -> None:
    """No two have one id, and each PE is launched once, and once more for the width."""
    (cluster.system.bundles / BUNDLE).write_bytes(example_bundle())
    async with crowd_of(cluster.api) as crowd:
        given: Mapping[str, Obj | None] = {name: job_called(name) for name in NAMES}
        await at_once(cluster.api, "POST", lambda _: JOBS_PATH, given)
        await crowd.until("submitted", lambda: crowd.are_submitted(1))
        assert len({_status(job)["id"] for job in crowd.jobs.objects.values()}) == JOBS
        wider: Mapping[str, Obj | None] = {
            name: {"spec": {"width": 2}} for name in crowd.regions.objects
        }
        await at_once(cluster.api, "PATCH", lambda name: f"{PATHS['regions']}/{name}", wider)
        kill(cluster.system, "fusion-backend")
        await start_again(cluster.system, "fusion-backend")
        await crowd.until("resized", lambda: crowd.are_submitted(2))
        await crowd.until(
            "counted", lambda: {_launches(pe) for pe in crowd.pes.objects.values()} == {2}
        )


def _launches(pe: Obj) -> int:
    return int(_status(pe).get("launchCount", 0))
