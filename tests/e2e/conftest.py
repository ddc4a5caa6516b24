"""A running `millrace up` for the tests of this folder: child processes, HTTP, kubectl if there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from loadtest.api import Api
from tests.e2e.watching import Cluster, System


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """`millrace up` on free ports until the end of the session."""
    folder = tmp_path_factory.mktemp("up")
    kubeconfig, bundles, state = folder / "kubeconfig", folder / "bundles", folder / "state"
    command = [sys.executable, "-m", "cli", "up", "--kubeconfig", str(kubeconfig)]
    command += ["--nodes", "4", "--bundles", str(bundles), "--state", str(state)]
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, cwd=Path(__file__).parents[2]
        )
        said = process.stdout
        assert said is not None
        try:
            first = said.readline()
            assert first == b"ready\n", (folder / "up.log").read_text()
            config = yaml.safe_load(kubeconfig.read_text())
            server = config["clusters"][0]["cluster"]["server"]
            yield System(server, kubeconfig, bundles, state, process)
        finally:
            process.terminate()
            code = process.wait(timeout=60)
            said.close()
    assert code == 0, (folder / "up.log").read_text()


@pytest.fixture
async def cluster(system: System) -> AsyncIterator[Cluster]:
    """A client of the running system, followed from here on."""
    async with Api(system.server) as api:
        yield Cluster(api, system)
