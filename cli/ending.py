"""How a command runs and ends: failures become sentences, signals become exit codes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import typer

from cli.connecting import Cluster, connected
from cli.failing import Failure
from cli.showing import print_failure


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
    kubeconfig: Path | None, work: Callable[[Cluster], Coroutine[Any, Any, None]]
) -> None:
    async def connected_work() -> None:
        async with connected(kubeconfig) as cluster:
            await work(cluster)

    run(connected_work)
