"""How a command runs and ends: failures become sentences, signals become exit codes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import typer

from cli.connecting import Cluster, connected
from cli.controlling import services_away
from cli.failing import CannotReach, Failure, NotBegun, TimedOut
from cli.kubeconfigs import UpInfo
from cli.showing import print_failure
from services.chassis.process.errors import Rejected, Transient


def run(work: Callable[[], Coroutine[Any, Any, int | None]]) -> None:
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


def run_with_cluster(
    kubeconfig: Path | None, namespace: str, work: Callable[[Cluster], Coroutine[Any, Any, None]]
) -> None:
    """Run a command that needs a cluster; a time-out names services that are known not to run.

    `namespace`: the one that an option names, or empty for that of the context.
    """

    async def connected_work() -> None:
        async with connected(kubeconfig, namespace) as cluster:
            try:
                await work(cluster)
            except Rejected as refused:
                raise Failure(f"the API server refuses it: {refused.message}") from None
            except Transient as away:
                raise CannotReach(f"the Kubernetes API does not answer any more: {away}") from None
            except TimedOut as late:
                lines = str(late).split("\n")
                below = await after_time_out(cluster.up, has_written=not isinstance(late, NotBegun))
                raise type(late)(*lines, *below) from None

    run(connected_work)


async def after_time_out(up: UpInfo | None, *, has_written: bool = True) -> list[str]:
    """Lines below a time-out: what may be the cause, and what becomes of the request."""
    stands = "The request stands: it is carried out without this command."
    lines = [stands if has_written else "Nothing was requested: try again."]
    if up is not None and up.state is not None and (away := await services_away(up.state)):
        start = f"`millrace service start NAME --state {up.state}` starts a stopped service."
        lines.insert(0, f"{away}. {start}")
    return lines
