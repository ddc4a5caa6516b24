"""`millrace up` as a child process of the tests."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cli.layouts import sandbox_bus
from services.chassis.process.settings import KAFKA_SCHEME
from tests.e2e.watching import System
from tests.patience import patient
from tests.places import ROOT
from tools.real.pair import BROKERS_SETTING

READY_S_MAX = patient(110.0)
STOP_S_MAX = patient(60.0)
LOG_LINES_SHOWN = 15


@contextmanager
def up(
    folder: Path,
    *,
    real: bool = False,
    settings: Mapping[str, str] | None = None,
    root: Path = ROOT,
) -> Iterator[System]:
    """A system that is ready; on the real pair with topics of its own, so that none is old.

    `root` is the folder of the source that it runs.
    It is given the most careless umask: what others may not read must not depend on it.
    """
    kubeconfig, bundles, state = folder / "kubeconfig", folder / "bundles", folder / "state"
    command = [sys.executable, "-m", "cli", "up", "--kubeconfig", str(kubeconfig)]
    command += ["--bundles", str(bundles), "--create", "--state", str(state)]
    command += ["--real"] if real else ["--nodes", "4"]
    prefix = f"t{uuid.uuid4().hex[:12]}"
    environment = {**os.environ, "MILLRACE_TOPIC_PREFIX": prefix, **(settings or {})}
    with (folder / "up.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, cwd=root, env=environment, umask=0
        )
        try:
            first = first_line(process, READY_S_MAX)
            assert first == b"ready\n", f"`up` printed {first!r}:\n{logs_of(folder)}"
            log_url = f"{KAFKA_SCHEME}{os.environ[BROKERS_SETTING]}" if real else sandbox_bus(state)
            yield System(kubeconfig, bundles, state, process, log_url, prefix)
        finally:
            code = ended(process)
    assert code == 0, f"`up` ended with code {code}:\n{logs_of(folder)}"
    assert not kubeconfig.exists(), "`up` created the file, and left it with its context"


def first_line(process: subprocess.Popen[bytes], wait_s: float) -> bytes:
    """The first line that a child prints; what there is of it when it takes longer or ends."""
    assert process.stdout is not None
    output, end_s, line = process.stdout.fileno(), time.monotonic() + wait_s, b""
    while not line.endswith(b"\n"):
        readable, _, _ = select.select([output], [], [], max(0.0, end_s - time.monotonic()))
        more = os.read(output, 1) if readable else b""
        if not more:
            break
        line += more
    return line


def logs_of(folder: Path) -> str:
    """What `up` and its children said last, for the message of a failure."""
    shown = []
    for log in [folder / "up.log", *sorted((folder / "state" / "logs").glob("*.log"))]:
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        shown.append("\n".join([f"--- {log.name}", *lines]))
    return "\n".join(shown)


def ended(process: subprocess.Popen[bytes]) -> int:
    """Stop a child, by force where it does not listen; its exit code."""
    process.terminate()
    try:
        return process.wait(timeout=STOP_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()
