"""Reads what exists of jobs: the Job with its regions, PEs, pods, pools, Placement and Events.

Each kind is listed once, for all jobs of a namespace or for one. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from cli.connecting import CONFIG_MAPS, JOBS, PES, PODS, REGIONS
from cli.failing import Failure
from cli.jobs import job_object
from cli.live import JobView, view_of
from contracts import labels
from contracts.belonging import Root, kinds_of, label_of
from contracts.reasons import warned_of
from contracts.unreadable import is_whole
from services.chassis.kube.events import EVENT
from services.chassis.kube.listing import Watched, list_all
from services.chassis.kube.port import Json, KubeClient, Resource
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import NotFound

ABOUT_KEY = "about.json"


@dataclass(frozen=True, slots=True)
class JobObjects:
    """A Job and its objects; `warnings` are those of its plan record, read for one job only."""

    job: Json
    children: dict[Resource, list[Json]]
    warnings: tuple[str, ...] = ()

    def of(self, resource: Resource) -> Sequence[Json]:
        """Its objects of one kind, by name."""
        return sorted(self.children.get(resource, []), key=lambda each: each["metadata"]["name"])

    @property
    def pes_by_id(self) -> list[Json]:
        """Its PEs that can be read, in the order of their ids."""
        return sorted(filter(is_whole, self.of(PES)), key=lambda each: int(each["spec"]["id"]))

    @property
    def warning_lines(self) -> list[str]:
        """The warnings as sentences that begin with their reason."""
        return lines_of_warnings(self.warnings)

    @property
    def view(self) -> JobView:
        """The view that tables show."""
        return view_of(self.job, self.of(REGIONS), self.of(PES), self.of(PODS))


def lines_of_warnings(warnings: Iterable[str]) -> list[str]:
    """Warnings of a plan record as sentences that begin with their reason."""
    return [f"{reason.value}: {text}" for reason, text in map(warned_of, warnings)]


async def warnings_of(kube: KubeClient, namespace: str, name: str) -> list[str]:
    """The warnings about a job that is planned, as sentences. Raises Failure without the job."""
    return lines_of_warnings(await _warnings(kube, await job_object(kube, namespace, name)))


async def all_jobs(kube: KubeClient, namespace: str | None) -> list[JobObjects]:
    """Every job of a namespace (None: of all), by namespace and name."""
    jobs, _ = await list_all(kube, Watched(JOBS, namespace))
    children = await _children(kube, namespace, JOBS.kind, labels.JOB)
    found = [JobObjects(job, children.get(_key(job), {})) for job in jobs]
    return sorted(found, key=lambda each: _key(each.job))


async def one_job(kube: KubeClient, namespace: str, name: str) -> JobObjects:
    """A job. Raises Failure if it does not exist."""
    found = await one_root(kube, namespace, Root(JOBS.kind, name))
    return replace(found, warnings=await _warnings(kube, found.job))


async def one_root(kube: KubeClient, namespace: str, root: Root) -> JobObjects:
    """A job or another root, without its plan record. Raises Failure if it does not exist."""
    try:
        found = await kube.get(resource_of(root.kind), namespace, root.name)
    except NotFound:
        what = f"{root.kind.lower()} {root.name}"
        raise Failure(f"there is no {what} in namespace {namespace}") from None
    children = await _children(kube, namespace, root.kind, root.selector)
    return JobObjects(found, children.get((namespace, root.name), {}))


async def pe_of(kube: KubeClient, namespace: str, name: str) -> tuple[JobObjects, Json | None]:
    """The job of that name and None, or the job of a PE of that name and the PE.

    Raises Failure if there is neither, or the PE is of no job.
    """
    try:
        return await one_job(kube, namespace, name), None
    except Failure:
        pass
    try:
        pe = await kube.get(PES, namespace, name)
    except NotFound:
        raise Failure(
            f"there is no job and no processing element {name} in namespace {namespace}; "
            "`millrace get` lists the jobs"
        ) from None
    if not is_whole(pe):
        raise Failure(f"processing element {name} cannot be read")
    job = str((pe["metadata"].get("labels") or {}).get(labels.JOB) or "")
    if not job:  # somebody created it
        raise Failure(
            f"processing element {name} is of no job, since it has no label {labels.JOB}: "
            f"`kubectl describe stp {name}` shows what is wrong with it"
        )
    return await one_job(kube, namespace, job), pe


async def _children(
    kube: KubeClient, namespace: str | None, root: str, selector: str
) -> dict[tuple[str, str], dict[Resource, list[Json]]]:
    found: dict[tuple[str, str], dict[Resource, list[Json]]] = {}
    for resource in map(resource_of, (*kinds_of(root), PODS.kind)):
        items, _ = await list_all(kube, Watched(resource, namespace, label_selector=selector))
        for item in items:
            key = item["metadata"]["namespace"], item["metadata"]["labels"][label_of(root)]
            found.setdefault(key, {}).setdefault(resource, []).append(item)
    return found


def _key(job: Json) -> tuple[str, str]:
    return job["metadata"]["namespace"], job["metadata"]["name"]


async def _warnings(kube: KubeClient, job: Json) -> tuple[str, ...]:
    """What has another effect than meant, such as a misspelled value: the plan record keeps it."""
    status = job.get("status") if is_whole(job) else None
    generation = (status or {}).get("generation")
    if generation is None:
        return ()
    meta = job["metadata"]
    try:
        name = labels.plan_name(meta["name"], generation)
        record = await kube.get(CONFIG_MAPS, meta["namespace"], name)
        about = orjson.loads(record["data"][ABOUT_KEY])
        return tuple(str(each) for each in about["warnings"])
    except (NotFound, KeyError, TypeError, ValueError):
        return ()  # the job's condition says what is wrong with its plan record


def uids_of(objects: JobObjects) -> frozenset[str]:
    """The uids of the Job and of the objects that it has now."""
    children = (each for items in objects.children.values() for each in items)
    return frozenset(str(each["metadata"]["uid"]) for each in (objects.job, *children))


def is_event_of(event: Json, objects: JobObjects, uids: frozenset[str]) -> bool:
    """Whether an Event is about the job or an object of it; pods may be gone meanwhile."""
    about: dict[str, Any] = event.get("involvedObject") or {}
    if about.get("uid") in uids:
        return True
    name = str(about.get("name") or "")
    is_pod = about.get("kind") == PODS.kind
    return is_pod and any(
        labels.is_pod_name(name, pe["metadata"]["name"]) for pe in objects.of(PES)
    )


async def events_of(kube: KubeClient, objects: JobObjects) -> list[Json]:
    """The Events of a job and of its objects, in order of time."""
    items, _ = await list_all(kube, Watched(EVENT, objects.job["metadata"]["namespace"]))
    uids = uids_of(objects)
    found = [each for each in items if is_whole(each) and is_event_of(each, objects, uids)]
    return sorted(found, key=lambda each: (time_of(each), each["metadata"]["name"]))


def time_of(event: Json) -> str:
    """When an Event was last seen, RFC 3339 in UTC; such texts have the order of time."""
    series = event.get("series") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    return next((str(each) for each in times if each), "")


def count_of(event: Json) -> int:
    """How often an Event was seen."""
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)
