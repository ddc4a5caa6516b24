"""Builds the images and writes the SBOM of each beside it: `make image`.

    python -m deploy.image.building [--tag dev] [--base IMAGE] [--target services sandbox]

makes localhost/millrace:TAG, localhost/millrace-sandbox:TAG and localhost/millrace/runtime:TAG with
`docker`, and of each an SBOM: dist/millrace.cdx.json, dist/millrace-sandbox.cdx.json and
dist/millrace-runtime.cdx.json. Version and commit get into the labels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.image import inventory
from deploy.image.contents import PYTHON
from deploy.image.sbom import sbom
from services.chassis.process.release import release

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = "deploy/image/Dockerfile"
REGISTRY = "localhost"
TARGETS: Mapping[str, str] = {
    "services": "millrace",
    "sandbox": "millrace-sandbox",
    "runtime": "millrace/runtime",
}
"""The targets of the Dockerfile, and the name of the image of each."""
INVENTORY = Path(inventory.__file__)
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Build:
    """What is built: `arguments` are those of the build stages that are not the default."""

    tag: str
    version: str
    revision: str
    arguments: Mapping[str, str]

    def image(self, target: str) -> str:
        """The full name of the image of a target."""
        return f"{REGISTRY}/{TARGETS[target]}:{self.tag}"

    def command(self, target: str, *options: str) -> list[str]:
        """The command that builds a target from the root of the project."""
        given = {"VERSION": self.version, "REVISION": self.revision, **self.arguments}
        words = [f"--build-arg={name}={value}" for name, value in given.items()]
        ends = ["--tag", self.image(target), *options, "."]
        return ["docker", "build", "--file", DOCKERFILE, "--target", target, *words, *ends]


def revision_of(root: Path = ROOT) -> str:
    """The commit of a checkout, marked if files differ from it; `unknown` without git."""
    command = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    try:
        ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return UNKNOWN
    return ended.stdout.strip() or UNKNOWN


def main(arguments: Sequence[str] | None = None) -> int:
    """Build; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tag", default="dev", help="tag of the images (default: dev)")
    parser.add_argument("--base", help="a Debian with Python 3.11 (default: python:3.11-slim)")
    parser.add_argument("--network", help="network of the build stages, as of `docker build`")
    targets = list(TARGETS)
    parser.add_argument("--target", nargs="+", choices=targets, default=targets)
    options = parser.parse_args(arguments)
    build = Build(
        options.tag, release(), revision_of(), {"BASE": options.base} if options.base else {}
    )
    network = ["--network", options.network] if options.network else []
    for target in options.target:
        if code := subprocess.run(
            build.command(target, *network), cwd=ROOT, check=False
        ).returncode:
            return code
        written = write_sbom(build, target, ROOT / "dist")
        sys.stdout.write(f"{build.image(target)}, and its SBOM {written.relative_to(ROOT)}\n")
    return 0


def sbom_name(target: str) -> str:
    """The name of the file that has the SBOM of a target."""
    return f"{TARGETS[target].replace('/', '-')}.cdx.json"


def write_sbom(build: Build, target: str, folder: Path) -> Path:
    """Ask an image what it holds, and write its SBOM; returns the file."""
    run = ["docker", "run", "--rm", "--network=none", "--read-only", f"--entrypoint={PYTHON}"]
    program = INVENTORY.read_text(encoding="utf-8")  # the image of a PE has none of our modules
    command = [*run, build.image(target), "-c", program]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    folder.mkdir(exist_ok=True)
    file = folder / sbom_name(target)
    text = sbom(json.loads(ended.stdout), image=TARGETS[target], revision=build.revision)
    file.write_text(text, encoding="utf-8")
    return file


if __name__ == "__main__":
    sys.exit(main())
