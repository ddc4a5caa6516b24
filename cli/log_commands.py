"""`millrace logs`: of processing elements, or of the services of millrace."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli import completing
from cli.connecting import Cluster, connected
from cli.ending import run, run_with_cluster
from cli.inspecting import pe_of
from cli.installing import RELEASE
from cli.job_commands import Kubeconfig, Namespace, checked_job, checked_root
from cli.kubeconfigs import find_kubeconfig, namespace_in, up_of
from cli.pod_logs import LogOptions, print_logs
from cli.printing import print_json
from cli.service_lines import Line, duration_s, readable
from cli.service_logs import ServiceLogOptions, lines_of_files, lines_of_pods
from cli.showing import answer, print_lines
from contracts.moments import moment_of
from history.why.wording import age_of
from services.roster import NAMES

Form = Literal["text", "json"]


def _checked_duration(text: str) -> str:
    try:
        if text:
            duration_s(text)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    return text


def _checked_service(name: str) -> str:
    if name and name not in NAMES:
        known = ", ".join(NAMES)
        raise typer.BadParameter(f"{name!r} is no service; the services are {known}")
    return name


Name = Annotated[
    str,
    typer.Argument(
        metavar="[JOB|PE]",
        help="A job, or a processing element; default: the services of millrace.",
        callback=checked_job,
        autocompletion=completing.job_and_pe_names,
    ),
]
Service = Annotated[
    str,
    typer.Option(
        "--service", "-s", help=f"A service: {', '.join(NAMES)}.", callback=_checked_service
    ),
]
Job = Annotated[
    str,
    typer.Option("--job", help="Lines of services about this job.", callback=checked_root),
]
Since = Annotated[
    str,
    typer.Option(help="Lines of services of the last 90s, 10m, 2h.", callback=_checked_duration),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C, or the end.")]
Previous = Annotated[
    bool,
    typer.Option(
        "--previous",
        "-p",
        help="Of the launch before (its pod is kept), or of the container before.",
    ),
]
Tail = Annotated[int, typer.Option(min=-1, help="The last so many lines; -1: all.")]
Output = Annotated[
    Form,
    typer.Option("--output", "-o", help="json: for programs; lines of PEs as they were written."),
]
State = Annotated[
    Path | None,
    typer.Option(help="The folder of an `up`, running or not; default: of the current context."),
]
SystemNamespace = Annotated[str, typer.Option(help="Where millrace is installed on a cluster.")]


def logs(
    name: Name = "",
    service: Service = "",
    job: Job = "",
    since: Since = "",
    follow: Follow = False,
    previous: Previous = False,
    tail: Tail = -1,
    output: Output = "text",
    state: State = None,
    namespace: Namespace = "",
    system_namespace: SystemNamespace = RELEASE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Print the logs of processing elements, or of the services of millrace.

    With a JOB or a PE: what the operators logged, one pod after the other; lines of several begin
    with the name of their processing element. Without: what the services did, by time. --service
    chooses one of them, --job the lines about one job. docs/observability.md explains the lines.

    Examples: millrace logs wordcount --tail 20 --follow

              millrace logs --job wordcount --since 10m
    """
    tail_or_all = None if tail < 0 else tail
    if name:
        _refuse_of_services(name, service=service, job=job, since=since, state=state)
        options = LogOptions(follow, previous, tail_or_all, as_written=output == "json")
        run_with_cluster(kubeconfig, namespace, lambda found: _of_pes(found, name, options))
        return
    since_s = duration_s(since) if since else None

    async def work() -> None:
        about = (namespace_in(namespace, kubeconfig), job) if job else None
        wanted = ServiceLogOptions(service, about, since_s, tail_or_all, follow, previous)
        await _of_services(kubeconfig, state, system_namespace, wanted, output)

    run(work)


def _refuse_of_services(name: str, **options: object) -> None:
    for option, given in options.items():
        if given:
            raise typer.BadParameter(
                f"--{option} is for the logs of services: leave {name} out, or say --job {name}"
            )


async def _of_pes(cluster: Cluster, name: str, options: LogOptions) -> None:
    namespace = cluster.namespace
    found, pe = await pe_of(cluster.kube, namespace, name)
    views = [each for _, each in sorted(found.view.pes.items())]
    if pe is not None:
        views = [each for each in views if each.id == pe["spec"]["id"]]
    await print_logs(cluster.kubeconfig, namespace, views, options)


async def _of_services(
    kubeconfig: Path | None,
    state: Path | None,
    namespace: str,
    options: ServiceLogOptions,
    output: Form,
) -> None:
    if state is None:
        up = up_of(find_kubeconfig(kubeconfig))
        state = up.state if up is not None else None
    if state is not None:
        folder = state / "logs"
        await _print_or_say(lambda wanted: lines_of_files(folder, wanted), options, output)
        return
    async with connected(kubeconfig) as cluster:
        await _print_or_say(
            lambda wanted: lines_of_pods(cluster, namespace, NAMES, wanted), options, output
        )


async def _print_or_say(
    lines: Callable[[ServiceLogOptions], AsyncIterator[Line]],
    options: ServiceLogOptions,
    output: Form,
) -> None:
    """Print the lines; of none say so, and when the last one was, as of a service that hangs."""
    if await _print(lines(options), output):
        return
    last: Line | None = None
    if options.since_s is not None:
        async for line in lines(replace(options, since_s=None, tail=1, follow=False)):
            last = line
    if last is None:
        print_lines("millrace: no line was logged")
        return
    ago = age_of(last.time_s, time.time())
    print_lines(
        f"millrace: no line was logged in that time; the last one, of {last.instance}, is of"
        f" {moment_of(last.time_s)} ({ago} ago)"
    )


async def _print(lines: AsyncIterator[Line], output: Form) -> int:
    count = 0
    async for line in lines:
        count += 1
        if output == "json":
            print_json(line.document, is_indented=False)
        else:
            answer(readable(line))
        if count == 1:
            sys.stdout.flush()
    return count
