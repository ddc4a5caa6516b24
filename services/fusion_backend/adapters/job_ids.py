"""Job ids: one counter a namespace, in the ConfigMap `millrace-job-ids`, by compare-and-swap.

1. Read the ConfigMap; if it remembers an id for this Job's uid, that is the id (we crashed between
   taking it and writing it into the Job's status).
2. Else write `next + 1` and the uid's id under the version read; a conflict begins again.

An id is never given twice: whoever loses a race reads again. An id can be lost (a gap) when a Job
dies before its status is written, or when its uid falls out of what is remembered.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from contracts import labels
from services.chassis.errors import AlreadyExists, Conflict, NotFound, Transient
from services.chassis.kube import Kube
from services.chassis.resources import resource_of

ATTEMPTS_MAX = 10
REMEMBERED_MAX = 256
_NEXT = "next"


class JobIds:
    """Takes ids; within one process takers of a namespace queue up instead of racing."""

    def __init__(self, kube: Kube) -> None:
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
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": labels.JOB_IDS_NAME, "namespace": namespace},
                "data": {_NEXT: "1", job_uid: "0"},
            }
            await self._kube.create(config_map, namespace, body)
            return 0
        data: dict[str, str] = seen.get("data") or {}
        if job_uid in data:
            return int(data[job_uid])
        job_id = _next_id(data)
        await self._kube.patch(
            config_map,
            namespace,
            labels.JOB_IDS_NAME,
            {"data": {**_forgotten(data), _NEXT: str(job_id + 1), job_uid: str(job_id)}},
            resource_version=int(seen["metadata"]["resourceVersion"]),
        )
        return job_id


def _next_id(data: dict[str, str]) -> int:
    """Above every id that is remembered, even where somebody edited the counter."""
    given = [int(value) for key, value in data.items() if key != _NEXT]
    return max([int(data.get(_NEXT, "0")), *(each + 1 for each in given)])


def _forgotten(data: dict[str, str]) -> dict[str, Any]:
    """A patch that drops the oldest uids beyond what is remembered."""
    uids = sorted((key for key in data if key != _NEXT), key=lambda uid: int(data[uid]))
    surplus = len(uids) + 1 - REMEMBERED_MAX
    return dict.fromkeys(uids[:surplus]) if surplus > 0 else {}
