"""`make test-node`: builds what a real node needs, and runs the tests marked `node`.

They bring pairs of their own up. Where root, packages or kernel features are missing, the tests are
left out, with a sentence that says what; in CI (CI=true) that is a failure.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cli.failing import Failure, Misused
from cli.showing import print_lines
from tests.node.grounds import (
    KAFKA_IMAGE_SETTING,
    RUNTIME_IMAGE_SETTING,
    SERVICES_IMAGE_SETTING,
)
from tests.node.images import Images, images
from tests.places import ROOT
from tools.helm import helm_of
from tools.real.building import build_of
from tools.real.node.requiring import checked_containerd
from tools.real.node_building import node_build_of
from tools.real.pins import read_pins
from tools.real.progress import Progress

# In this order, on one pair: the last one kills it.
TESTS = (
    "tests/node/test_installation.py",
    "tests/node/test_flowing.py",
    # The one profile that needs everything that the others need; `ARGS` names the file for all.
    "tests/node/test_profiles.py::"
    "test_the_profile_secured_runs_a_job_with_the_rights_that_the_gate_grants",
    "tests/node/test_leaving.py",
)
PROFILES = "tests/node/test_profiles.py"
ALL = "--all"
"""All profiles, which `make everything` plays."""
IN_CI = os.environ.get("CI") == "true"


async def prepared(folder: Path) -> Images:
    """Everything that is built: the pair, the node, Helm, the images. Raises Misused, Failure."""
    await checked_containerd()
    pins = read_pins()
    with Progress() as progress:
        await build_of(pins, progress)
        await node_build_of(pins, progress)
        await helm_of(progress)
    # Kafka's image asks for the jars of the pair, and shows the progress of its own.
    return await asyncio.to_thread(images, folder)


def run_tests(words: Sequence[str], built: Images) -> int:
    """Run pytest; its exit code."""
    environment = {
        **os.environ,
        SERVICES_IMAGE_SETTING: str(built.services),
        RUNTIME_IMAGE_SETTING: str(built.runtime),
        KAFKA_IMAGE_SETTING: str(built.kafka),
    }
    command = [sys.executable, "-m", "pytest", "-n", "0", "-m", "node", "-p", "no:randomly"]
    command += ["-rR", *files_of(words), *(word for word in words if word != ALL)]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def files_of(words: Sequence[str]) -> Sequence[str]:
    """What is played besides the words: nothing where they name files."""
    if any(word.startswith("tests/") for word in words):
        return ()
    return [PROFILES if ALL in words and each.startswith(PROFILES) else each for each in TESTS]


def main() -> int:
    """Run to an exit code."""
    with tempfile.TemporaryDirectory(prefix="millrace-test-node-") as folder:
        try:
            built = asyncio.run(prepared(Path(folder)))
        except Misused as missing:
            print_lines(f"make test-node: {missing}")
            if IN_CI:
                return missing.exit_code
            print_lines("Left out.")
            return 0
        except Failure as failure:
            print_lines(f"make test-node: {failure}")
            return failure.exit_code
        return run_tests(sys.argv[1:], built)


if __name__ == "__main__":
    sys.exit(main())
