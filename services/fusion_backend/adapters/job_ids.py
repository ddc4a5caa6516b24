"""Job ids: one counter a namespace, in the ConfigMap `millrace-job-ids`, by compare-and-swap.

1. Read the ConfigMap; if it remembers an id for this Job's uid, that is the id (we crashed between
   taking it and writing it into the Job's status).
2. Else write `next + 1` and the uid's id under the version read; a conflict begins again.

Where there is no counter, the first id is above every id that a Job's status says: somebody may
have deleted the ConfigMap.

An id is never given twice: whoever loses a race reads again. An id can be lost (a gap) when a Job
dies before its status is written, or when its uid falls out of what is remembered.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from contracts import labels
from services.chassis.errors import AlreadyExists, Conflict, NotFound, Transient
from services.chassis.kube import KubeClient
from services.chassis.resources import resource_of

ATTEMPTS_MAX = 10
REMEMBERED_MAX = 256
_NEXT = "next"


class JobIds:
    """Takes ids; within one process takers of a namespace queue up instead of racing."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self._turn: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def take(self, namespace: str, job_uid: str) -> int:
        """The id of a Job, the same whenever it is asked. Raises Transient where others race."""
        async with self._turn[namespace]:
            for _ in range(ATTEMPTS_MAX):
                try:
                    return await self._take_once(namespace, job_uid)
                except (AlreadyExists, Conflict):
                    continue
        raise Transient(f"job ids of {namespace} are contended", outcome_unknown=False)

    async def _take_once(self, namespace: str, job_uid: str) -> int:
        config_map = resource_of("ConfigMap")
        try:
            seen = await self._kube.get(config_map, namespace, labels.JOB_IDS_NAME)
        except NotFound:
            job_id = await self._first_id(namespace)
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": labels.JOB_IDS_NAME, "namespace": namespace},
                "data": {_NEXT: str(job_id + 1), job_uid: str(job_id)},
            }
            await self._kube.create(config_map, namespace, body)
            return job_id
        remembered: dict[str, str] = seen.get("data") or {}
        data = _numbers(remembered)
        if job_uid in data:
            return data[job_uid]
        job_id = _next_id(data)
        await self._kube.patch(
            config_map,
            namespace,
            labels.JOB_IDS_NAME,
            {
                "data": {
                    **_forgotten(remembered),
                    _NEXT: str(job_id + 1),
                    job_uid: str(job_id),
                }
            },
            resource_version=int(seen["metadata"]["resourceVersion"]),
        )
        return job_id

    async def _first_id(self, namespace: str) -> int:
        """Above the id of every Job of the namespace."""
        first = 0
        async for page in self._kube.list_pages(resource_of("Job"), namespace):
            for job in page.items:
                taken = (job.get("status") or {}).get("id")
                first = max(first, 0 if taken is None else int(taken) + 1)
        return first


def _numbers(data: Mapping[str, str]) -> dict[str, int]:
    """What the ConfigMap says, without what is no number."""
    return {key: int(value) for key, value in data.items() if value.isdecimal()}


def _next_id(data: Mapping[str, int]) -> int:
    """Above every id that is remembered, even where somebody edited the counter."""
    given = (value + 1 for key, value in data.items() if key != _NEXT)
    return max([data.get(_NEXT, 0), *given])


def _forgotten(data: Mapping[str, str]) -> dict[str, Any]:
    """A patch that drops what is no number, and the oldest uids beyond what is remembered."""
    numbers = _numbers(data)
    uids = sorted((key for key in numbers if key != _NEXT), key=numbers.__getitem__)
    surplus = len(uids) + 1 - REMEMBERED_MAX
    dropped = [*(key for key in data if key not in numbers), *uids[: max(surplus, 0)]]
    return dict.fromkeys(dropped)
