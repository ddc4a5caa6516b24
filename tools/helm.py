"""Helm, for the tests of the chart and for the manifests that are rendered from it.

It has a module of its own below `pinned/`, since its libraries are of other versions than those of
the pair, and a folder of its own in the cache. `millrace install` does without it.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

from cli.failing import Failure
from cli.showing import answer
from tools.real.building import cache_folder, check_go, go_environment, run_client
from tools.real.pins import PINNED, digest_of
from tools.real.progress import Progress
from tools.real.state import locked

HELM = PINNED / "helm"
FILES = ("go.mod", "go.sum")


async def helm_of(progress: Progress) -> Path:
    """The Helm of these pins, built now if it was not. Raises Misused, Failure."""
    folder = _folder()
    if not folder.is_dir():
        async with locked(folder, progress.say):
            if not folder.is_dir():  # somebody else may have built it while we waited
                await _build(folder, progress)
    return folder / "helm"


def _folder() -> Path:
    return (
        cache_folder() / f"helm-{digest_of({name: (HELM / name).read_bytes() for name in FILES})}"
    )


async def _build(folder: Path, progress: Progress) -> None:
    wanted = re.search(r"^go (\S+)$", (HELM / "go.mod").read_text(), re.MULTILINE)
    assert wanted is not None
    await check_go(wanted[1], "Helm")
    draft = folder.with_name(f"{folder.name}.building")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        with progress.step("Helm: build", total=None):
            command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"]
            environment, ignored = go_environment(), lambda _line: None
            await run_client(
                [*command, "-o", str(draft), "tool"], environment, ignored, folder=HELM
            )
        if not (draft / "helm").is_file():
            raise Failure("`go build` made no helm: tools/real/pinned/helm/go.mod lacks the tool")
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


async def _say() -> None:
    with Progress() as progress:
        helm = await helm_of(progress)
    answer(helm)


if __name__ == "__main__":
    asyncio.run(_say())
