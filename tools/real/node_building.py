"""Builds the programs of a real node once, as `tools/real/building.py` does those of every pair.

The kubelet and kube-proxy are of the control plane's own module; CoreDNS, with the plugins that we
use, and the pause program are of `pinned/node/`. These two become images.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tools.real import pins as pinned
from tools.real.building import build_programs, cache_folder, check_go, linker_flags
from tools.real.node.archives import IMAGES_FOLDER, write_image
from tools.real.node.parts import KUBE_PROXY, KUBELET
from tools.real.pins import Pins, node_digest
from tools.real.progress import Progress
from tools.real.state import locked

TOOLS = {
    KUBELET: "k8s.io/kubernetes/cmd/kubelet",
    KUBE_PROXY: "k8s.io/kubernetes/cmd/kube-proxy",
}
OWN = {name: f"millrace.dev/real/node/{name}" for name in ("dns", "pause")}


@dataclass(frozen=True, slots=True)
class NodeBuild:
    """A whole build of the node."""

    folder: Path

    @property
    def programs(self) -> Path:
        """The folder of the programs."""
        return self.folder / "bin"

    @property
    def images(self) -> list[Path]:
        """The images that every node has."""
        return sorted((self.folder / IMAGES_FOLDER).iterdir())


async def node_build_of(pins: Pins, progress: Progress) -> NodeBuild:
    """The build of the node's pins, made now if it does not exist. Raises Misused, Failure."""
    folder = cache_folder() / f"node-{node_digest()}"
    if not folder.is_dir():
        async with locked(folder, progress.say):
            if not folder.is_dir():  # somebody else may have built it while we waited
                await _build(folder, pins, progress)
    return NodeBuild(folder)


async def _build(folder: Path, pins: Pins, progress: Progress) -> None:
    await check_go(pins.versions["go"])
    draft = folder.with_name(f"{folder.name}.building")
    shutil.rmtree(draft, ignore_errors=True)
    programs, images = draft / "bin", draft / IMAGES_FOLDER
    for part in (programs, images):
        part.mkdir(parents=True)
    try:
        flags = linker_flags(pins.versions["kubernetes"])
        await build_programs(programs, TOOLS, flags, "kubelet, kube-proxy", progress)
        await build_programs(programs, OWN, "-s -w", "CoreDNS", progress, module=pinned.NODE)
        for name in OWN:
            write_image(images / f"{name}.tar", programs / name, name)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
