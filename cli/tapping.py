"""Reads tuples of a stream as they pass, from the pods of the PEs that have its operator.

A PE serves `/tap?stream=NAME&limit=N` on the port of its metrics; the API server passes it on.
"""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from cli.connecting import Cluster, aclosing_transport
from cli.failing import CannotReach, Failure
from cli.inspecting import one_job
from cli.jobs import NEAR_MAX, like_job
from cli.live import JobView, PeView
from cli.pod_requests import HEADERS, METRICS_PORT, path_in_pod
from cli.showing import answer, print_lines
from services.chassis.kube.port import Transport
from services.chassis.process.errors import NotAllowed, Rejected, Transient

SILENCE_S: Final = 86_400.0
"""Without a tuple: a stream may be quiet for hours."""
NAMED_MAX: Final = 20
NOTE: Final = "#"
"""Begins a line about the tuples, such as how many were left out; no tuple does."""
_CHANNEL: Final = re.compile(r"\[\d+\]")
_ANSWER_OF_TAP: Final = "this PE has the streams"


def logical(name: str) -> str:
    """The name of an operator without its channels."""
    return _CHANNEL.sub("", name)


def pes_of(pes: Mapping[int, PeView], stream: str) -> list[PeView]:
    """The PEs that have the operator of a stream: one channel, or with its logical name all."""
    return [
        pe
        for _, pe in sorted(pes.items())
        if any(stream in (each, logical(each)) for each in pe.operators)
    ]


def stream_named(view: JobView, name: str) -> str:
    """The stream that a name means: the whole name, or the end of one in whole parts.

    Raises Failure for no stream, and for several.
    """
    operators = {each for pe in view.pes.values() for each in pe.operators}
    names = operators | set(map(logical, operators))
    if name in names:
        return name
    ends = sorted(each for each in names if each.endswith(f".{name}"))
    if not ends:
        raise no_such_stream(view, name)
    if len(ends) > 1:
        raise Failure(f"job {view.name} has several streams {name}: say {' or '.join(ends)}")
    return ends[0]


def no_such_stream(view: JobView, stream: str) -> Failure:
    """The names that exist, and those that are like this one."""
    operators = {each for pe in view.pes.values() for each in pe.operators}
    names = sorted(set(map(logical, operators)))
    if not names:
        return Failure(f"job {view.name} has no processing element yet")
    near = difflib.get_close_matches(stream, [*names, *sorted(operators - set(names))], NEAR_MAX)
    more = ", …" if len(names) > NAMED_MAX else ""
    below = [f"its operators are {', '.join(names[:NAMED_MAX])}{more}"]
    if near:
        below.insert(0, f"did you mean {' or '.join(near)}?")
    return Failure(f"job {view.name} has no stream {stream}", *below)


@dataclass(frozen=True, slots=True)
class Tap:
    """Which stream to read; `limit` 0: all of its tuples."""

    namespace: str
    stream: str
    limit: int

    def path(self, pe: PeView) -> str:
        """The path of the request to the pod of a PE."""
        query = {"stream": self.stream} | ({"limit": str(self.limit)} if self.limit else {})
        return path_in_pod(self.namespace, pe.pod_name, f"/tap?{urlencode(query)}")


async def tap_stream(cluster: Cluster, job: str, tap: Tap) -> None:
    """Print tuples until the limit or the end of the stream. Raises Failure, CannotReach."""
    try:
        view = (await one_job(cluster.kube, tap.namespace, job)).view
    except Failure as missing:
        raise Failure(str(missing), *filter(None, [await _like(cluster, tap, job)])) from None
    tap = replace(tap, stream=stream_named(view, tap.stream))
    pes = pes_of(view.pes, tap.stream)
    running = [pe for pe in pes if pe.pod_name and pe.phase == "Running"]
    away = [not_running(pe) for pe in pes if pe not in running]
    if not running:
        raise Failure(away[0], *away[1:])
    print_lines(*(f"millrace: {each}" for each in away))
    async with aclosing_transport(cluster.kubeconfig) as transport:
        await _print_all(transport, running, tap)


async def _like(cluster: Cluster, tap: Tap, job: str) -> str:
    return await like_job(cluster.kube, tap.namespace, job)


def not_running(pe: PeView) -> str:
    """Why a PE has no tuples to show."""
    why = f": {pe.problem}" if pe.problem else ""
    return f"{pe.name} has no pod that runs, it is {pe.phase}{why}"


async def _print_all(transport: Transport, pes: Sequence[PeView], tap: Tap) -> None:
    """Print the lines of all PEs as they come. A PE that cannot be read is reported."""
    lines: asyncio.Queue[tuple[PeView, str | Failure | None]] = asyncio.Queue(maxsize=len(pes))

    async def read(pe: PeView) -> None:
        try:
            async with aclosing(_lines(transport, pe, tap)) as found:
                async for line in found:
                    await lines.put((pe, line))
            await lines.put((pe, None))
        except Failure as problem:
            await lines.put((pe, problem))

    tasks = [asyncio.create_task(read(pe)) for pe in pes]
    try:
        await _print_merged(lines, len(pes), tap.limit)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _print_merged(
    lines: asyncio.Queue[tuple[PeView, str | Failure | None]], pes: int, limit: int
) -> None:
    printed, left = 0, pes
    problems: list[Failure] = []
    while left and not (limit and printed >= limit):
        pe, item = await lines.get()
        if isinstance(item, str) and item.startswith(NOTE):
            print_lines(f"millrace: {pe.name}: {item.removeprefix(NOTE).strip()}")
            continue
        if isinstance(item, str):
            printed += 1
            answer(f"{pe.name}  {item}" if pes > 1 else item)
            continue
        left -= 1
        if item is not None:
            problems.append(item)
        else:
            print_lines(f"millrace: {pe.name} gives no more: its stream ended, or its pod did")
    if problems and len(problems) == pes:
        raise problems[0]
    print_lines(*(f"millrace: {each}" for each in problems))


async def _lines(transport: Transport, pe: PeView, tap: Tap) -> AsyncGenerator[str, None]:
    """The lines of one PE. Raises Failure, CannotReach."""
    begun = False
    try:
        async with transport.stream(tap.path(pe), headers=HEADERS, silence_s=SILENCE_S) as lines:
            begun = True
            async for line in lines:
                yield line.decode(errors="replace")
    except NotAllowed as refused:
        raise Failure(
            f"{pe.name} cannot be read: you lack a right: {refused.message}",
            f"It takes the verb get of pods/proxy in namespace {tap.namespace}.",
        ) from None
    except Rejected as refused:
        raise Failure(_refused(pe, tap, refused)) from None
    except Transient as problem:
        if begun:
            text = f"the pod {pe.pod_name} of {pe.name} has ended, or was replaced: tap it again"
            raise Failure(text) from None
        raise CannotReach(
            f"{pe.name} does not answer on port {METRICS_PORT} of its pod: {problem}",
            f"It has just started, or its image{_image(pe)} has no tap.",
        ) from None


def _refused(pe: PeView, tap: Tap, refused: Rejected) -> str:
    if refused.message.strip() == f"{_ANSWER_OF_TAP} none":
        return f"{tap.stream} of {pe.name} gives no stream: it only takes tuples"
    if refused.message.startswith(_ANSWER_OF_TAP):
        return f"{tap.stream} of {pe.name} cannot be read now: {refused.message.strip()}"
    if refused.code == 404:
        return f"{pe.name} has no tap in its image{_image(pe)}: {refused.message.strip()}"
    return f"{pe.name} cannot be read: {refused.message.strip()}"


def _image(pe: PeView) -> str:
    return f" {pe.image}" if pe.image else ""
