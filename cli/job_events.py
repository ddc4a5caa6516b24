"""Prints what happened to a job: from the log, with the Kubernetes Events of the job between.

Without a log, Kubernetes Events alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli import watching_commands as watching
from cli.connecting import Cluster, connected
from cli.describing import event_cells, events_table
from cli.failing import Failure, Misused
from cli.history_logs import FoundLog, HistoryOptions, history_source, since_of
from cli.inspecting import JobObjects, events_of, one_root, time_of
from cli.jobs import like_job
from cli.printing import print_json
from cli.showing import Screen, answer, print_lines
from contracts.belonging import root_named
from contracts.moments import micro_moment_of, unix_s_of
from history.concerning import Concerning
from history.entries import Decided, Entry, Gap
from history.merging import Sought, by_time, ends_of, followed, merged, ranges_of
from history.wording import Worded
from services.chassis.kube.port import Json
from services.roster import NAMES

EVENT = "event"
Shown = tuple[Entry | None, Worded]
"""What is shown, and the entry that it is of; a Kubernetes Event has no entry."""
Show = Callable[[Entry | None, Worded], None]
_MS_CHARS = len("2026-11-20T09:30:00.250")


@dataclass(frozen=True, slots=True)
class EventsOptions:
    """What `millrace events` shows; `since` is what the option says."""

    namespace: str
    job: str
    log: HistoryOptions
    since: str = ""
    service: str = ""
    follow: bool = False
    as_json: bool = False
    everything: bool = False

    def __post_init__(self) -> None:
        since_of(self.since, 0.0)
        if self.follow and self.log.recording is not None:
            raise Misused("--follow goes on with what is new; a recording has nothing new")
        if self.service and self.service not in NAMES:
            raise Misused(
                f"--service {self.service!r}: the services are {', '.join(sorted(NAMES))}"
            )


@dataclass(frozen=True, slots=True)
class _OfCluster:
    """What the cluster has of the job now."""

    cluster: Cluster
    objects: JobObjects
    events: Sequence[Json]


async def show_events(options: EventsOptions, kubeconfig: Path | None, console: Screen) -> None:
    """Print the events of a job. Raises Failure."""
    async with history_source(options.log, kubeconfig) as found, AsyncExitStack() as open_ones:
        if found.source is None:
            await _show_without_log(options, kubeconfig, found, console)
            return
        of_cluster = None
        since_s = since_of(options.since, found.now or time.time())
        if options.log.recording is None:
            of_cluster = await _of_cluster(options, since_s, kubeconfig, open_ones)
        await _show_log(options, since_s, found, of_cluster)


async def _show_without_log(
    options: EventsOptions, kubeconfig: Path | None, found: FoundLog, console: Screen
) -> None:
    if options.service:
        raise Misused(f"--service {options.service} needs the log. {found.why}")
    print_lines(f"millrace: only Kubernetes Events are shown. {found.why}.")
    async with connected(kubeconfig) as cluster:
        objects = await _job_of(options, cluster)
        if options.follow:
            show = _print_event_json if options.as_json else watching.print_event
            await watching.watch_events(cluster.kube, objects, show)
            return
        since_s = since_of(options.since, time.time())
        events = _since(since_s, await events_of(cluster.kube, objects))
        if options.as_json:
            for each in events:
                _print_event_json(each)
        elif events:
            console.print(events_table(events, time.time()))
        else:
            answer(f"There is no Event of job {options.job}.")


async def _job_of(options: EventsOptions, cluster: Cluster) -> JobObjects:
    """The job; raises Failure if it does not exist, with the names that are like its name."""
    try:
        return await one_root(cluster.kube, options.namespace, root_named(options.job))
    except Failure as failure:
        near = await like_job(cluster.kube, options.namespace, options.job)
        raise Failure(f"{failure}{f'; {near}' if near else ''}") from None


async def _of_cluster(
    options: EventsOptions, since_s: float, kubeconfig: Path | None, open_ones: AsyncExitStack
) -> _OfCluster | None:
    """The job in the cluster, with its Events; None where only the log knows of it."""
    try:
        cluster = await open_ones.enter_async_context(connected(kubeconfig))
        objects = await _job_of(options, cluster)
    except Failure as failure:
        print_lines(f"millrace: no Kubernetes Events are shown: {failure}")
        return None
    events = _since(since_s, await events_of(cluster.kube, objects))
    return _OfCluster(cluster, objects, events)


async def _show_log(
    options: EventsOptions, since_s: float, found: FoundLog, of_cluster: _OfCluster | None
) -> None:
    source = found.source
    if source is None:
        return
    show = _print_json if options.as_json else _print_line
    sought = Sought(options.namespace, options.job, since_s=since_s)
    services = frozenset({options.service} if options.service else ())
    concerning = Concerning(
        options.namespace, options.job, services=services, everything=options.everything
    )
    events = of_cluster.events if of_cluster is not None and not options.service else ()
    ranges, count = await ranges_of(source, sought), 0
    async with aclosing(by_time(merged(source, ranges))) as entries:
        async for entry, words in _with_events(_worded(entries, concerning, sought), events):
            show(entry, words)
            count += 1
    if options.follow:
        with_events = of_cluster if not options.service else None
        following = _worded(followed(source, ends_of(ranges)), concerning, sought)
        await _follow(following, with_events, show)
    elif not count:
        since = f" since {micro_moment_of(since_s)}" if options.since else ""
        about = f"job {options.job} in namespace {options.namespace}"
        raise Failure(f"there is nothing about {about} in {found.name}{since}")


async def _worded(
    entries: AsyncIterator[Entry], concerning: Concerning, sought: Sought
) -> AsyncIterator[Shown]:
    """What is shown of the entries; those before `since` are only remembered."""
    async for entry in entries:
        for each, words in concerning.take(entry):
            if words.time_s >= sought.since_s or isinstance(each, Gap):
                yield each, words


async def _with_events(
    entries: AsyncIterator[Shown], events: Sequence[Json]
) -> AsyncIterator[Shown]:
    """The entries with the Kubernetes Events between them, by time."""
    waiting = deque(map(_words_of_event, events))
    async for entry, words in entries:
        while waiting and waiting[0].time_s <= words.time_s:
            yield None, waiting.popleft()
        yield entry, words
    for each in waiting:
        yield None, each


async def _follow(entries: AsyncIterator[Shown], of_cluster: _OfCluster | None, show: Show) -> None:
    """Show what is new in the log, and new Events, for ever."""

    async def from_log() -> None:
        async for entry, words in entries:
            show(entry, words)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(from_log())
        if of_cluster is not None:
            await watching.watch_events(
                of_cluster.cluster.kube,
                of_cluster.objects,
                lambda event: show(None, _words_of_event(event)),
                of_cluster.events,
            )


# --------------------------------------------------------------------------- Kubernetes Events


def _words_of_event(event: Json) -> Worded:
    kind, reason, about, message = event_cells(event)
    source = event.get("source") or {}
    component = event.get("reportingComponent") or source.get("component") or "kubernetes"
    return Worded(_seconds_of(event), str(component), EVENT, about, f"{kind} {reason}: {message}")


def _seconds_of(event: Json) -> float:
    try:
        return unix_s_of(time_of(event))
    except ValueError:
        return 0.0


def _since(since_s: float, events: Iterable[Json]) -> list[Json]:
    return [each for each in events if _seconds_of(each) >= since_s]


# --------------------------------------------------------------------------- printing


def _print_line(_: Entry | None, words: Worded) -> None:
    moment = micro_moment_of(words.time_s)[:_MS_CHARS]
    answer(f"{moment}Z  {words.service:<17}  {words.what:<8}  {words.line}")


def _print_json(entry: Entry | None, words: Worded) -> None:
    document: dict[str, Any] = {
        "time": micro_moment_of(words.time_s),
        "service": words.service,
        "what": words.what,
        "object": words.about,
        "text": words.text,
        "why": words.why,
    }
    if entry is not None:
        document |= {"partition": entry.place.partition, "offset": entry.place.offset}
    if isinstance(entry, Decided):
        decision = entry.decision
        document |= {
            "reason": decision.reason,
            "rules": dict(decision.rules),
            "effects": [
                {"name": each.name, "subject": each.subject, "outcome": each.outcome}
                for each in decision.effects
            ],
            "release": decision.release,
            "traceId": entry.envelope.trace_id,
        }
    print_json(document, is_indented=False)


def _print_event_json(event: Json) -> None:
    _print_json(None, _words_of_event(event))
