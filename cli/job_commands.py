"""`millrace submit|scale|delete`: words to options of what `jobs.py` does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from cli import completing, jobs, submitting
from cli.connecting import Cluster
from cli.ending import run_with_cluster
from cli.following import following
from cli.inspecting import warnings_of
from cli.live import JobView
from cli.printing import answers
from cli.showing import answer, answer_lines, cell, print_lines, stacked
from contracts.belonging import root_named
from contracts.names import DOMAIN_RULE, NAME_RULE, is_domain, is_name
from contracts.resources import JOB
from services.roster import OWNERS

console = answers()
WAIT_S = 300.0


Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="The kubeconfig; default: $KUBECONFIG, then ~/.kube/config."),
]


def checked_job(name: str) -> str:
    """The name of an object, or of none; raises BadParameter."""
    if name and not is_name(name):
        raise typer.BadParameter(f"{name!r} cannot be a job: a name has {NAME_RULE}")
    return name


def checked_root(words: str) -> str:
    """The key of a job, or of KIND/NAME where the kind is another root; raises BadParameter."""
    if not words or "/" not in words:
        return checked_job(words)
    try:
        root = root_named(words)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from None
    return root.key


def _required_root(words: str) -> str:
    if not words:
        raise typer.BadParameter("the name of the job is empty")
    return checked_root(words)


def _required_job(name: str) -> str:
    if not name:
        raise typer.BadParameter("the name of the job is empty")
    return checked_job(name)


RequiredRoot = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="The job.",
        callback=_required_root,
        autocompletion=completing.job_names,
    ),
]
RequiredJob = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="The job.",
        callback=_required_job,
        autocompletion=completing.job_names,
    ),
]

RegionWidth = Annotated[
    str,
    typer.Argument(
        metavar="REGION=W",
        help="The region (its name, the end of it, or a pattern with *) and its width.",
        autocompletion=completing.region_widths,
    ),
]


def _checked_namespace(ctx: typer.Context, param: typer.CallbackParam, name: str) -> str:
    """The API server answers 404 to every request with another name.

    An empty one that is named is refused: an unset variable of a shell would mean another one.
    """
    source = ctx.get_parameter_source(str(param.name))
    is_named = source is not None and source.name != "DEFAULT"
    if is_named and not is_name(name):
        raise typer.BadParameter(f"{name!r} cannot be a namespace: a name has {NAME_RULE}")
    return name


def _checked_claim(name: str | None) -> str | None:
    """The API server answers 404 to a request with another name."""
    if name is not None and not is_domain(name):
        raise typer.BadParameter(f"{name!r} cannot be a volume claim: a name has {DOMAIN_RULE}")
    return name


Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        help="The namespace; default: that of the current context, else default.",
        callback=_checked_namespace,
        show_default=False,
    ),
]
Wait = Annotated[bool, typer.Option(help="Wait until it is done, with a live table.")]
Timeout = Annotated[float, typer.Option(min=0, help="Seconds to wait at most.")]
JobName = Annotated[str, typer.Option(help="The Job's name; default: from the bundle's.")]
Fusion = Annotated[str, typer.Option(help="legacy, manual=N or automatic; docs/fusion.md.")]
Widths = Annotated[
    list[str] | None,
    typer.Option(help="REGION=W: its name, the end of it, or a pattern with *. Repeatable."),
]
Params = Annotated[
    list[str] | None, typer.Option(help="A submission-time value KEY=VALUE. Repeatable.")
]
BundleRoot = Annotated[
    Path | None,
    typer.Option(
        envvar="MILLRACE_BUNDLE_ROOT",
        help="The bundle root; only for a cluster that `millrace up` did not start.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace another bundle of that name.")]

RuntimeImage = Annotated[
    str,
    typer.Option(
        envvar="MILLRACE_RUNTIME_IMAGE",
        help="The image of the PEs of an application in Python; default: as "
        f"{OWNERS[JOB.kind]} is set.",
    ),
]

Store = Annotated[
    str | None,
    typer.Option(
        metavar="CLAIM",
        help="The volume claim (ReadWriteMany) that keeps the state of operators; in a cluster of "
        "`millrace up` it is created if it is missing.",
        callback=_checked_claim,
    ),
]


def submit(
    bundle: Annotated[Path, typer.Argument(help="The .sab file.")],
    name: JobName = "",
    fusion: Fusion = "",
    width: Widths = None,
    param: Params = None,
    bundles: BundleRoot = None,
    force: Force = False,
    runtime_image: RuntimeImage = "",
    store: Store = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    wait: Wait = True,
    timeout: Timeout = WAIT_S,
) -> None:
    """Submit a bundle as a Job and show its processing elements come up.

    The bundle is verified first. Ctrl-C ends the command, not the job.
    """
    submission = submitting.Submission(
        bundle,
        name,
        fusion=fusion,
        widths=tuple(width or ()),
        params=tuple(param or ()),
        runtime_image=runtime_image,
        store=store or "",
    )

    async def work(cluster: Cluster) -> None:
        here = replace(submission, namespace=cluster.namespace)
        job = await submitting.submit(cluster, here, bundles, force=force)
        if wait:
            await _show_running(cluster, job, timeout)
        else:
            answer(job)

    run_with_cluster(kubeconfig, namespace, work)


async def _show_running(cluster: Cluster, job: str, timeout_s: float) -> None:
    """Show how a job that was submitted comes up."""
    namespace = cluster.namespace
    try:
        async with following(cluster.kube, namespace, job, has_written=True) as follower:
            view = await jobs.wait_running(follower, console, timeout_s)
        _print_images(view)
        print_lines(*await warnings_of(cluster.kube, namespace, job))
    except asyncio.CancelledError:
        print_lines(submitting.goes_on(job))
        raise


def _print_images(view: JobView) -> None:
    """Say in which images the PEs run, as far as their specs name them."""
    if images := {pe.image for pe in view.pes.values()} - {""}:
        print_lines(f"its PEs run in {' and '.join(sorted(images))}")


def scale(
    job: RequiredJob,
    region: RegionWidth,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would become of each PE; change nothing.")
    ] = False,
    bundles: Annotated[
        Path | None,
        typer.Option(help="With --dry-run: the folder of the bundle; default: that of `up`."),
    ] = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    wait: Wait = True,
    timeout: Timeout = WAIT_S,
) -> None:
    """Give a parallel region another width and show which PEs changed.

    The width that is in force already is not an error: nothing changes.

    Example: millrace scale wordcount Counted=5 --dry-run
    """

    async def work(cluster: Cluster) -> None:
        if dry_run:
            from cli.running_plans import dry_run_text  # the planner: a resize starts without it

            summary, table = await dry_run_text(cluster, cluster.namespace, job, region, bundles)
            console.print(stacked(cell(summary), table))
            print_lines(*await warnings_of(cluster.kube, cluster.namespace, job))
            return
        where = cluster.namespace
        answer_lines(
            await jobs.scale(cluster, where, job, region, console, wait=wait, timeout_s=timeout)
        )

    run_with_cluster(kubeconfig, namespace, work)


def delete(
    job: RequiredJob,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    wait: Annotated[bool, typer.Option(help="Wait until nothing of it is left.")] = True,
    timeout: Timeout = WAIT_S,
) -> None:
    """Delete a job with all its objects."""

    async def work(cluster: Cluster) -> None:
        with console.status(f"deleting {job}"):
            await jobs.delete(cluster, cluster.namespace, job, wait_s=timeout if wait else None)
        answer(f"job {job} is {'gone' if wait else 'being deleted'}")

    run_with_cluster(kubeconfig, namespace, work)
