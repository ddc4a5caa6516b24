"""The images that the tests on a real node need, made without a registry and without an engine.

Ours are made by `deploy/image/Dockerfile` (buildah, which keeps its layers), and Kafka's of a root
directory. What both begin with is that of `tests/compose/parts.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cli.failing import Failure, Misused
from tests.compose.parts import JAVA_HOME, kafka_root, kept, python_base
from tests.node.installing import KAFKA_IMAGE, REPOSITORY, RUNTIME_IMAGE, TAGS
from tests.places import ROOT
from tools.real.building import cache_folder

DOCKERFILE = ROOT / "deploy" / "image" / "Dockerfile"
BASE = "localhost/python-base"
PROGRAMS = ("buildah", "mmdebstrap")
OUTPUT_LINES = 20


@dataclass(frozen=True, slots=True)
class Images:
    """Files that `docker save` would write."""

    services: Path
    runtime: Path
    kafka: Path


def images(folder: Path) -> Images:
    """Build all into a folder. Raises Misused, Failure."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        raise Misused(
            "the images for a real node need packages that are missing: apt-get install -y "
            f"--no-install-recommends {' '.join(missing)}"
        )
    services = _built("services", f"{REPOSITORY}:{TAGS[0]}", folder)
    return Images(services, _built("runtime", RUNTIME_IMAGE, folder), _kafka_image())


def _built(target: str, name: str, folder: Path) -> Path:
    """The file of a target of our Dockerfile."""
    root = python_base()
    base = f"{BASE}:{root.name}"
    _from_root(root, base, "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    # Its build stages fetch wheels: they use the network of the machine.
    options = ["--layers", "--network=host", f"--target={target}", f"--build-arg=BASE={base}"]
    options += [f"--file={DOCKERFILE}", f"--tag={name}"]
    _buildah("bud", "--isolation=chroot", *options, str(ROOT))
    return _saved(name, folder / f"{target}.tar")


def _kafka_image() -> Path:
    """Nothing of a checkout is in it, so the file is kept."""
    root = kafka_root()

    def make(draft: Path) -> None:
        _from_root(root, KAFKA_IMAGE, f"{JAVA_HOME}/bin:/usr/bin:/bin")
        _saved(KAFKA_IMAGE, draft)

    return kept("node-kafka", repr((root.name, KAFKA_IMAGE)), make)


def _saved(name: str, archive: Path) -> Path:
    archive.unlink(missing_ok=True)
    _buildah("push", name, f"docker-archive:{archive}:{name}")
    return archive


def _from_root(root: Path, name: str, path: str) -> None:
    """An image of one layer, the tar of a root directory; one that is there is kept."""
    label = f"millrace.root={root.name}"
    known = f"--filter=label={label}"
    if _buildah("images", "--quiet", f"--filter=reference={name}", known):
        return
    with tempfile.TemporaryDirectory() as context:
        shutil.copy(root, Path(context) / "root.tar")
        lines = ["FROM scratch", "ADD root.tar /", f"ENV PATH={path}", f"LABEL {label}"]
        (Path(context) / "Dockerfile").write_text("\n".join(lines) + "\n")
        _buildah("bud", "--isolation=chroot", f"--tag={name}", context)


def _buildah(*words: str) -> str:
    """What buildah prints, with a store in our own cache. Raises Failure."""
    store = cache_folder() / "buildah"
    where = [f"--root={store / 'root'}", f"--runroot={store / 'run'}", "--storage-driver=overlay"]
    command = ["buildah", *where, *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        lines = (ended.stdout + ended.stderr).splitlines()[-OUTPUT_LINES:]
        raise Failure(f"`buildah {words[0]} …` ended with code {ended.returncode}:", *lines)
    return ended.stdout.strip()
