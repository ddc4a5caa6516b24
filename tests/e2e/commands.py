"""Runs commands of `millrace` in processes that begin with their imports done.

A command imports for a second or more, and tests run dozens. One process imports once and forks
for each: arguments, output, exit code and environment are those of `python -m cli`. What a start
itself does (Ctrl-C during imports) is tested where commands are started whole.

The module imports little: each of those processes imports it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shlex
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).parents[2]
IMPORTED = (
    *("cli.commands", "cli.job_commands", "cli.look_commands", "cli.history_commands"),
    *("cli.why_command", "cli.log_commands", "cli.system_commands", "cli.bundles"),
    *("cli.plan_command", "cli.replay_command", "services.chassis.process.log_lines"),
    *("services.chassis.process.release", "cli.showing", "cli.history_logs", "cli.stores"),
    *("cli.connecting", "cli.live", "aiokafka"),
)
"""What commands import when they are named; what is not listed here, each imports for itself."""
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([*IMPORTED, __name__])


async def run_command(words: str, kubeconfig: Path) -> tuple[int, str]:
    """The exit code of a command, and what it wrote to both of its outputs."""
    arguments = [*shlex.split(words), "--kubeconfig", str(kubeconfig)]
    with tempfile.NamedTemporaryFile(prefix="millrace-command-") as output:
        process = _PROCESSES.Process(
            target=_run, args=(arguments, output.name, dict(os.environ)), daemon=True
        )
        process.start()
        try:
            await asyncio.to_thread(process.join)
        except asyncio.CancelledError:
            process.kill()  # its thread would wait on, and the end of the loop for the thread
            raise
        code = process.exitcode
        process.close()
        return code or 0, output.read().decode()


def _run(arguments: list[str], output: str, environment: dict[str, str]) -> None:
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(_ROOT)
    sys.argv = [str(_ROOT / "cli" / "__main__.py"), *arguments]
    from cli.__main__ import main

    main()
