"""The runtime of the node: whether it answers, and the images that it gets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from cli.failing import Failure
from cli.private import private_log
from tools.real.node.namespaces import NODE, entering
from tools.real.node.parts import CONTAINERD, ENVIRONMENT, SOCKET, images_command
from tools.real.state import PairFolder
from tools.real.together import together

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
    """Import images that `docker save` wrote, all at once. Raises Failure."""
    await together(*(_import_image(folder, archive) for archive in archives))


async def _import_image(folder: PairFolder, archive: Path) -> None:
    with archive.open("rb") as content:
        code = await _ctr(folder, ("import", "-"), content)
    if code:
        raise Failure(
            f"{archive} could not be imported into the real node; is it an image that "
            "`docker save` wrote? The end of containerd's log:",
            *folder.log_end(CONTAINERD),
        )


async def tag_image(folder: PairFolder, image: str, other: str) -> None:
    """Give an image of the node another name too. Raises Failure."""
    if await _ctr(folder, ("tag", "--force", image, other), None):
        raise Failure(f"the real node has no image {image}:", *folder.log_end(CONTAINERD))


async def _ctr(folder: PairFolder, words: Sequence[str], content: IO[bytes] | None) -> int:
    """Run `ctr images` in the node; its exit code. Its output is in containerd's log."""
    first = folder.running(NODE)
    if first is None:
        raise Failure("there is no real node with images")
    with private_log(folder.log(CONTAINERD)) as log:
        process = await asyncio.create_subprocess_exec(
            *entering(first),
            *images_command(*words),
            stdin=content or asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=ENVIRONMENT,
        )
        try:
            async with asyncio.timeout(IMPORT_TIMEOUT_S):
                return await process.wait()
        except TimeoutError:
            return -1
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
