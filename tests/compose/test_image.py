"""What the images are, and what is not in them."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Mapping
from importlib import metadata
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema_rs
import pytest
from packaging.requirements import Requirement

from deploy.image import contents
from deploy.image.sbom import RUNTIME
from tests.compose.conftest import Images
from tests.compose.engine import Engine
from tests.patience import patient
from tests.places import ROOT

pytestmark = [pytest.mark.compose, pytest.mark.timeout(patient(1800))]  # parts may have to be built
MB = 1_000_000
MB_MAX = {"services": 350, "sandbox": 400, "runtime": 120}
LOCKS = {
    "services": "requirements.lock",
    "sandbox": "requirements-sandbox.lock",
    "runtime": "requirements-runtime.lock",
}
USERS = {"services": "65532:65532", "sandbox": "65532:65532", "runtime": "2098:2015"}
PROGRAMS = {"services": {"python"}, "sandbox": {"python"}, "runtime": {"python", "cat"}}
OWNED = {
    "/run/millrace",
    "/var/lib/millrace",
    "/var/lib/millrace/bundles",
    "/var/lib/millrace/store",
}
UNCHECKED_HASH = 1
"""The flags of a .pyc that is compared with no source (PEP 552)."""
SHELLS = {"sh", "bash", "dash", "ash", "zsh", "busybox"}
TOOLS = {"pip", "pip3", "apt", "apt-get", "dpkg", "perl", "ldd", "wget", "curl"}
PYTHON = "/opt/millrace/bin/python"
BOOTSTRAP = f"/{contents.BOOTSTRAP}"
Files = Mapping[str, tuple[tarfile.TarInfo, bytes]]


@pytest.fixture(scope="module", params=["services", "sandbox", "runtime"])
def target(request: pytest.FixtureRequest) -> str:
    """Each target of the Dockerfile."""
    return str(request.param)


@pytest.fixture(scope="module")
def inspected(engine: Engine, images: Images, target: str) -> Any:
    """What the engine knows of an image."""
    (found,) = json.loads(engine.run("docker", "image", "inspect", images.names[target]))
    return found


@pytest.fixture(scope="module")
def root(
    engine: Engine, images: Images, target: str, tmp_path_factory: pytest.TempPathFactory
) -> Files:
    """Every file of an image, by its path, with its first 16 bytes."""
    tar = tmp_path_factory.mktemp("root") / "root.tar"
    container = engine.run("docker", "create", images.names[target]).strip()
    engine.run("docker", "export", "--output", str(tar), container)
    engine.run("docker", "rm", container)
    found = {}
    with tarfile.open(tar) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            found[f"/{member.name}"] = (member, file.read(16) if file is not None else b"")
    tar.unlink()
    return found


def test_an_image_is_small(inspected: Any, target: str) -> None:
    assert inspected["Size"] <= MB_MAX[target] * MB


def test_an_image_runs_a_module_as_a_user_without_rights(inspected: Any, target: str) -> None:
    """That of a PE has no entry point: the argument of the container is the program."""
    config = inspected["Config"]
    assert config["User"] == USERS[target]
    if target == "runtime":
        assert (config["Entrypoint"], config["Cmd"]) == (None, [BOOTSTRAP])
    else:
        assert config["Entrypoint"] == [PYTHON, "-m"]


def test_an_image_names_its_version_and_its_commit(inspected: Any) -> None:
    labels = inspected["Config"]["Labels"]
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert labels["org.opencontainers.image.revision"].startswith(head.stdout.strip())
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{labels["org.opencontainers.image.version"]}"' in pyproject


def test_an_image_has_no_shell_and_no_tool(root: Files, target: str) -> None:
    names = {PurePosixPath(path).name for path, (member, _) in root.items() if not member.isdir()}
    assert names & (SHELLS | TOOLS) == set()
    executable = [
        path
        for path, (member, head) in root.items()
        if head.startswith(b"\x7fELF") and member.mode & 0o111 and ".so" not in path
    ]
    found = {re.sub(r"\d.*", "", PurePosixPath(path).name) for path in executable}
    assert found == PROGRAMS[target]


def test_nothing_in_an_image_gives_rights_or_can_be_replaced_by_its_user(
    root: Files, target: str
) -> None:
    assert [p for p, (member, _) in root.items() if member.mode & 0o6000 and member.isfile()] == []
    own = {path for path, (member, _) in root.items() if member.uid or member.gid}
    assert own == (set() if target == "runtime" else OWNED)


def test_every_module_is_compiled_and_never_compared_with_its_source(
    root: Files, target: str
) -> None:
    sources = [path for path in root if path.endswith(".py")]
    assert len(sources) > (600 if target == "runtime" else 1_000)
    for path in sources:
        source = PurePosixPath(path)
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-311.pyc"
        _, head = root[str(compiled)]
        assert int.from_bytes(head[4:8], "little") == UNCHECKED_HASH, compiled


def test_nothing_can_be_written(engine: Engine, images: Images, target: str) -> None:
    program = "import os\nfor at in ('/', '/opt/millrace', '/var/lib', '/tmp'):\n"
    program += " try: open(f'{at}/x', 'w')\n except OSError as e: print(e.errno, os.getuid())\n"
    run = ("docker", "run", "--rm", "--read-only", "--network", "none", "--entrypoint", PYTHON)
    printed = engine.run(*run, images.names[target], "-c", program)
    user, _, _ = USERS[target].partition(":")
    assert printed.splitlines() == [f"30 {user}"] * 4  # EROFS


def test_everything_that_is_ours_can_be_imported_and_hosts_can_be_searched(
    engine: Engine, images: Images, target: str
) -> None:
    """What the Dockerfile leaves out of the libraries is not missed."""
    if target == "runtime":
        pytest.skip("test_runtime_image.py imports what that image has")
    run = ("docker", "run", "--rm", "--read-only", "--network", "none", "--entrypoint", PYTHON)
    program = (Path(__file__).parent / "importing.py").read_text(encoding="utf-8")
    printed = engine.run(*run, images.names[target], "-c", program)
    found = json.loads(printed)
    assert found["searched"] is True
    assert found["signed"] is True
    assert found["has_sandbox"] is (target == "sandbox")
    assert found["modules"] > 400
    assert found["missing"] == {}


# --------------------------------------------------------------------------- the SBOM


def locked(file: str) -> set[str]:
    """Package URLs of what a lock file has for this system."""
    lines = re.findall(r"^(\S+==[^\\\n]+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    needed = [each for each in map(Requirement, lines) if not each.marker or each.marker.evaluate()]
    return {
        f"pkg:pypi/{re.sub(r'[-_.]+', '-', each.name).lower()}@{str(each.specifier)[2:]}"
        for each in needed
    }


def test_an_sbom_lists_exactly_the_locked_packages(images: Images, target: str) -> None:
    components = json.loads(images.sbom(target))["components"]
    listed = {each["purl"] for each in components if each["purl"].startswith("pkg:pypi/")}
    # Built from the same tree; an image is of one distribution, and has the others.
    own = f"pkg:pypi/{RUNTIME}@{metadata.version(RUNTIME)}"
    ours = set() if target == "runtime" else {own}
    assert listed == locked(LOCKS[target]) | ours


def test_an_sbom_lists_the_packages_of_the_system_too(images: Images, target: str) -> None:
    components = json.loads(images.sbom(target))["components"]
    assert {"python", "libc6", "libssl3"} <= {each["name"] for each in components}


def test_an_sbom_is_valid_cyclonedx(images: Images, target: str) -> None:
    schemas = files("cyclonedx.schema") / "_res"
    texts = {
        name: json.loads((schemas / f"{name}.SNAPSHOT.schema.json").read_text(encoding="utf-8"))
        for name in ("bom-1.6", "spdx", "jsf-0.82")
    }
    base = "http://cyclonedx.org/schema/"
    registry = jsonschema_rs.Registry(
        [(f"{base}{name}.SNAPSHOT.schema.json", text) for name, text in texts.items()]
    )
    validator = jsonschema_rs.validator_for(texts["bom-1.6"], registry=registry)
    validator.validate(json.loads(images.sbom(target)))
