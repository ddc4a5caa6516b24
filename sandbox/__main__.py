"""The sandbox as a process: `python -m sandbox` serves an embedded Kubernetes cluster.

Lives here: command line, signals, exit code. The cluster itself is put together in cluster.py.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

import uvloop

from sandbox.cluster import NODES_MAX, Cluster, read_definitions
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import LOOPBACK, serving


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
    cluster = Cluster(
        now=time.time,
        new_uid=lambda: str(uuid.uuid4()),
        nodes=options.nodes,
        has_metrics=options.metrics,
        resizes_pods=not options.without_pod_resize,
    )
    if options.crds is not None:
        cluster.install(read_definitions(options.crds))
    async with serving(cluster.api, port=options.port, host=options.host) as port:
        for file, url in options.kubeconfig:
            write_kubeconfig(file, port=port, server=url)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await _run_until(stopped, cluster)


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
