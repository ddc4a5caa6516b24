"""`millrace get|describe|restart`: words to options of what one asks about a job."""

from __future__ import annotations

import time
from typing import Annotated, Literal

import typer

from cli import completing
from cli import watching_commands as watching
from cli.acknowledging import acknowledge_losses
from cli.connecting import Cluster
from cli.describing import described_job, described_pe, list_of, notes_of, wide_pes
from cli.documents import document_of
from cli.ending import run_with_cluster
from cli.failing import Failure, Misused
from cli.inspecting import JobObjects, all_jobs, events_of, one_job, pe_of
from cli.job_commands import (
    WAIT_S,
    Kubeconfig,
    Namespace,
    RequiredJob,
    Timeout,
    checked_job,
)
from cli.live import job_panel
from cli.printing import answers, print_json
from cli.restarting import restart_all
from cli.showing import answer, answer_lines, cell, stacked
from contracts.showing import printable

Form = Literal["table", "wide", "name", "json", "yaml"]
console = answers()

JobOrAll = Annotated[
    str,
    typer.Argument(
        help="A job; default: all of the namespace.",
        callback=checked_job,
        autocompletion=completing.job_names,
    ),
]
JobOrPe = Annotated[
    str,
    typer.Argument(
        metavar="JOB|PE",
        help="A job, or a processing element.",
        callback=checked_job,
        autocompletion=completing.job_and_pe_names,
    ),
]
Output = Annotated[
    Form,
    typer.Option("--output", "-o", help="wide has more columns; json and yaml are in docs/cli.md."),
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="The jobs of all namespaces.")
]
Watch = Annotated[
    bool, typer.Option("--watch", "-w", help="Go on and print what changes, until Ctrl-C.")
]


def get(
    job: JobOrAll = "",
    output: Output = "table",
    watch: Watch = False,
    all_namespaces: AllNamespaces = False,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the jobs of a namespace, or one job with its processing elements.

    What does not run, waits at a tuple, was lost or skipped, is refused or has no effect is
    below the table.

    Example: millrace get wordcount -o wide
    """

    async def work(cluster: Cluster) -> None:
        if job and all_namespaces:
            raise Misused("--all-namespaces is for the list of jobs: say --namespace for one job")
        if watch and output != "table":
            raise Misused(f"--watch prints tables: leave -o {output} out")
        if job:
            found = await one_job(cluster.kube, cluster.namespace, job)
            if watch:
                await watching.watch_job(cluster.kube, cluster.namespace, job, console)
            else:
                _show_one(found, output)
            return
        where = None if all_namespaces else cluster.namespace
        if watch:
            await watching.watch_jobs(cluster.kube, where)
        else:
            _show_all(await all_jobs(cluster.kube, where), output, where)

    run_with_cluster(kubeconfig, namespace, work)


def _show_one(found: JobObjects, output: Form) -> None:
    if output in ("json", "yaml", "name"):
        _print_documents([found], output, is_list=False)
        return
    shown = [job_panel(found.view, problems=False)]
    if output == "wide":
        shown = [job_panel(found.view, problems=False, pes=False), wide_pes(found, time.time())]
    notes = notes_of(found, time.time())
    console.print(stacked(*shown, *(cell(note, "red") for note in notes)))


def _show_all(found: list[JobObjects], output: Form, namespace: str | None) -> None:
    if output in ("json", "yaml", "name"):
        _print_documents(found, output, is_list=True)
    elif found:
        is_wide = output == "wide"
        console.print(list_of(found, time.time(), wide=is_wide, all_of=namespace is None))
    else:
        where = f"in namespace {namespace}" if namespace else "in any namespace"
        answer(f"There is no job {where}.")


def _print_documents(found: list[JobObjects], output: Form, *, is_list: bool) -> None:
    if output == "name":
        for each in found:
            answer(f"streamsjob.streams.ibm.com/{each.job['metadata']['name']}")
        return
    documents = [document_of(each, time.time()) for each in found]
    document = {"jobs": documents} if is_list else documents[0]
    if output == "json":
        print_json(document)
        return
    import yaml  # takes 30 ms, and JSON needs none

    answer_lines(printable(yaml.safe_dump(document, sort_keys=False, allow_unicode=True)), end="")


def describe(name: JobOrPe, namespace: Namespace = "", kubeconfig: Kubeconfig = None) -> None:
    """Show everything about a job or a processing element: conditions in words, and Events.

    Example: millrace describe wordcount-2
    """

    async def work(cluster: Cluster) -> None:
        found, pe = await pe_of(cluster.kube, cluster.namespace, name)
        events, now_s = await events_of(cluster.kube, found), time.time()
        if pe is None:
            console.print(described_job(found, events, now_s))
            return
        names = {pe["metadata"]["name"], found.view.pes[pe["spec"]["id"]].pod_name}
        about = [each for each in events if each["involvedObject"].get("name") in names]
        console.print(described_pe(found, pe, about, now_s))

    run_with_cluster(kubeconfig, namespace, work)


def restart(
    name: JobOrPe,
    wait: Annotated[bool, typer.Option(help="Wait until it runs again.")] = True,
    timeout: Timeout = WAIT_S,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Launch a processing element again, or all of a job, one after the other.

    With --no-wait all of a job are restarted at once. Ctrl-C ends the command; what was
    requested goes on.

    Example: millrace restart wordcount-2
    """

    async def work(cluster: Cluster) -> None:
        found, pe = await pe_of(cluster.kube, cluster.namespace, name)
        pes = [pe] if pe is not None else found.pes_by_id
        if not pes:
            raise Failure(f"job {name} has no processing element yet")
        with console.status(f"restarting {name}"):
            await restart_all(cluster.kube, found, pes, answer, wait_s=timeout if wait else None)

    run_with_cluster(kubeconfig, namespace, work)


def acknowledge(job: RequiredJob, namespace: Namespace = "", kubeconfig: Kubeconfig = None) -> None:
    """Acknowledge the lost tuples of a job, so that it is healthy again.

    A job that lost tuples is not Healthy until you acknowledge it, or for
    spec.lossRetentionSeconds, a day. `millrace why JOB` says whose tuples were lost, when
    and why. Nothing is sent again. A later loss shows again.

    Example: millrace acknowledge wordcount
    """

    async def work(cluster: Cluster) -> None:
        answer(await acknowledge_losses(cluster.kube, cluster.namespace, job))

    run_with_cluster(kubeconfig, namespace, work)
