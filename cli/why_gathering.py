"""Gathers all that the rules of `history/why` look at: which object, its job, services, the log."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Final

from cli.connecting import JOBS, PLACEMENTS, Cluster
from cli.failing import CannotReach, Failure, Misused
from cli.history_logs import HistoryOptions, history_source
from cli.why_reading import (
    ASKABLE,
    NODES,
    Reader,
    Surroundings,
    children_of,
    job_name_of,
    surroundings_of,
)
from cli.why_services import Services, services_seen
from contracts import labels
from contracts.resources import CUSTOM_RESOURCES
from history.entries import Entry
from history.merging import Sought, history
from history.sources import Source
from history.why.gathered import Gathered, LogSeen
from history.why.things import Obj
from services.chassis.kube.port import Json, Resource

ENTRIES_MAX: Final = 20_000
"""The newest entries of a job that an answer looks at."""
LOG_S_MAX: Final = 8.0
"""How long a log may take to answer, or to be read, before an answer goes without it."""
BOUNDS_S: Final = 1.0
"""Of that, what is left to close it."""
SPANS_S: Final = (3_600.0, 86_400.0, math.inf)
"""How far back a log is read; further only while that is quick."""
QUICK_S: Final = 1.0
_WORDS: Final[Mapping[str, str]] = {
    **{
        word: row.kind
        for row in CUSTOM_RESOURCES
        for word in (row.kind.lower(), row.plural, row.singular, row.short_name)
    },
    **dict.fromkeys(("pe", "pes"), "ProcessingElement"),
    **dict.fromkeys(("pool", "pools"), "HostPool"),
    **dict.fromkeys(("region", "regions"), "ParallelRegion"),
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("node", "nodes", "no"), "Node"),
}


def requested_of(words: str) -> tuple[str, str]:
    """Kind and name of `KIND/NAME` or `NAME`; the kind is empty for a name. Raises Misused."""
    kind, found, name = words.rpartition("/")
    if not found:
        return "", words
    if kind.lower() not in _WORDS or not name:
        kinds = ", ".join(resource.kind for resource in ASKABLE)
        raise Misused(f"{words!r}: say NAME, or KIND/NAME with one of the kinds {kinds}")
    return _WORDS[kind.lower()], name


async def find(reader: Reader, words: str) -> tuple[Resource, Json]:
    """The object of the question; raises Failure unless there is exactly one."""
    kind, name = requested_of(words)
    wanted = [each for each in ASKABLE if kind in ("", each.kind)]
    read = await asyncio.gather(*(reader.one(each, name) for each in wanted))
    found = [(each, obj) for each, obj in zip(wanted, read, strict=True) if obj is not None]
    if len(found) > 1 and found[0][0] is JOBS:
        # A Job's Placement has its name, and the answer about the Job covers it.
        found = [each for each in found if each[0] is not PLACEMENTS]
    if len(found) > 1:
        candidates = ", ".join(f"{resource.kind}/{name}" for resource, _ in found)
        raise Failure(f"{name} is the name of several objects: say one of {candidates}")
    if not found:
        kinds = kind or ", ".join(each.kind for each in ASKABLE)
        unread = [f"{kind}: {why}" for kind, why in sorted(reader.unread.items())]
        raise Failure(
            f"namespace {reader.namespace} has no {name} of the kinds {kinds}; `millrace get` lists"
            " the jobs",
            *unread,
        )
    return found[0]


async def gather(
    cluster: Cluster, namespace: str, words: str, options: HistoryOptions | None
) -> Gathered:
    """Everything about one object; without `options` no log is looked for."""
    reader = Reader(cluster.kube, namespace)
    resource, target = await find(reader, words)
    reader.unread.clear()
    job_name = job_name_of(resource, target)
    services, log, children, job = await asyncio.gather(
        services_seen(cluster),
        _log_of(options, cluster.kubeconfig, namespace, job_name),
        children_of(reader, f"{labels.JOB}={job_name}") if job_name else _nothing(),
        reader.one(JOBS, job_name) if job_name else _none(),
    )
    if not job_name and resource is not NODES:  # a pod of others
        children = {resource.kind: [target]}
    around = await surroundings_of(reader, children)
    own = {JOBS.kind: (job,) if job else ()}
    gathered = _gathered(resource, target, {**children, **own}, around, reader)
    return _with_services(replace(gathered, log=log), services)


async def gather_all(cluster: Cluster, namespace: str) -> list[Gathered]:
    """Every job of a namespace, from status alone; each kind is read once."""
    reader = Reader(cluster.kube, namespace)
    jobs, children, services = await asyncio.gather(
        reader.all(JOBS), children_of(reader, labels.JOB), services_seen(cluster)
    )
    around = await surroundings_of(reader, children)
    found = []
    for job in sorted(jobs, key=lambda each: str(each["metadata"]["name"])):
        name = job["metadata"]["name"]
        own = {
            kind: [each for each in items if job_name_of(PLACEMENTS, each) == name]
            for kind, items in children.items()
        }
        gathered = _gathered(JOBS, job, {**own, JOBS.kind: (job,)}, around, reader)
        found.append(_with_services(gathered, services))
    return found


def _gathered(
    resource: Resource,
    target: Json,
    objects: Mapping[str, Sequence[Json]],
    around: Surroundings,
    reader: Reader,
) -> Gathered:
    found: dict[str, tuple[Obj, ...]] = {kind: tuple(items) for kind, items in objects.items()}
    for kind, items in around.objects.items():
        found[kind] = (*found.get(kind, ()), *items)
    name = str(target["metadata"]["name"])
    others = found.get(resource.kind, ())
    if not any(each["metadata"]["name"] == name for each in others):
        found[resource.kind] = (*others, target)
    return Gathered(
        kind=resource.kind,
        namespace=reader.namespace,
        name=name,
        now_s=time.time(),
        objects=found,
        missing=around.missing,
        unread=dict(reader.unread),
    )


def _with_services(gathered: Gathered, services: Services) -> Gathered:
    return replace(gathered, services=services[0], services_unread=services[1])


async def _nothing() -> dict[str, list[Json]]:
    return {}


async def _none() -> Json | None:
    return None


async def _log_of(
    options: HistoryOptions | None, kubeconfig: Path, namespace: str, job: str
) -> LogSeen:
    """The newest entries of a job; else why there is no entry, or that the log does not answer."""
    if options is None:
        return LogSeen(absent="it was not looked for")
    try:
        async with asyncio.timeout(LOG_S_MAX), history_source(options, kubeconfig) as found:
            if found.source is None:
                return LogSeen(absent=found.why)
            return await _read(found.source, namespace, job)
    except CannotReach as away:
        return LogSeen(absent=str(away), away=str(away))
    except Failure as failure:
        if options.recording or options.bus:  # somebody named it
            raise
        return LogSeen(absent=str(failure))
    except TimeoutError:
        late = f"it did not answer within {LOG_S_MAX:g} s"
        return LogSeen(
            absent=late, away="" if options.recording else await _away(options, kubeconfig)
        )


async def _read(source: Source, namespace: str, job: str) -> LogSeen:
    """The newest entries: of an hour, of a day, of all, as far as that is quick."""
    loop, now_s = asyncio.get_running_loop(), time.time()
    began_s, seen = loop.time(), LogSeen(absent=f"no hour of it was read in {LOG_S_MAX:g} s")
    for span_s in SPANS_S:
        entries: deque[Entry] = deque(maxlen=ENTRIES_MAX)
        sought = Sought(namespace, job, since_s=now_s - span_s)
        try:
            async with asyncio.timeout_at(began_s + LOG_S_MAX - BOUNDS_S):
                async with aclosing(history(source, sought)) as read:
                    async for entry in read:
                        entries.append(entry)
        except TimeoutError:
            return seen
        seen = LogSeen(tuple(entries), since_s=None if span_s == math.inf else now_s - span_s)
        if loop.time() - began_s > QUICK_S:
            break
    return seen


async def _away(options: HistoryOptions, kubeconfig: Path) -> str:
    """Whether the log does not even say what it has: then it is away, else it is only long."""
    try:
        async with asyncio.timeout(LOG_S_MAX), history_source(options, kubeconfig) as found:
            if found.source is not None:
                await found.source.bounds()
            return ""
    except (TimeoutError, CannotReach):
        return options.bus or "the log of the current context"
