"""Job ids: one counter a namespace, in the ConfigMap `millrace-job-ids`, by compare-and-swap.

1. Read the ConfigMap. Unless it is as this process wrote it last, list the Jobs of the namespace
   and read it again: people may edit it, and what Jobs say is the truth.
2. If it remembers an id for this Job's uid that nobody else has, that is the id (we crashed between
   taking it and writing it into the Job's status).
3. Else the id is `next`, but above every id that a Job has, or is remembered to have taken. A
   `next` that cannot be is taken for lost: no number, above JOB_ID_MAX, or above CREDIBLE_MAX
   where this process did not write it. One number at the border would use up all ids.
4. Write `next` and the uid's id under the version read; a conflict begins again. What else somebody
   put there goes. What cannot be patched is deleted and created again.

An id is never given twice: the loser of a race reads again. An id can be lost (a gap) when a Job
dies before its status is written, or when its uid falls out of what is remembered. The hole that is
left: an id that one instance took and has not written into the Job's status yet is given again by
another instance, if somebody takes it out of the ConfigMap in between.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from contracts import labels
from contracts.resources import JOB
from contracts.unreadable import Unreadable
from services.chassis.kube.port import Json, KubeClient
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import AlreadyExists, Conflict, NotFound, Rejected, Transient

ATTEMPTS_MAX = 10
REMEMBERED_MAX = 256
KEYS_MAX = 1_024
"""Keys of the ConfigMap that one patch takes out; one of more is replaced."""
JOB_ID_MAX: Final = 2**31 - 1
"""The original's Imports and Exports carry the id of a job as an int of 32 bits."""
CREDIBLE_MAX: Final = 2**30
"""No namespace takes so many ids: a job a second for 34 years."""

_NEXT = "next"
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_CONFIG_MAP = resource_of("ConfigMap")


class JobIdsUsedUp(Rejected):
    """No id is left above those of the Jobs that exist."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """What may be believed of a ConfigMap: `next` (None: lost) and the ids by uid of a Job."""

    next: int | None = None
    remembered: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The Jobs of a namespace: ids by uid, uids without an id, and who has the highest id."""

    ids: Mapping[str, int] = field(default_factory=dict)
    without_id: frozenset[str] = frozenset()
    highest: str = ""


class JobIds:
    """Takes ids; within one process takers of a namespace queue up instead of racing."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self._turn: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._given: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._written: dict[str, tuple[str, str]] = {}

    async def take(self, namespace: str, job_uid: str) -> int:
        """The id of a Job, the same at every call.

        Raises Transient where others race, JobIdsUsedUp where none is left, and another Rejected
        where the ConfigMap can be neither written nor replaced.
        """
        async with self._turn[namespace]:
            given = self._given[namespace]
            if job_uid in given:
                return given[job_uid]
            job_id = await self._taken(namespace, job_uid)
            given = self._given[namespace]
            given[job_uid] = job_id
            if len(given) > REMEMBERED_MAX:
                del given[next(iter(given))]
            return job_id

    async def _taken(self, namespace: str, job_uid: str) -> int:
        jobs: _Jobs | None = None
        for _ in range(ATTEMPTS_MAX):
            seen = await self._counter(namespace)
            if jobs is None and not self._is_as_written(namespace, seen):
                jobs = await self._jobs(namespace)
                self._forget_all_but(namespace, jobs)
                seen = await self._counter(namespace)
            try:
                return await self._take_from(namespace, seen, jobs or _Jobs(), job_uid)
            except (AlreadyExists, Conflict):
                continue
        raise Transient(f"job ids of {namespace} are contended", outcome_unknown=False)

    def _forget_all_but(self, namespace: str, jobs: _Jobs) -> None:
        """The id of a Job that is gone is in nobody's way; each Job here is older than the list."""
        there = jobs.ids.keys() | jobs.without_id
        given = self._given[namespace]
        self._given[namespace] = {uid: each for uid, each in given.items() if uid in there}

    async def _counter(self, namespace: str) -> Json | None:
        try:
            return await self._kube.get(_CONFIG_MAP, namespace, labels.JOB_IDS_NAME)
        except NotFound:
            return None

    def _is_as_written(self, namespace: str, seen: Json | None) -> bool:
        return seen is not None and self._written.get(namespace) == _version_of(seen)

    async def _take_from(self, namespace: str, seen: Json | None, jobs: _Jobs, job_uid: str) -> int:
        given = self._given[namespace]
        counter = _counter_of(seen)
        if not self._is_as_written(namespace, seen):
            counter = _believed(counter, jobs, given)
        known = {**counter.remembered, **jobs.ids}
        if job_uid in known:
            return known[job_uid]
        ids = [*known.values(), *given.values()]
        job_id = max([counter.next or 0, *(each + 1 for each in ids)])
        if job_id > JOB_ID_MAX:
            raise _used_up(namespace, jobs)
        newest = sorted(counter.remembered.items(), key=lambda each: each[1])[1 - REMEMBERED_MAX :]
        data = {_NEXT: job_id + 1, **dict(newest), job_uid: job_id}
        await self._write(namespace, seen, {key: str(each) for key, each in data.items()})
        return job_id

    async def _jobs(self, namespace: str) -> _Jobs:
        """What the Jobs of the namespace say; an id that we never give is in nobody's way."""
        ids, without_id, names = dict[str, int](), set[str](), dict[str, str]()
        async for page in self._kube.list_pages(resource_of(JOB.kind), namespace):
            for job in page.items:
                # Of a status that nobody can read, the id is in its pods and nowhere else.
                status = job.get("status") or {}
                uid = job["metadata"]["uid"]
                taken = None if isinstance(status, Unreadable) else status.get("id")
                if taken is None:
                    without_id.add(uid)
                elif 0 <= taken <= JOB_ID_MAX:
                    ids[uid], names[uid] = int(taken), job["metadata"]["name"]
        highest = max(ids, key=ids.__getitem__, default="")
        return _Jobs(ids, frozenset(without_id), names.get(highest, ""))

    async def _write(self, namespace: str, seen: Json | None, data: Mapping[str, str]) -> None:
        """Put the counter there, under the version read; raises AlreadyExists or Conflict."""
        if seen is None:
            written = await self._kube.create(_CONFIG_MAP, namespace, _body(namespace, data))
        elif _is_patchable(seen):
            try:
                written = await self._kube.patch(
                    _CONFIG_MAP,
                    namespace,
                    labels.JOB_IDS_NAME,
                    _patch(seen, data),
                    resource_version=int(seen["metadata"]["resourceVersion"]),
                )
            except NotFound as problem:
                raise _gone(problem) from problem
        else:
            await self._delete(namespace, seen)
            written = await self._kube.create(_CONFIG_MAP, namespace, _body(namespace, data))
        self._written[namespace] = _version_of(written)

    async def _delete(self, namespace: str, seen: Json) -> None:
        meta = seen["metadata"]
        try:
            left = await self._kube.delete(
                _CONFIG_MAP,
                namespace,
                labels.JOB_IDS_NAME,
                uid=meta["uid"],
                resource_version=int(meta["resourceVersion"]),
            )
        except NotFound as problem:
            raise _gone(problem) from problem
        if left is not None:
            raise Rejected(
                409,
                "Immutable",
                f"ConfigMap {labels.JOB_IDS_NAME} can be neither changed nor deleted: it is "
                "immutable, or has too many keys, and finalizers keep it. Delete it",
                {},
            )


# --------------------------------------------------------------------------- what is believed


def _counter_of(seen: Json | None) -> _Counter:
    """What the ConfigMap says, without what cannot be a number of ours."""
    data = (seen or {}).get("data") or {}
    numbers = {key: int(each) for key, each in data.items() if _NUMBER.fullmatch(each)}
    following = numbers.pop(_NEXT, None)
    possible = {uid: each for uid, each in numbers.items() if each <= JOB_ID_MAX}
    return _Counter(None if following is None or following > JOB_ID_MAX else following, possible)


def _believed(counter: _Counter, jobs: _Jobs, given: Mapping[str, int]) -> _Counter:
    """What an edited ConfigMap may remember: ids of Jobs that have none yet, each of one Job.

    Below `next` is also what a Job took that is younger than our look at the Jobs.
    """
    following = counter.next if counter.next is not None and counter.next <= CREDIBLE_MAX else 0
    waiting = {
        uid: each
        for uid, each in counter.remembered.items()
        if uid not in jobs.ids and (uid in jobs.without_id or each < following)
        if each <= CREDIBLE_MAX
    }
    others = {**given, **jobs.ids}
    times = Counter({**others, **waiting}.values())
    return _Counter(following, {uid: each for uid, each in waiting.items() if times[each] == 1})


# --------------------------------------------------------------------------- what is written


def _version_of(config_map: Json) -> tuple[str, str]:
    return config_map["metadata"]["uid"], config_map["metadata"]["resourceVersion"]


def _is_patchable(seen: Json) -> bool:
    """Whether a patch can make it a counter again: content of an immutable one never changes."""
    return not seen.get("immutable") and len(seen.get("data") or {}) <= KEYS_MAX


def _patch(seen: Json, data: Mapping[str, str]) -> Json:
    """A patch that leaves just the counter: no other key, and nobody with whom it would go."""
    patch: Json = {"data": {**dict.fromkeys(seen.get("data") or {}), **data}}
    if seen.get("binaryData"):
        patch["binaryData"] = None
    if seen["metadata"].get("ownerReferences"):
        patch["metadata"] = {"ownerReferences": None}
    return patch


def _body(namespace: str, data: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": labels.JOB_IDS_NAME, "namespace": namespace},
        "data": dict(data),
    }


def _gone(problem: NotFound) -> Conflict:
    """Somebody deleted it between our look and our write: begin again."""
    return Conflict(problem.code, problem.reason, problem.message, problem.status)


def _used_up(namespace: str, jobs: _Jobs) -> JobIdsUsedUp:
    holder = f"Job {jobs.highest} has one of the last" if jobs.highest else "the last is taken"
    return JobIdsUsedUp(
        409,
        "JobIdsUsedUp",
        f"namespace {namespace} has no job id left up to {JOB_ID_MAX}: {holder}; ids are free "
        "again above those of the remaining Jobs once it is deleted",
        {},
    )
