"""`millrace up` as a child process of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.watching import System
from tests.places import ROOT

STOP_S_MAX = 60.0


@contextmanager
def up(
    folder: Path, *, real: bool = False, settings: Mapping[str, str] | None = None
) -> Iterator[System]:
    """A system that is ready; on the real pair with topics of its own, so that none is old."""
    kubeconfig, bundles, state = folder / "kubeconfig", folder / "bundles", folder / "state"
    command = [sys.executable, "-m", "cli", "up", "--kubeconfig", str(kubeconfig)]
    command += ["--bundles", str(bundles), "--state", str(state)]
    command += ["--real"] if real else ["--nodes", "4"]
    prefix = f"t{uuid.uuid4().hex[:12]}"
    environment = {**os.environ, "MILLRACE_TOPIC_PREFIX": prefix, **(settings or {})}
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, cwd=ROOT, env=environment
        )
        said = process.stdout
        assert said is not None
        try:
            first = said.readline()
            assert first == b"ready\n", (folder / "up.log").read_text()
            yield System(kubeconfig, bundles, state, process, prefix)
        finally:
            process.terminate()
            code = process.wait(timeout=STOP_S_MAX)
            said.close()
    assert code == 0, (folder / "up.log").read_text()
