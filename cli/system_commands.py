"""`millrace up|demo|service|topics`: words to options of what runs the system, or a part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.controlling import ask
from cli.demo import demonstrate
from cli.ending import run
from cli.kubeconfigs import default_kubeconfig
from cli.layouts import UpOptions
from cli.printing import answers, print_json
from cli.running import stay_up
from cli.service_status import (
    document_of_services,
    exit_code_of,
    state_folder,
    statuses_of,
    table_of_services,
)
from cli.showing import answer
from cli.topics import TopicsOptions, apply_topics, check_topics, principals_of
from contracts.topics import DEFAULT_PREFIX, PARTITIONS, PARTITIONS_MAX
from services.roster import NAMES

topics_app = typer.Typer(
    help="The topics on Kafka: make and compare them.", no_args_is_help=True, add_completion=False
)
service_app = typer.Typer(
    help="Services of a running `up`: status, stop, start.",
    no_args_is_help=True,
    add_completion=False,
)
console = answers()

Servers = Annotated[
    str,
    typer.Option(
        "--bootstrap-servers", envvar="MILLRACE_BOOTSTRAP_SERVERS", help="HOST:PORT, with commas."
    ),
]
Prefix = Annotated[
    str, typer.Option(envvar="MILLRACE_TOPIC_PREFIX", help="What the topics' names begin with.")
]
Wait = Annotated[
    float, typer.Option(min=0, help="Seconds to wait for brokers (and, in a check, for topics).")
]
Partitions = Annotated[
    int,
    typer.Option(
        envvar="MILLRACE_PARTITIONS",
        min=1,
        max=PARTITIONS_MAX,
        help="Partitions of the topics that instances of services share, fixed when they are "
        "created; services need the same in MILLRACE_PARTITIONS.",
    ),
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
Service = Annotated[str, typer.Argument(help=f"One of {', '.join(NAMES)}.")]
State = Annotated[
    Path | None,
    typer.Option(help="The folder of the running `up`; default: that of the current context."),
]
OfContext = Annotated[
    Path | None,
    typer.Option(
        "--kubeconfig", help="Whose current context; default: $KUBECONFIG, then ~/.kube/config."
    ),
]

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        help="Where to add the context; default: $KUBECONFIG, else ~/.kube/config. What else is "
        "in the file stays."
    ),
]
Nodes = Annotated[int, typer.Option(min=1, help="How many nodes the cluster has.")]
Bundles = Annotated[
    Path | None, typer.Option(help="The bundle root; default: a folder of the state.")
]
Create = Annotated[bool, typer.Option("--create", help="Create --bundles if it does not exist.")]
ApiPort = Annotated[
    int, typer.Option(min=0, max=65535, help="The API's port on 127.0.0.1; 0: a free one.")
]
UpState = Annotated[
    Path | None,
    typer.Option(
        help="Where logs and the event log live; default: a new folder, removed at the end. "
        "Bundles and logs of an earlier `up` are kept, jobs of the embedded cluster are not."
    ),
]
Instances = Annotated[
    int,
    typer.Option(min=1, envvar="MILLRACE_INSTANCES", help="With --real: how many of each service."),
]


def up(
    kubeconfig: Kubeconfig = None,
    nodes: Nodes = 4,
    bundles: Bundles = None,
    create: Create = False,
    api_port: ApiPort = 0,
    state: UpState = None,
    real: Real = False,
    pair: PairFolder = None,
    instances: Instances = 1,
) -> None:
    """Run a cluster and all services in the foreground, until Ctrl-C.

    Adds a context to the kubeconfig, makes it the current one, and takes it out at the end. Prints
    `ready` when a Job can be submitted. kubectl works meanwhile.
    """

    async def work() -> int:
        options = UpOptions(
            kubeconfig or default_kubeconfig(),
            nodes=nodes,
            bundles=bundles,
            create=create,
            api_port=api_port,
            state=state,
            real=real,
            pair=pair,
            instances=instances,
        )
        return await stay_up(options)

    run(work)


@topics_app.command("apply")
def topics_apply(
    bootstrap_servers: Servers = "",
    prefix: Prefix = DEFAULT_PREFIX,
    replication: Annotated[
        int | None,
        typer.Option(min=1, help="Replicas of new topics; default: one a broker, at most 3."),
    ] = None,
    principal: Annotated[
        list[str] | None,
        typer.Option(
            help="SERVICE=User:NAME, once for each service: also create the ACLs that it needs."
        ),
    ] = None,
    wait: Wait = 0.0,
    partitions: Partitions = PARTITIONS,
) -> None:
    """Create the topics that are missing and correct their settings.

    Another number of partitions is refused: it cannot be changed with records in the topic.
    """

    async def work() -> None:
        principals = principals_of(principal or ())
        options = TopicsOptions(
            bootstrap_servers, prefix, replication, principals, wait, partitions
        )
        await apply_topics(options, console)

    run(work)


@topics_app.command("check")
def topics_check(
    bootstrap_servers: Servers = "",
    prefix: Prefix = DEFAULT_PREFIX,
    wait: Wait = 0.0,
    partitions: Partitions = PARTITIONS,
) -> None:
    """Compare the topics with what they should be; changes nothing."""
    options = TopicsOptions(bootstrap_servers, prefix, wait_s=wait, partitions=partitions)
    run(lambda: check_topics(options, console))


@service_app.command("stop")
def service_stop(service: Service, state: State = None, kubeconfig: OfContext = None) -> None:
    """End a service as SIGTERM does, and keep it ended; jobs go on running without it."""
    _ask(state, kubeconfig, "stop", service)


@service_app.command("start")
def service_start(service: Service, state: State = None, kubeconfig: OfContext = None) -> None:
    """Start a service that was stopped, and wait until it has finished its restore."""
    _ask(state, kubeconfig, "start", service)


@service_app.command("status")
def service_status(
    state: State = None,
    output: Annotated[
        Literal["table", "json"],
        typer.Option("--output", "-o", help="The fields of json are in docs/cli.md."),
    ] = "table",
    kubeconfig: OfContext = None,
) -> None:
    """Show each service: whether it runs and is ready, its pid, and where its metrics are.

    Ends with 0 if all run and are ready, 1 if one does not, 3 if no `up` runs there.
    """

    async def work() -> int:
        statuses = await statuses_of(state_folder(state, kubeconfig))
        if output == "json":
            print_json(document_of_services(statuses))
        else:
            console.print(table_of_services(statuses))
        return exit_code_of(statuses)

    run(work)


def _ask(state: Path | None, kubeconfig: Path | None, word: str, service: str) -> None:
    async def work() -> None:
        answer(await ask(state_folder(state, kubeconfig), word, service))

    run(work)


def demo(
    keep: Annotated[bool, typer.Option(help="Leave it running and say how to use it.")] = False,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Where to add the context; default: a new file.")
    ] = None,
    real: Real = False,
    pair: PairFolder = None,
) -> None:
    """Show everything on this machine: submit an example, resize it, say what changed."""
    run(lambda: demonstrate(console, keep=keep, kubeconfig=kubeconfig, real=real, pair=pair))
