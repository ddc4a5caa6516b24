"""`millrace tap`: the tuples of a stream, as they pass."""

from __future__ import annotations

from typing import Annotated

import typer

from cli import completing
from cli.connecting import Cluster
from cli.ending import run_with_cluster
from cli.job_commands import Kubeconfig, Namespace, RequiredJob
from cli.tapping import Tap, tap_stream

Stream = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
        help="The operator that gives it: of all channels, or Counted[1] for one.",
        autocompletion=completing.stream_names,
    ),
]
Limit = Annotated[int, typer.Option(min=0, help="End after so many tuples; 0: never.")]


def tap(
    job: RequiredJob,
    stream: Stream,
    limit: Limit = 0,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Print the tuples of a stream as they pass, as lines of JSON.

    It goes on until the limit, Ctrl-C, or the end of the stream or of its pods: after a resize
    or a restart, tap it again. Lines of several processing elements begin with the name of theirs.
    No tuple waits for the reader: those that come faster are left out. It reads through the API
    server, and needs the verb get of pods/proxy.

    Example: millrace tap sentences Counted --limit 10
    """

    async def work(cluster: Cluster) -> None:
        await tap_stream(cluster, job, Tap(cluster.namespace, stream, limit))

    run_with_cluster(kubeconfig, namespace, work)
