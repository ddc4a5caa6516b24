"""A wheel of this tree, installed into an empty environment, runs in an empty folder.

Needs a package index, or a cache of one: `make test-wheel` runs it, `make test` does not.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES
from tests.places import ROOT

pytestmark = pytest.mark.wheel
TOP_LEVEL_NAMES = {*PACKAGES, "examples"} - {"millrace", "tools"}
"""README.md documents them; `millrace` is in the distribution `millrace-streams`, of authors."""


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; it sees nothing of this tree."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MILLRACE"))}
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the control plane, built of what git knows, beside that of authors."""
    tree, built = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("built")
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in listed.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(
        *pip,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        built,
        tree,
        tree / "millrace",
        cwd=built,
    )
    left = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert left <= set(listed.splitlines()), "what a build leaves would be in the next wheel"
    (found,) = built.glob("millrace_control_plane-*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel and its extra `sandbox`."""
    folder = tmp_path_factory.mktemp("environment")
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^[\w.-]+==[^\\\n]+", lock, re.MULTILINE)  # without the hashes
    assert len(pins) > 40
    (folder / "pins").write_text("\n".join(pins))
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / "bin"
    uv = (Path(sys.executable).with_name("uv"), "pip", "install", "--python", programs / "python")
    found = ("--find-links", wheel.parent, "-c", folder / "pins")
    run(*uv, "--quiet", *found, f"{wheel}[sandbox]", cwd=folder)
    return programs


@pytest.fixture
def up(programs: Path, tmp_path: Path) -> Iterator[Path]:
    """A running `millrace up` in an empty folder; its kubeconfig."""
    kubeconfig = tmp_path / "kubeconfig"
    process = subprocess.Popen(
        [str(programs / "millrace"), "up", "--kubeconfig", str(kubeconfig)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if line.strip() == "ready":
            break
    else:
        pytest.fail("".join(printed))
    yield kubeconfig
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0


def test_the_wheel_has_the_documented_top_level_names_and_no_tests(wheel: Path) -> None:
    names = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == TOP_LEVEL_NAMES


def test_what_authors_import_is_alone_in_its_wheel_and_needs_one_library(
    wheel: Path, tmp_path: Path
) -> None:
    (built,) = wheel.parent.glob("millrace_streams-*.whl")
    names = {name.split("/")[0] for name in zipfile.ZipFile(built).namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == {"millrace"}
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", built, cwd=tmp_path)
    shutil.copy(ROOT / "examples" / "words" / "app.py", tmp_path)
    (tmp_path / "input.txt").write_text("to be or not to be")
    run(python, "app.py", cwd=tmp_path)
    assert '{"word":"be","count":2}' in (tmp_path / "counts.jsonl").read_text().splitlines()
    assert run(python, "-c", "from app import app; print(app.bundle())", cwd=tmp_path).strip()


def test_the_command_knows_its_version(programs: Path, tmp_path: Path) -> None:
    assert run(programs / "millrace", "--version", cwd=tmp_path).startswith("millrace ")


def test_what_only_a_checkout_can_ends_with_what_to_do(programs: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [programs / "millrace", "real", "status"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "needs a checkout" in ended.stderr


def test_an_application_is_planned_without_a_cluster(programs: Path, tmp_path: Path) -> None:
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    shutil.copy(adl, tmp_path / "app.adl")
    planned = run(programs / "millrace", "plan", "app.adl", "--fusion", "legacy", cwd=tmp_path)
    assert '"pes"' in planned


def test_the_demo_submits_and_resizes(programs: Path, tmp_path: Path) -> None:
    shown = run(programs / "millrace", "demo", cwd=tmp_path)
    assert "resized 3 → 5 in" in shown
    assert "each counted once: the resize lost 0 tuples" in shown


def test_up_runs_a_job(programs: Path, up: Path, tmp_path: Path) -> None:
    millrace = programs / "millrace"
    site = run(
        programs / "python", "-c", "import examples; print(*examples.__path__)", cwd=tmp_path
    )
    bundle = run(
        millrace, "bundle", "pack", Path(site.strip()) / "wordcount", "-o", "w.sab", cwd=tmp_path
    )
    assert bundle
    run(millrace, "submit", "w.sab", "--name", "w", "--kubeconfig", up, cwd=tmp_path)
    assert "Submitted" in run(millrace, "get", "w", "--kubeconfig", up, cwd=tmp_path)
