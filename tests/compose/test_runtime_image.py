"""The image of a PE: it begins as pod-state-machine begins it, and has what a bundle may need."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from uuid import uuid4

import pytest

from contracts import runtime_image
from deploy.image.contents import BOOTSTRAP, PYTHON, RUNTIME
from services.pod_state_machine.core import pod_spec
from tests.compose.conftest import Images
from tests.compose.engine import Engine
from tests.compose.test_image import locked
from tests.patience import patient

pytestmark = [pytest.mark.compose, pytest.mark.timeout(patient(1800))]  # parts may have to be built
USER = f"{pod_spec.RUN_AS_USER}:{pod_spec.RUN_AS_GROUP}"
ENDED_S_MAX = patient(5.0)
IMPORTING = """
import importlib, json, pkgutil, sys
import millrace
names = [each.name for each in pkgutil.walk_packages(millrace.__path__, "millrace.")]
missing = {}
for name in names:
    if not name.endswith("__main__"):
        try:
            importlib.import_module(name)
        except ImportError as problem:
            missing[name] = str(problem)
LIBRARIES = "aiohttp aiokafka h11 uvloop prometheus_client packaging sqlite3 ssl"
for name in LIBRARIES.split():
    importlib.import_module(name)
print(json.dumps({"modules": len(names), "missing": missing}))
"""
LOADING = "import ctypes, sys\nfor name in sys.argv[1:]: ctypes.CDLL(name)\nprint('loaded')"
LISTING = """
import importlib.metadata, json, pathlib, sysconfig
owners = importlib.metadata.packages_distributions()
folder = pathlib.Path(sysconfig.get_path("purelib"))
entries = [each for each in folder.iterdir() if each.suffix != ".dist-info"]
names = {each.name.partition(".")[0] for each in entries if each.name != "__pycache__"}
print(json.dumps({"owned": sorted(set().union(*owners.values())),
                  "strange": sorted(name for name in names if name not in owners)}))
"""
WAITING = "import signal, sys\nsignal.signal(15, lambda *_: sys.exit(7))\nsignal.pause()"


def run(engine: Engine, images: Images, words: Sequence[str], *options: str) -> str:
    """What a container prints that runs as pod-state-machine runs it, under a read-only root."""
    hard = ("--read-only", "--network=none", "--cap-drop=ALL", f"--user={USER}")
    return engine.run(
        "docker", "run", "--rm", *hard, "--tmpfs=/tmp", *options, images.names["runtime"], *words
    )


def test_the_bootstrap_is_where_pods_start_it() -> None:
    assert f"/{BOOTSTRAP}" == runtime_image.BOOTSTRAP


def test_the_bootstrap_runs_the_runtime_without_a_process_between(
    engine: Engine, images: Images
) -> None:
    """Without the environment of a pod it ends, and says what is missing."""
    name = f"millrace-{uuid4().hex[:8]}"
    words = ("--read-only", "--network=none", "--tmpfs=/tmp", f"--user={USER}", f"--name={name}")
    try:
        engine.run(
            "docker", "run", *words, images.names["runtime"], runtime_image.BOOTSTRAP, check=False
        )
        (found,) = json.loads(engine.run("docker", "inspect", name))
        logged = engine.run("docker", "logs", name)
    finally:
        engine.run("docker", "rm", "--force", name)
    assert found["State"]["ExitCode"] not in (0, 126, 127), logged
    assert found["Path"] == runtime_image.BOOTSTRAP


def test_a_signal_reaches_python_as_the_first_process(engine: Engine, images: Images) -> None:
    name = f"millrace-{uuid4().hex[:8]}"
    words = ("--detach", "--read-only", "--network=none", f"--user={USER}", f"--name={name}")
    try:
        engine.run("docker", "run", *words, images.names["runtime"], PYTHON, "-c", WAITING)
        time.sleep(patient(1))  # no event says that the handler is set
        began_s = time.monotonic()
        engine.run("docker", "stop", f"--time={patient(20):.0f}", name)
        took_s = time.monotonic() - began_s
        (found,) = json.loads(engine.run("docker", "inspect", name))
    finally:
        engine.run("docker", "rm", "--force", name)
    assert (found["State"]["ExitCode"], took_s < ENDED_S_MAX) == (7, True)


def test_the_probe_of_a_pe_finds_cat(engine: Engine, images: Images) -> None:
    found = run(engine, images, ("cat", "/etc/passwd"))
    assert f"streams:x:{USER}:" in found


def test_every_module_of_millrace_can_be_imported(engine: Engine, images: Images) -> None:
    found = json.loads(run(engine, images, (PYTHON, "-c", IMPORTING)))
    assert found["missing"] == {}
    assert found["modules"] > 60


def test_wheels_of_a_bundle_find_the_libraries_of_the_system(
    engine: Engine, images: Images
) -> None:
    words = (PYTHON, "-c", LOADING, *sorted(RUNTIME.libraries))
    assert run(engine, images, words) == "loaded\n"


def test_packages_are_those_of_the_lock_file_and_no_file_is_of_anybody_else(
    engine: Engine, images: Images
) -> None:
    found = json.loads(run(engine, images, (PYTHON, "-c", LISTING)))
    assert found["strange"] == []
    normal = {re.sub(r"[-_.]+", "-", name).lower() for name in found["owned"]}
    wanted = {purl.partition("pypi/")[2].partition("@")[0] for purl in locked(LOCK)}
    assert normal == wanted | {"millrace-streams"}


LOCK = "requirements-runtime.lock"
