"""Get, scale and delete jobs: the work of the commands of these names.

`submitting.py` submits jobs. Each writes at most one object. Unless the command is called with
`--no-wait`, it follows the job until the request is in force or refused.
"""

from __future__ import annotations

import asyncio
import difflib
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.connecting import JOBS, REGIONS, UNWATCHED, Cluster
from cli.failing import Failure, Misused, TimedOut
from cli.following import Follower, following, shown_meanwhile
from cli.live import JobView, ResizeOutcome, compare, refusal, resize_text
from cli.showing import Screen, print_lines
from contracts import labels
from contracts.resources.fields import WIDTH_MAX
from contracts.unreadable import is_whole
from planner.application.region_names import region_named
from planner.refusals import PlanRefused
from services.chassis.kube.listing import Watched, list_all
from services.chassis.kube.port import Json, KubeClient, Resource
from services.chassis.process.errors import Conflict, NotFound, Rejected

CONFLICTS_MAX = 10
LEFT_POLL_S = 0.2
NEAR_MAX = 3
"""So many names like a misspelt one are offered."""
NUMBER_MAX = 2**31 - 1
"""Of what the API takes as a number of PEs; it says itself which ones it refuses."""
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")


def job_name_for(bundle: Path) -> str:
    """A Job's name (DNS-1035, at most 50 characters) from a bundle's file name."""
    name = _NOT_IN_NAMES.sub("-", bundle.stem.lower()).strip("-")
    if not name or not name[0].isalpha():
        name = f"job-{name}".rstrip("-")
    return name[: labels.JOB_NAME_MAX_CHARS].rstrip("-")


def fusion_of(words: str) -> dict[str, Any]:
    """`legacy`, `automatic` or `manual=N` as the Job's spec.fusion; raises Misused."""
    if words in ("legacy", "automatic"):
        return {words: True}
    kind, _, count = words.partition("=")
    if kind == "manual" and re.fullmatch("[0-9]{1,10}", count) and 1 <= int(count) <= NUMBER_MAX:
        return {"manual": int(count)}
    raise Misused(f"--fusion {words}: say manual=N (N from 1 to {NUMBER_MAX}), legacy or automatic")


def pair_of(option: str, words: str) -> tuple[str, str]:
    """`KEY=VALUE`, split; raises Misused."""
    key, found, value = words.partition("=")
    if not found or not key:
        raise Misused(f"{option} {words}: say {option} KEY=VALUE")
    return key, value


def region_width_of(option: str, words: str) -> tuple[str, int]:
    """`REGION=W`, split; raises Misused unless W is a number. The cluster validates its value.

    `option` is "" for an argument.
    """
    region, _, width = words.rpartition("=")
    if not region or not re.fullmatch("-?[0-9]{1,10}", width) or abs(int(width)) > WIDTH_MAX:
        what = f"say REGION=W, where W is a whole number up to {WIDTH_MAX}"
        raise Misused(f"{option} {words}: {what}".lstrip())
    return region, int(width)


def refuse_if_failed(view: JobView | None, job: str) -> None:
    """Raise Failure with the job's reason if it was refused or does not exist any more."""
    if view is None:
        raise Failure(f"job {job} does not exist any more")
    if view.has_failed:
        raise Failure(f"job {job} failed: {view.reason}: {view.message}")


async def wait_running(
    follower: Follower, console: Screen, timeout_s: float, *, quiet: bool = False
) -> JobView:
    """Show the job until every pod runs; raises Failure if it was refused."""

    views: list[JobView | None] = []

    def settled() -> bool:
        """A submission that failed may be tried again soon: the view of its failure counts."""
        views[:] = [view := follower.view]
        return view is None or view.has_failed or view.is_running

    if quiet:
        await follower.until("every pod running", settled, timeout_s)
    else:
        async with shown_meanwhile(follower, console):
            await follower.until("every pod running", settled, timeout_s)
    (view,) = views
    refuse_if_failed(view, follower.job)
    if view is None:
        raise Failure(f"job {follower.job} does not exist any more")
    return view


async def region_of(kube: KubeClient, namespace: str, job: str, alias: str) -> Json:
    """The ParallelRegion of a job that an alias names (`region_names.py`). Raises Failure."""
    selector = f"{labels.JOB}={job}"
    items, _ = await list_all(kube, Watched(REGIONS, namespace, label_selector=selector))
    aliases = {item["spec"]["alias"]: item for item in filter(is_whole, items)}
    if not aliases:
        status = (await job_object(kube, namespace, job)).get("status") or {}
        if status.get("generation") is None and status.get("phase") in (None, "Submitting"):
            raise Failure(f"job {job} is not planned yet: try again when it is submitted")
        raise Failure(f"job {job} has no parallel region")
    try:
        return aliases[region_named(alias, aliases, field=f"{alias}=W")]
    except PlanRefused as refusal:
        raise Failure(refusal.message) from None


async def job_object(kube: KubeClient, namespace: str, job: str) -> Json:
    """The Job; raises Failure if it does not exist."""
    try:
        return await kube.get(JOBS, namespace, job)
    except NotFound:
        raise Failure(f"there is no job {job} in namespace {namespace}") from None


async def like_job(kube: KubeClient, namespace: str, job: str) -> str:
    """A question with the names of jobs that are like this one; empty without such a job."""
    try:
        jobs, _ = await list_all(kube, Watched(JOBS, namespace))
    except Rejected:
        return ""
    names = [str(each["metadata"]["name"]) for each in jobs]
    near = difflib.get_close_matches(job, names, NEAR_MAX)
    return f"did you mean {' or '.join(near)}?" if near else ""


@dataclass(frozen=True, slots=True)
class RequestedWidth:
    """A width of the region `alias`, requested by this generation of its ParallelRegion."""

    alias: str
    width: int
    generation: int


async def set_width(kube: KubeClient, region: Json, width: int) -> int:
    """Write a width; returns the generation of the ParallelRegion that requests it.

    Raises Failure with the API server's message if it is refused.
    """
    for _ in range(CONFLICTS_MAX):
        meta = region["metadata"]
        try:
            patched = await kube.patch(
                REGIONS,
                meta["namespace"],
                meta["name"],
                {"spec": {"width": width}},
                resource_version=int(meta["resourceVersion"]),
            )
        except Conflict:
            # Its status was written meanwhile; the requested width does not depend on it.
            region = await kube.get(REGIONS, meta["namespace"], meta["name"])
        except Rejected as refused:
            raise Failure(f"the width was refused: {refused.message}") from None
        else:
            return int(patched["metadata"]["generation"])
    raise Failure(f"{region['metadata']['name']} changes too fast to be patched; try again")


async def scale(
    cluster: Cluster,
    namespace: str,
    job: str,
    words: str,
    console: Screen,
    *,
    wait: bool,
    timeout_s: float,
) -> str:
    """Resize a region; returns what that did, or that the region has the width already.

    A line on standard error names the operators whose state the job does not keep.
    """
    alias, width = region_width_of("", words)
    async with following(cluster.kube, namespace, job) as follower:
        region = await region_of(cluster.kube, namespace, job, alias)
        before = follower.view
        if before is None:
            raise Failure(f"there is no job {job} in namespace {namespace}")
        if has_width(region, width):
            return f"{region['spec']['alias']} of job {job} has width {width}: nothing changes"
        if before.state_warning:
            print_lines(before.state_warning)
        generation = await set_width(cluster.kube, region, width)
        if not wait:
            return f"job {job}: {words} is requested"
        requested = RequestedWidth(region["spec"]["alias"], width, generation)
        outcome = await watch_resize(follower, before, requested, console, timeout_s)
        return resize_text(outcome)


def has_width(region: Json, width: int) -> bool:
    """Whether a region requests this width and has it in force."""
    in_force = (region.get("status") or {}).get("width")
    return bool(region["spec"]["width"] == in_force == width)


async def watch_resize(
    follower: Follower,
    before: JobView,
    requested: RequestedWidth,
    console: Screen,
    timeout_s: float,
) -> ResizeOutcome:
    """Show the job until the width is in force and every pod runs, or the width is refused.

    A processing element that was at rest before is not waited for: a resize does not launch it.
    """
    start = time.monotonic()
    alias, width = requested.alias, requested.width

    def refused_in(view: JobView) -> str:
        # The status holds the refusal of an earlier width until our generation is observed.
        return refusal(view, alias, generation=requested.generation)

    def settled() -> bool:
        view = follower.view
        if view is None or view.has_failed or refused_in(view):
            return True
        is_in_force = view.regions.get(alias, (0, 0)) == (width, width)
        return is_in_force and view.runs_except(before.at_rest)

    async with shown_meanwhile(follower, console):
        end = await follower.until(f"width {width} of {alias}", settled, timeout_s)
    after = follower.view
    refuse_if_failed(after, follower.job)
    if after is None:
        raise Failure(f"job {follower.job} does not exist any more")
    if refused := refused_in(after):
        raise Failure(f"the width was refused: {refused}")
    return compare(before, after, end - start)


async def delete(cluster: Cluster, namespace: str, job: str, *, wait_s: float | None) -> None:
    """Delete a Job and wait until none of its objects exists (`wait_s` None: do not wait)."""
    found = await job_object(cluster.kube, namespace, job)
    uid = str(found["metadata"]["uid"])
    end_s = time.monotonic() + (wait_s or 0)
    async with following(cluster.kube, namespace, job) as follower:
        await cluster.kube.delete(JOBS, namespace, job, uid=uid)
        if wait_s is None:
            return
        await follower.until("its end", lambda: follower.is_gone, wait_s)
    for resource in UNWATCHED:
        while await _is_left(cluster.kube, resource, namespace, uid):
            if time.monotonic() > end_s:
                raise TimedOut(f"{resource.plural} of job {job} are left after {wait_s:g} s")
            await asyncio.sleep(LEFT_POLL_S)


async def _is_left(kube: KubeClient, resource: Resource, namespace: str, job_uid: str) -> bool:
    """Whether a job still has objects of a kind that the follower does not watch."""
    selector = f"{labels.JOB_UID}={job_uid}"
    pages = kube.list_pages(
        resource, namespace, label_selector=selector, limit=1, metadata_only=True
    )
    async for page in pages:
        return bool(page.items)
    return False
