"""Prints the logs of pods, as the API server gets them from their nodes: `pods/NAME/log`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from cli.connecting import PODS, USER_AGENT, aclosing_transport
from cli.failing import Failure
from cli.live import PeView
from cli.log_notes import ended_before_log, no_pod
from cli.pe_lines import readable_lines
from cli.showing import answer, answer_lines, print_lines
from contracts.labels import PE_CONTAINER
from services.chassis.kube.kubeconfig_files import Kubeconfig
from services.chassis.kube.port import Transport, path_of
from services.chassis.process.errors import Rejected, Transient

LAST_LINES = 5
"""From the end of a log: the last one that is not empty is wanted."""
LAST_S_MAX = 1.0
OF_PE = {"container": PE_CONTAINER}
"""A pod has others too, where the template of the Job or an admission webhook adds some."""
SILENCE_S = 86_400.0
"""Without a line: a healthy PE may have nothing to log for hours."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which log of a PE: `tail` lines from its end, None for all.

    `previous`: of the launch before, which had a pod of its own; containers never restart.
    `as_written`: lines of our runtime unchanged and without the name of their PE, for programs.
    """

    follow: bool = False
    previous: bool = False
    tail: int | None = None
    as_written: bool = False

    @property
    def query(self) -> str:
        """The parameters of the request."""
        given = dict(OF_PE)
        if self.follow:
            given["follow"] = "true"
        if self.tail is not None:
            given["tailLines"] = str(self.tail)
        return f"?{urlencode(given)}"


async def print_logs(
    kubeconfig: Kubeconfig | Path, namespace: str, pes: Sequence[PeView], options: LogOptions
) -> None:
    """Print the logs of the pods of PEs: one after the other, or as they come with `follow`.

    Where there are several, a line begins with the name of its PE. A log that cannot be read is
    reported, and the others are printed. Raises Failure if none can be read.
    """
    prefixed = len(pes) > 1
    async with aclosing_transport(kubeconfig) as transport:

        async def one(pe: PeView) -> tuple[str, int]:
            return await _print_log(transport, namespace, pe, options, prefixed=prefixed)

        if options.follow:
            problems = [*await asyncio.gather(*map(one, pes))]
        else:
            problems = [await one(pe) for pe in pes]
    found = [problem for problem, _ in problems if problem]
    if not found and not any(lines for _, lines in problems):
        print_lines("millrace: no line was logged")
    if not options.previous:
        _print_ends(pes, problems)
    if found and len(found) == len(pes):
        raise Failure(found[0], *found[1:])
    print_lines(*(f"millrace: {problem}" for problem in found))


def _print_ends(pes: Sequence[PeView], problems: Sequence[tuple[str, int]]) -> None:
    """How launches ended whose logs are not there any more."""
    for pe, (problem, lines) in zip(pes, problems, strict=True):
        if not problem and (note := ended_before_log(pe, lines, time.time())):
            print_lines(f"millrace: {note}")


async def last_lines(
    kubeconfig: Kubeconfig | Path, namespace: str, pods: Sequence[str]
) -> dict[str, str]:
    """The last line of the log of each pod that is not empty; none where it is not read in time."""
    found: dict[str, str] = {}
    query = urlencode(OF_PE | {"tailLines": str(LAST_LINES)})
    headers = {"user-agent": USER_AGENT, "accept": "*/*"}

    async def one(transport: Transport, pod: str) -> None:
        path = f"{path_of(PODS, namespace, pod, 'log')}?{query}"
        async with transport.stream(path, headers=headers, silence_s=LAST_S_MAX) as lines:
            async for line in lines:
                found[pod] = line.decode(errors="replace").strip() or found.get(pod, "")

    async with aclosing_transport(kubeconfig) as transport:
        for pod in pods:
            try:
                async with asyncio.timeout(LAST_S_MAX):
                    await one(transport, pod)
            except (Rejected, Transient, TimeoutError):  # a log is not needed for an answer
                continue
    return found


async def _print_log(
    transport: Transport, namespace: str, pe: PeView, options: LogOptions, *, prefixed: bool
) -> tuple[str, int]:
    """Print the log of one PE; returns why it cannot be read (empty if it was), and its lines."""
    printed = 0
    pod_name = pe.previous_pod_name if options.previous else pe.pod_name
    if not pod_name:
        return no_pod(pe, previous=options.previous, now_s=time.time()), printed
    path = path_of(PODS, namespace, pod_name, "log") + options.query
    headers = {"user-agent": USER_AGENT, "accept": "*/*"}
    try:
        async with transport.stream(path, headers=headers, silence_s=SILENCE_S) as lines:
            async for line in lines:
                text = line.decode(errors="replace")
                printed += 1
                if options.as_written:
                    answer_lines(text)
                    continue
                for shown in readable_lines(text):
                    answer(f"{pe.name}  {shown}" if prefixed else shown)
    except Rejected as refused:
        return f"the log of pod {pod_name} cannot be read: {refused.message}", printed
    except Transient as problem:
        return f"the log of pod {pod_name} cannot be read: {problem}", printed
    return "", printed
