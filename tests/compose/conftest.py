"""The engine, and the images built in a fresh clone; both once for all tests here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.image.building import TARGETS, sbom_name
from tests.compose.engine import Engine, lacks, running_engine
from tests.compose.parts import JAVA_HOME, compose_plugin, kafka_root, python_base
from tests.places import ROOT

TAG = "tested"
KEPT = "localhost/millrace-layers"
"""Tags of build stages, so that the layers which only the lock files change are kept."""


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a clone: `tree` is the clone, `names` has one for each target."""

    tree: Path
    names: dict[str, str]
    kafka: str

    def sbom(self, target: str) -> str:
        """The text of the SBOM of a target."""
        return (self.tree / "dist" / sbom_name(target)).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A Docker engine of our own."""
    lacking = lacks()
    if lacking and os.environ.get("CI") == "true":
        pytest.fail(f"CI has to have an engine: {lacking}")
    if lacking:
        pytest.skip(f"no Docker engine can run here: {lacking}")
    with running_engine(compose_plugin()) as found:
        yield found


@pytest.fixture(scope="session")
def images(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Images:
    """The images, built from a clone that has what git knows, and nothing else."""
    tree = tmp_path_factory.mktemp("clone") / "millrace"
    clone(tree)
    bases = {
        "python": imported(engine, python_base(), "ENV PATH=/usr/local/bin:/usr/bin:/bin"),
        "kafka": imported(
            engine, kafka_root(), f"ENV PATH={JAVA_HOME}/bin:/usr/bin:/bin", "USER 1000:1000"
        ),
    }
    words = ("-m", "deploy.image.building", "--tag", TAG, "--base", bases["python"])
    engine.run(sys.executable, *words, "--network", "host", cwd=tree, PYTHONPATH=str(tree))
    dockerfile = tree / "deploy" / "image" / "Dockerfile"
    for stage in ("libraries", "sandbox-libraries", "runtime-libraries"):
        options = ("--target", stage, "--tag", f"{KEPT}:{stage}", "--network", "host")
        argument = ("--build-arg", f"BASE={bases['python']}")
        engine.run("docker", "build", "--file", str(dockerfile), *argument, *options, ".", cwd=tree)
    names = {target: f"localhost/{name}:{TAG}" for target, name in TARGETS.items()}
    return Images(tree, names, bases["kafka"])


def clone(tree: Path) -> None:
    """A clone of this checkout, with its files as they are now."""
    run = {"check": True, "capture_output": True, "text": True}
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tree)], **run)  # type: ignore[call-overload]
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, **run)  # type: ignore[call-overload]
    for name in listed.stdout.splitlines():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, tree / name)
        else:
            (tree / name).unlink(missing_ok=True)


def imported(engine: Engine, tar: Path, *changes: str) -> str:
    """The name of the image that has the content of a tar, whose name has its digest."""
    name, _, digest = tar.name.rpartition("-")
    image = f"localhost/{name}:{digest}"
    if not engine.run("docker", "images", "--quiet", image):
        words = [word for change in changes for word in ("--change", change)]
        engine.run("docker", "import", *words, str(tar), image)
    return image
