"""Where the log lines of services are: files of `millrace up`, or pods of an installation.

`up` writes the log of each instance to `logs/NAME.log` of its state folder (`log_files.py`). On a
cluster the lines come from the pods with the labels of the chart, by the rights of the user.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from cli.connecting import PODS, USER_AGENT, Cluster, aclosing_transport
from cli.failing import Failure, Misused
from cli.log_files import files_of, names_in, new_texts
from cli.service_lines import Line, line_of, lines_of, merged
from cli.showing import print_lines
from contracts.moments import moment_of
from services.chassis.kube.port import Transport, path_of
from services.chassis.process.errors import Rejected, Transient

CHART = "app.kubernetes.io/name=millrace"
COMPONENT = "app.kubernetes.io/component"
SILENCE_S = 86_400.0
"""Without a line: a healthy service writes none."""


@dataclass(frozen=True, slots=True)
class ServiceLogOptions:
    """Which lines: of one service or all (empty), of one job or any (None); `tail` None: all.

    `job` is namespace and name; `tail` counts the lines of all instances, before what is followed.
    `previous`: of the containers before the last restart. `since_s` is a duration.
    """

    service: str = ""
    job: tuple[str, str] | None = None
    since_s: float | None = None
    tail: int | None = None
    follow: bool = False
    previous: bool = False

    @property
    def from_s(self) -> float | None:
        """The unix time of the first line."""
        return None if self.since_s is None else time.time() - self.since_s


# ---------------------------------------------------------------- files of `up`


async def lines_of_files(logs: Path, options: ServiceLogOptions) -> AsyncIterator[Line]:
    """Lines from the folder of the logs of an `up`; raises Misused for a service without a log."""
    if options.previous:
        raise Misused(
            "--previous is for pods: the log of a service of `up` goes on after a restart"
        )
    names = names_in(logs, options.service)
    if not names:
        known = ", ".join(names_in(logs, "")) or "no service"
        raise Misused(f"{logs} has no log of {options.service or 'a service'}; it has {known}")
    ends = {name: files_of(logs, name)[-1].stat().st_size for name in names}
    found = merged(
        (lines_of(name, _texts(logs, name, ends[name])) for name in names),
        job=options.job,
        since_s=options.from_s,
        tail=options.tail,
    )
    for line in found:
        yield line
    if options.follow:
        newest: dict[str, Line] = {}
        async for name, text in new_texts(logs, ends):
            new = line_of(name, text, newest.get(name))
            if new is not None:
                newest[name] = new
                if new.is_of(options.job):
                    yield new


def _texts(logs: Path, name: str, end: int) -> Iterator[str]:
    *older, newest = files_of(logs, name)
    for file in older:
        with file.open(errors="replace") as opened:
            yield from opened
    with newest.open("rb") as opened_bytes:
        while opened_bytes.tell() < end and (raw := opened_bytes.readline()):
            yield raw.decode(errors="replace")


# ---------------------------------------------------------------- pods of an installation


async def lines_of_pods(
    cluster: Cluster, namespace: str, services: Sequence[str], options: ServiceLogOptions
) -> AsyncIterator[Line]:
    """Lines of the pods of an installation. Raises Failure if none exists or none can be read."""
    selector = f"{CHART},{COMPONENT}={options.service}" if options.service else CHART
    try:
        listed = await cluster.kube.list_whole(PODS, namespace, label_selector=selector)
    except Rejected as refused:
        raise Failure(
            f"the pods of namespace {namespace} cannot be listed: {refused.message}"
        ) from None
    pods = {
        pod["metadata"]["name"]: pod["metadata"]["labels"].get(COMPONENT, "")
        for pod in listed
        if pod["metadata"]["labels"].get(COMPONENT) in services
    }
    if not pods:
        what = f"no pod of service {options.service}" if options.service else "no pod of millrace"
        raise Failure(
            f"namespace {namespace} has {what}: say --system-namespace, where millrace is installed"
        )
    async with aclosing_transport(cluster.kubeconfig) as transport:
        reading = _PodLogs(transport, namespace, options)
        async for line in reading.read(pods):
            yield line
        if options.follow:
            async for line in reading.followed(pods):
                yield line


class _PodLogs:
    def __init__(self, transport: Transport, namespace: str, options: ServiceLogOptions) -> None:
        self._transport = transport
        self._namespace = namespace
        self._options = options
        self._newest: dict[str, Line] = {}

    async def read(self, pods: dict[str, str]) -> AsyncIterator[Line]:
        """Lines of all pods by time; a log that cannot be read is reported."""
        logs = await asyncio.gather(*(self._all_of(pod) for pod in pods))
        problems = [found for found in logs if isinstance(found, str)]
        if len(problems) == len(pods):
            raise Failure(problems[0], *problems[1:])
        print_lines(*(f"millrace: {problem}" for problem in problems))
        options = self._options
        for line in merged(
            (found for found in logs if not isinstance(found, str)),
            job=options.job,
            since_s=options.from_s,
            tail=options.tail,
        ):
            yield line

    async def _all_of(self, pod: str) -> Collection[Line] | str:
        """The wanted lines of a pod, the last `tail` of them, or why it has no lines.

        Only those are kept: a log may be large.
        """
        found: deque[Line] = deque(maxlen=self._options.tail)
        since_s = self._options.from_s
        try:
            async for line in self._lines(pod):
                self._newest[pod] = line
                if line.is_of(self._options.job, since_s):
                    found.append(line)
            return found
        except (Rejected, Transient) as problem:
            return self._problem(pod, problem)

    async def followed(self, pods: dict[str, str]) -> AsyncIterator[Line]:
        """Lines after those that were read, as they come; ends when all pods have ended."""
        queue: asyncio.Queue[Line | None] = asyncio.Queue(maxsize=1_000)

        async def feed(pod: str) -> None:
            try:
                async for line in self._lines(pod, follow=True):
                    await queue.put(line)
            except (Rejected, Transient) as problem:
                print_lines(f"millrace: {self._problem(pod, problem)}")
            await queue.put(None)

        async with asyncio.TaskGroup() as group:
            for pod in pods:
                group.create_task(feed(pod))
            left = len(pods)
            while left:
                line = await queue.get()
                if line is None:
                    left -= 1
                elif line.is_of(self._options.job):
                    yield line

    async def _lines(self, pod: str, *, follow: bool = False) -> AsyncIterator[Line]:
        """The log of a pod; to follow it, from the newest line on that was read."""
        options, newest = self._options, self._newest.get(pod) if follow else None
        given = {"follow": "true"} if follow else {}
        if options.previous:
            given["previous"] = "true"
        shown_to_s = newest.time_s if newest is not None else 0.0
        if shown_to_s:
            # Whole seconds: lines of that second come again, and are left out below.
            given["sinceTime"] = moment_of(shown_to_s)
        elif options.since_s is not None:
            given["sinceSeconds"] = str(max(1, round(options.since_s)))
        if not follow and options.tail is not None and options.job is None:
            given["tailLines"] = str(options.tail)
        path = path_of(PODS, self._namespace, quote(pod), "log")
        path += f"?{urlencode(given)}" if given else ""
        headers = {"user-agent": USER_AGENT, "accept": "*/*"}
        before = None
        async with self._transport.stream(path, headers=headers, silence_s=SILENCE_S) as raw_lines:
            async for raw in raw_lines:
                line = line_of(pod, raw.decode(errors="replace"), before)
                if line is not None:
                    before = line
                    if not shown_to_s or line.time_s > shown_to_s:
                        yield line

    @staticmethod
    def _problem(pod: str, problem: Rejected | Transient) -> str:
        why = problem.message if isinstance(problem, Rejected) else str(problem)
        return f"the log of pod {pod} cannot be read: {why}"
