"""The `millrace` command: words to options, failures to sentences and exit codes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cli import jobs
from cli.bundles import bundle_app
from cli.connecting import Cluster, connected
from cli.controlling import ask
from cli.demo import demonstrate
from cli.failing import Failure
from cli.following import following
from cli.live import job_panel, job_table, resize_text
from cli.planning import plan_command
from cli.printing import answers
from cli.real.commands import real_app
from cli.running import UpOptions, stay_up
from cli.showing import answer, answer_lines, print_crash, print_failure
from cli.topics import TopicsOptions, apply_topics, check_topics
from contracts.resources.pod_names import NAME_RULE, is_name
from contracts.showing import one_line
from contracts.topics import DEFAULT_PREFIX
from services.chassis.process.log_lines import configure


class _Commands(TyperGroup):
    """Words that cannot be used are quoted in a panel, by a console that is not ours."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """The words of the command itself."""
        with _words_shown():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """The words of its commands."""
        with _words_shown():
            return super().invoke(ctx)


@contextmanager
def _words_shown() -> Iterator[None]:
    try:
        yield
    except Exception as problem:
        if hasattr(problem, "format_message"):  # one that the panel is for
            vars(problem)["message"] = one_line(vars(problem)["message"])
        raise


app = typer.Typer(
    cls=_Commands,
    help="Streaming applications on Kubernetes: run, resize and look at them.",
    epilog="Exit codes: 0 done, 1 refused or failed, 2 misused, 3 nobody answers, 4 timed out, "
    "130 stopped by Ctrl-C, 143 by SIGTERM.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bundle_app, name="bundle")
app.add_typer(real_app, name="real")
topics_app = typer.Typer(help="The topics on Kafka: make and compare them.", no_args_is_help=True)
app.add_typer(topics_app, name="topics")
service_app = typer.Typer(help="Services of a running `up`: stop and start.", no_args_is_help=True)
app.add_typer(service_app, name="service")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        answer(f"millrace {version('millrace')}")
        raise typer.Exit


@app.callback()
def _whole_command(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


Kubeconfig = Annotated[
    Path | None,
    typer.Option(help="The kubeconfig; default: $KUBECONFIG, then ~/.kube/config."),
]


def _checked_namespace(name: str) -> str:
    """The API server answers 404 to every request with another name."""
    if not is_name(name):
        raise typer.BadParameter(f"{name!r} cannot be a namespace: a name has {NAME_RULE}")
    return name


Namespace = Annotated[
    str, typer.Option("--namespace", "-n", help="The namespace.", callback=_checked_namespace)
]
Wait = Annotated[bool, typer.Option(help="Wait until it has come to pass, with a live table.")]
Servers = Annotated[
    str,
    typer.Option(
        "--bootstrap-servers", envvar="MILLRACE_BOOTSTRAP_SERVERS", help="HOST:PORT, with commas."
    ),
]
Prefix = Annotated[
    str, typer.Option(envvar="MILLRACE_TOPIC_PREFIX", help="What the topics' names begin with.")
]
Real = Annotated[
    bool,
    typer.Option(
        help="On Apache Kafka and a real control plane: the pair of `millrace real up`, or "
        "$MILLRACE_KUBECONFIG and $MILLRACE_BOOTSTRAP_SERVERS. One that runs is kept."
    ),
]
PairFolder = Annotated[
    Path | None,
    typer.Option("--pair", help="With --real: the folder of the pair (`real up --state`)."),
]
Service = Annotated[str, typer.Argument(help="watch-ingest, fusion-backend, …")]
State = Annotated[Path, typer.Option(help="The folder of the running `up` (`up --state`).")]
Timeout = Annotated[float, typer.Option(min=0, help="Seconds to wait at most.")]

console = answers()
WAIT_S = 300.0


def _run(work: Callable[[], Coroutine[Any, Any, int | None]]) -> None:
    """Run a command to its exit code; a Failure becomes one sentence on stderr.

    SIGTERM ends it as Ctrl-C does: with everything cleaned up.
    """

    async def until_terminated() -> int | None:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work()

    try:
        code = asyncio.run(until_terminated())
    except Failure as failure:
        print_failure(failure)
        raise typer.Exit(failure.exit_code) from None
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except asyncio.CancelledError:
        raise typer.Exit(143) from None
    raise typer.Exit(code or 0)


def _with_cluster(
    kubeconfig: Path | None, work: Callable[[Cluster], Coroutine[Any, Any, None]]
) -> None:
    async def connected_work() -> None:
        async with connected(kubeconfig) as cluster:
            await work(cluster)

    _run(connected_work)


@app.command()
def up(
    kubeconfig: Annotated[Path, typer.Option(help="Where to write the kubeconfig.")],
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes the cluster has.")] = 4,
    bundles: Annotated[
        Path | None, typer.Option(help="The bundle root; default: a new folder.")
    ] = None,
    api_port: Annotated[
        int, typer.Option(min=0, max=65535, help="The API's port on 127.0.0.1; 0: a free one.")
    ] = 0,
    state: Annotated[
        Path | None, typer.Option(help="Where logs and the event log live; default: a new folder.")
    ] = None,
    real: Real = False,
    pair: PairFolder = None,
    instances: Annotated[
        int,
        typer.Option(
            min=1, envvar="MILLRACE_INSTANCES", help="With --real: how many of each service."
        ),
    ] = 1,
) -> None:
    """Run a cluster and all services in the foreground, until Ctrl-C.

    Prints `ready` when a Job can be submitted. kubectl works with the kubeconfig.
    """

    async def work() -> int:
        options = UpOptions(
            kubeconfig,
            nodes=nodes,
            bundles=bundles,
            api_port=api_port,
            state=state,
            real=real,
            pair=pair,
            instances=instances,
        )
        return await stay_up(options)

    _run(work)


@topics_app.command("apply")
def topics_apply(
    bootstrap_servers: Servers = "",
    prefix: Prefix = DEFAULT_PREFIX,
    replication: Annotated[
        int | None,
        typer.Option(min=1, help="Replicas of new topics; default: one a broker, at most 3."),
    ] = None,
) -> None:
    """Create the topics that are missing and correct their settings.

    Another number of partitions is refused: it cannot be changed with records in the topic.
    """
    wish = TopicsOptions(bootstrap_servers, prefix, replication)
    _run(lambda: apply_topics(wish, console))


@topics_app.command("check")
def topics_check(bootstrap_servers: Servers = "", prefix: Prefix = DEFAULT_PREFIX) -> None:
    """Compare the topics with what they should be; changes nothing."""
    _run(lambda: check_topics(TopicsOptions(bootstrap_servers, prefix), console))


@service_app.command("stop")
def service_stop(service: Service, state: State) -> None:
    """End a service as SIGTERM does, and keep it ended; jobs go on running without it."""
    _ask(state, "stop", service)


@service_app.command("start")
def service_start(service: Service, state: State) -> None:
    """Start a service that was stopped, and wait until it has finished its restore."""
    _ask(state, "start", service)


def _ask(state: Path, word: str, service: str) -> None:
    async def work() -> None:
        answer(await ask(state, word, service))

    _run(work)


app.command("plan")(plan_command)


@app.command()
def submit(
    bundle: Annotated[Path, typer.Argument(help="The .sab file.")],
    name: Annotated[str, typer.Option(help="The Job's name; default: from the bundle's.")] = "",
    fusion: Annotated[
        str, typer.Option(help="manual=N, legacy (one PE an operator) or automatic.")
    ] = "",
    width: Annotated[
        list[str] | None, typer.Option(help="REGION=W; REGION may hold *. May be repeated.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(help="A submission-time value KEY=VALUE. May be repeated.")
    ] = None,
    bundles: Annotated[
        Path | None, typer.Option(help="The bundle root, where the kubeconfig does not say it.")
    ] = None,
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    wait: Wait = True,
    timeout: Timeout = WAIT_S,
) -> None:
    """Submit a bundle as a Job and show its processing elements come up."""
    wish = jobs.Submission(bundle, name, namespace, fusion, tuple(width or ()), tuple(param or ()))

    async def work(cluster: Cluster) -> None:
        job = await jobs.submit(cluster, wish, bundles)
        if not wait:
            answer(job)
            return
        async with following(cluster.kube, namespace, job) as follower:
            await jobs.wait_running(follower, console, timeout)

    _with_cluster(kubeconfig, work)


@app.command()
def get(
    job: Annotated[str, typer.Argument(help="A job; default: all of the namespace.")] = "",
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the jobs of a namespace, or one job with its processing elements."""

    async def work(cluster: Cluster) -> None:
        if job:
            await jobs.job_object(cluster.kube, namespace, job)
        views = await jobs.jobs_of(cluster.kube, namespace)
        if job:
            console.print(job_panel(next(view for view in views if view.name == job)))
        elif views:
            console.print(job_table(views))
        else:
            answer(f"There is no job in namespace {namespace}.")

    _with_cluster(kubeconfig, work)


@app.command()
def scale(
    job: Annotated[str, typer.Argument(help="The job.")],
    region: Annotated[str, typer.Argument(metavar="REGION=W", help="The region and its width.")],
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    wait: Wait = True,
    timeout: Timeout = WAIT_S,
) -> None:
    """Give a parallel region another width and say what that did."""

    async def work(cluster: Cluster) -> None:
        outcome = await jobs.scale(
            cluster, namespace, job, region, console, wait=wait, timeout_s=timeout
        )
        if outcome is None:
            answer(f"job {job} is asked for {region}")
        else:
            answer_lines(resize_text(outcome))

    _with_cluster(kubeconfig, work)


@app.command()
def delete(
    job: Annotated[str, typer.Argument(help="The job.")],
    namespace: Namespace = "default",
    kubeconfig: Kubeconfig = None,
    wait: Annotated[bool, typer.Option(help="Wait until nothing of it is left.")] = True,
    timeout: Timeout = WAIT_S,
) -> None:
    """Delete a job and everything of it."""

    async def work(cluster: Cluster) -> None:
        with console.status(f"deleting {job}"):
            await jobs.delete(cluster, namespace, job, wait_s=timeout if wait else None)
        answer(f"job {job} is {'gone' if wait else 'being deleted'}")

    _with_cluster(kubeconfig, work)


@app.command()
def demo(
    keep: Annotated[bool, typer.Option(help="Leave it running and say how to use it.")] = False,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Where to write the kubeconfig; default: a new file.")
    ] = None,
    real: Real = False,
    pair: PairFolder = None,
) -> None:
    """Show everything on this machine: submit an example, resize it, say what changed."""
    _run(lambda: demonstrate(console, keep=keep, kubeconfig=kubeconfig, real=real, pair=pair))


def main() -> None:
    """The entry point."""
    configure("millrace", "ERROR")  # what is worth a person's time is a Failure
    try:
        app()
    except Exception as defect:  # noqa: BLE001 - told, and the command ends with 1
        print_crash(defect)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
