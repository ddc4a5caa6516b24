"""What the tests of images need and no registry has to give, each made once and then kept.

A file in ~/.cache/millrace/images has the digest of its recipe in its name:

* a base with a shell, Python and pip, of Debian's packages, in place of `python:3.11-slim`;
* an image of Apache Kafka: Debian's Java and the jars of the real pair, in place of `apache/kafka`;
* `docker compose`, built from its Go module.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from tools.real.building import build_of, cache_folder
from tools.real.pins import DIGEST_CHARS, read_pins
from tools.real.progress import Progress

SUITE = "bookworm"
PYTHON_PACKAGES = "python3.11,python3.11-venv,ca-certificates,libstdc++6"
PYTHON_OPTIONS = (
    "--variant=essential",
    *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("man", "doc", "locale", "info")),
    f"--include={PYTHON_PACKAGES}",
    '--customize-hook=ln -sf /usr/bin/python3.11 "$1/usr/local/bin/python3"',
    # That of the machine: a network may have an authority of its own.
    '--customize-hook=cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"',
    '--customize-hook=rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*',
)
JAVA_HOME = "/usr/lib/jvm/java-17-openjdk-amd64"
KAFKA_HOOK = """#!/bin/sh
set -e
cd "$1"
mkdir -p tmp var/lib/kafka/data opt/kafka/libs proc sys dev
chmod 1777 tmp
printf 'root:x:0:0::/root:/nologin\\nkafka:x:1000:1000::/tmp:/nologin\\n' > etc/passwd
printf 'root:x:0:\\nkafka:x:1000:\\n' > etc/group
chown 1000:1000 var/lib/kafka/data
cp "$KAFKA_LIBS"/*.jar opt/kafka/libs/
rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/X11 usr/share/icons usr/share/mime \\
  usr/share/perl* usr/lib/*/perl* usr/lib/*/gconv var/lib/dpkg var/lib/apt var/cache/apt
"""
"""The variant `extract` runs no script of a package and no customize hook."""
COMPOSE = ("github.com/docker/compose/v5", "v5.6.0")
COMPOSE_SUM = "h1:WCDEV0D1CtZLyPdklHdEjFBnCStosBYkfsD3tvM/ITU="
_LOW = ("nice", "-n", "10")


def kept(name: str, recipe: str, make: Callable[[Path], None]) -> Path:
    """The file of a recipe; made now unless it is there. One of an older recipe is removed."""
    folder = cache_folder() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{hashlib.sha256(recipe.encode()).hexdigest()[:DIGEST_CHARS]}"
    with (folder / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            draft = folder / f".{name}.draft"
            make(draft)
            for older in folder.glob(f"{name}-*"):
                older.unlink()
            draft.rename(file)
    return file


def python_base() -> Path:
    """The tar of a root for the build stages."""

    def make(draft: Path) -> None:
        subprocess.run(
            [*_LOW, "mmdebstrap", "--quiet", "--format=tar", *PYTHON_OPTIONS, SUITE, str(draft)],
            check=True,
        )

    return kept("python-base", repr((SUITE, PYTHON_OPTIONS)), make)


def kafka_root() -> Path:
    """The tar of a root with Java and Kafka's jars."""
    pins = read_pins()

    def make(draft: Path) -> None:
        with Progress() as progress:
            jars = asyncio.run(build_of(pins, progress)).jars
        with tempfile.TemporaryDirectory() as folder:
            hook = Path(folder) / "hook"
            hook.write_text(KAFKA_HOOK)
            hook.chmod(0o755)
            options = [
                "--variant=extract",
                "--include=openjdk-17-jre-headless,libstdc++6",
                f"--extract-hook={hook}",
            ]
            subprocess.run(
                [*_LOW, "mmdebstrap", "--quiet", "--format=tar", *options, SUITE, str(draft)],
                check=True,
                env=os.environ | {"KAFKA_LIBS": str(jars)},
            )

    return kept("kafka", repr((SUITE, KAFKA_HOOK, pins.digest)), make)


def compose_plugin() -> Path:
    """The program `docker-compose`, of its Go module. Raises ValueError for another content."""
    module, version = COMPOSE

    def make(draft: Path) -> None:
        got = subprocess.run(
            ["go", "mod", "download", "-json", f"{module}@{version}"],
            check=True,
            capture_output=True,
        )
        found = json.loads(got.stdout)
        if found["Sum"] != COMPOSE_SUM:
            raise ValueError(f"{module}@{version} is {found['Sum']}, and not {COMPOSE_SUM}")
        with tempfile.TemporaryDirectory() as folder:
            # Its go.mod has `exclude` lines, which forbid `go install`.
            source = Path(shutil.copytree(found["Dir"], Path(folder) / "source"))
            subprocess.run(["chmod", "-R", "u+w", str(source)], check=True)
            flags = f"-s -w -X {module}/internal.Version={version}"
            build = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags]
            subprocess.run(
                [*_LOW, *build, "-o", str(draft), "./cmd"],
                check=True,
                cwd=source,
                env=os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"},
            )

    return kept("docker-compose", repr((COMPOSE, COMPOSE_SUM)), make)
