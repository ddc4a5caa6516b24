"""The runtime of the node: whether it answers, and the images that it gets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from cli.failing import Failure
from cli.private import private_log
from cli.real.node.namespaces import NODE, entering
from cli.real.node.parts import CONTAINERD, ENVIRONMENT, SOCKET, importing_command
from cli.real.state import PairFolder

IMPORT_TIMEOUT_S = 300.0


async def containerd_problem(folder: PairFolder) -> str:
    """Why containerd takes no requests. Its socket is in the node's own /run."""
    first = folder.running(NODE)
    if first is None:
        return "the node does not run"
    try:
        _, writer = await asyncio.open_unix_connection(f"/proc/{first.pid}/root{SOCKET}")
    except OSError as problem:
        return f"does not answer: {problem.strerror}"
    writer.close()
    return ""


async def import_images(folder: PairFolder, archives: Iterable[Path]) -> None:
    """Import images that `docker save` wrote. Raises Failure."""
    first = folder.running(NODE)
    if first is None:
        raise Failure("there is no real node to import images into")
    for archive in archives:
        with archive.open("rb") as content, private_log(folder.log(CONTAINERD)) as log:
            process = await asyncio.create_subprocess_exec(
                *entering(first),
                *importing_command("-"),
                stdin=content,
                stdout=log,
                stderr=log,
                env=ENVIRONMENT,
            )
            try:
                async with asyncio.timeout(IMPORT_TIMEOUT_S):
                    code = await process.wait()
            except TimeoutError:
                code = -1
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
        if code:
            raise Failure(
                f"{archive} could not be imported into the real node; is it an image that "
                "`docker save` wrote? The end of containerd's log:",
                *folder.log_end(CONTAINERD),
            )
