"""The sandbox as a process: `python -m sandbox` serves an embedded Kubernetes cluster.

Lives here: command line, signals, exit code. The cluster itself is put together in cluster.py.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import shlex
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import uvloop

from sandbox.cluster import NODES_MAX, Cluster, Processes, read_definitions
from sandbox.containers.environment import base_environment
from sandbox.containers.programs import Programs
from sandbox.containers.runtime import ContainerRuntime
from sandbox.controllers.pod_addresses import LOOPBACK_NETWORK
from sandbox.http.authenticating import Gate
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import LOOPBACK, serving

ADDRESSES = LOOPBACK_NETWORK.num_addresses // 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=options.log_level.upper(), stream=sys.stderr)
    uvloop.run(_serve(options))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sandbox",
        description="An embedded Kubernetes cluster: API server, scheduler, kubelets and garbage "
        "collector in one process. Everything is in memory.",
    )
    _add_addresses(parser)
    parser.add_argument(
        "--nodes", type=_node_count, default=4, metavar="N", help="number of nodes (default: 4)"
    )
    parser.add_argument(
        "--crds",
        type=Path,
        metavar="DIR",
        help="create the CustomResourceDefinitions of every YAML file in DIR first",
    )
    parser.add_argument(
        "--metrics",
        action="store_true",
        help="serve metrics.k8s.io although no pod or node plays how much CPU it uses",
    )
    _add_programs(parser)
    older = "do not serve pods/resize, as clusters before Kubernetes 1.33"
    parser.add_argument("--without-pod-resize", action="store_true", help=older)
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="how much to log to stderr (default: warning)",
    )
    return parser


def _add_addresses(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=0, metavar="P", help="port of the API (default: a free one)"
    )
    parser.add_argument(
        "--host",
        default=LOOPBACK,
        metavar="ADDRESS",
        help=f"address to listen on (default: {LOOPBACK}); who reaches it may do everything",
    )
    parser.add_argument(
        "--kubeconfig",
        type=_kubeconfig,
        action="append",
        default=[],
        metavar="FILE[=URL]",
        help="write a kubeconfig for the cluster to FILE as soon as it serves; URL is the address "
        "for clients that reach it by another one; repeatable",
    )


def _add_programs(parser: argparse.ArgumentParser) -> None:
    """The options of pods that are processes of this machine (docs/sandbox.md)."""
    parser.add_argument(
        "--run-image",
        action="append",
        default=[],
        metavar="PATTERN",
        help="run pods whose images all match a PATTERN as processes of this machine, with the "
        "rights of this process; its parts are the last ones of the repository (acme/tools*); "
        "repeatable",
    )
    parser.add_argument(
        "--run-program",
        type=_program,
        action="append",
        default=[],
        metavar="PATH=COMMAND",
        help="what PATH in such an image is here, as the words of a shell; repeatable",
    )
    parser.add_argument(
        "--run-env",
        type=_variable,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of all such processes, which have few of the variables of this process; "
        "repeatable",
    )
    parser.add_argument(
        "--run-folder",
        type=Path,
        metavar="DIR",
        help="the folder of the files of such pods, emptied at the start and at the end (default: "
        "a temporary one)",
    )


def _program(text: str) -> tuple[str, tuple[str, ...]]:
    path, equals, command = text.partition("=")
    words = tuple(shlex.split(command))
    if not path or not equals or not words:
        raise argparse.ArgumentTypeError(f"{text} is not PATH=COMMAND")
    return path, words


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, value


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError("a port is between 0 and 65535")
    return port


def _kubeconfig(text: str) -> tuple[Path, str]:
    """The file, and the address that it gives; empty: the one that is listened on."""
    file, _, url = text.partition("=")
    if url and not url.startswith("http://"):
        raise argparse.ArgumentTypeError(f"{url} is not an http:// URL: the API has no TLS")
    return Path(file), url


def _node_count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= NODES_MAX:
        raise argparse.ArgumentTypeError(f"between 0 and {NODES_MAX} nodes are possible")
    return count


async def _serve(options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with _processes(options) as processes:
        cluster = Cluster(
            now=time.time,
            new_uid=lambda: str(uuid.uuid4()),
            nodes=options.nodes,
            has_metrics=options.metrics,
            resizes_pods=not options.without_pod_resize,
            processes=processes,
        )
        if options.crds is not None:
            cluster.install(read_definitions(options.crds))
        gate = Gate() if processes is None else processes.gate
        where = {"port": options.port, "host": options.host}
        async with serving(cluster.api, **where, executing=cluster.executing, gate=gate) as port:
            for file, url in options.kubeconfig:
                write_kubeconfig(file, port=port, server=url)
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await _run_until(stopped, cluster)


@asynccontextmanager
async def _processes(options: argparse.Namespace) -> AsyncIterator[Processes | None]:
    """What runs pods as processes, if an image is given for it; nothing is left at the end."""
    if not options.run_image:
        yield None
        return
    with ExitStack() as stack:
        folder = options.run_folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="sandbox-"))
        )
        programs = Programs(tuple(options.run_image), dict(options.run_program))
        async with ContainerRuntime(folder.resolve(), time.time) as runtime:
            environment = base_environment(os.environ, dict(options.run_env))
            # Another sandbox on this machine has to be unlikely to use the same addresses.
            first, gate = secrets.randbelow(ADDRESSES), Gate(is_closed=True)
            yield Processes(runtime, programs, environment, first, gate)


async def _run_until(stopped: asyncio.Event, cluster: Cluster) -> None:
    """Run the controllers until a signal; raises what ends them before."""
    running = asyncio.create_task(cluster.run())
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        running.result()
    waiting.cancel()
    running.cancel()
    await asyncio.wait({running})


if __name__ == "__main__":
    sys.exit(main())
