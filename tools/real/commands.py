"""`millrace real up|status|down`: stdout has one line, for `eval`; the rest goes to stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.ending import run
from cli.failing import Misused
from cli.showing import PLAIN_BOX, Rows, Screen, answer, print_lines
from tools.real.building import cache_folder
from tools.real.pair import PairOptions, PartStatus, pair_down, pair_status, pair_up
from tools.real.pins import read_pins
from tools.real.progress import Progress

real_app = typer.Typer(
    add_completion=False,
    help="Apache Kafka and a real Kubernetes control plane as plain processes on loopback.",
    no_args_is_help=True,
)
State = Annotated[
    Path | None, typer.Option(help="The folder of the pair; default: ~/.cache/millrace/pair.")
]
BROKER_COUNTS = (1, 3)


def _run(work: Callable[[], Coroutine[Any, Any, int]]) -> None:
    """Run to an exit code, on Linux only."""

    async def on_linux() -> int:
        if sys.platform != "linux":
            raise Misused(
                "the real pair needs Linux; elsewhere set MILLRACE_KUBECONFIG and "
                "MILLRACE_BOOTSTRAP_SERVERS to a cluster and brokers of yours."
            )
        return await work()

    run(on_linux)


@real_app.command()
def up(
    brokers: Annotated[int, typer.Option(help="Kafka brokers: 1 or 3.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, max=1000, help="Nodes of the cluster.")] = 4,
    node: Annotated[
        bool, typer.Option("--node", help="One real node too: kubelet, containerd, DNS (root).")
    ] = False,
    image: Annotated[
        list[Path] | None, typer.Option(help="An image for it, as `docker save` writes; repeat.")
    ] = None,
    state: State = None,
) -> None:
    """Bring the pair up; a healthy one is kept. Prints KUBECONFIG=… BOOTSTRAP_SERVERS=…

    With MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS set, those are checked and used.
    """

    async def work() -> int:
        if brokers not in BROKER_COUNTS:
            raise Misused(f"--brokers {brokers}: 1 or 3.")
        began_s = time.monotonic()
        with Progress() as progress:
            options = PairOptions(state, brokers, nodes, node, tuple(image or ()))
            pair = await pair_up(options, progress)
            progress.say(f"up after {time.monotonic() - began_s:.1f} s")
            if pair.folder is not None:
                kubectl = cache_folder() / read_pins().digest / "bin" / "kubectl"
                progress.say(f"its kubectl: {kubectl}")
        answer(pair.line)
        return 0

    _run(work)


@real_app.command()
def status(state: State = None) -> None:
    """Show the parts of the pair; ends with 0 when all are healthy, else with 1."""

    async def work() -> int:
        pair, parts = await pair_status(PairOptions(state))
        if pair is None:
            where = PairOptions(state).folder.path
            print_lines(f"There is no pair in {where}. `millrace real up` brings one up.")
            return 1
        Screen(stderr=True).print(status_table(parts, time.time()))
        if all(part.problem for part in parts):
            return 1  # no line for `eval`: the pair is dead
        answer(pair.line)
        return 1 if any(part.problem for part in parts) else 0

    _run(work)


@real_app.command()
def down(state: State = None) -> None:
    """End every process of the pair and remove its folder; never a cluster or broker of yours."""

    async def work() -> int:
        with Progress() as progress:
            options = PairOptions(state)
            was_there = await pair_down(options, progress)
            where = options.folder.path
            progress.say(f"down: {where} is gone" if was_there else f"there was no pair in {where}")
        return 0

    _run(work)


def status_table(parts: Sequence[PartStatus], now_s: float) -> Rows:
    """A table with one row for each part, and the sum of memory as footer."""
    total = sum(part.resident_bytes for part in parts)
    table = Rows(show_footer=total > 0, box=PLAIN_BOX, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("part", footer="all", no_wrap=True)
    table.add_column("pid", justify="right")
    table.add_column("port", justify="right")
    table.add_column("version")
    table.add_column("memory", justify="right", footer=_megabytes(total))
    table.add_column("since", no_wrap=True)
    table.add_column("health")
    for part in parts:
        began = datetime.fromtimestamp(now_s - part.age_s).astimezone()
        table.add_row(
            part.name,
            str(part.pid or ""),
            str(part.port or ""),
            part.version,
            _megabytes(part.resident_bytes),
            began.strftime("%H:%M:%S") if part.pid else "",
            part.problem or "healthy",
        )
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB" if size else ""
