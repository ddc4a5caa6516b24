"""A Docker engine of our own for tests: dockerd, which leaves nothing behind but its images.

Its images and build layers stay in ~/.cache/millrace/docker. Sockets and containers are in a folder
that goes with it; so do its bridges, chains of iptables, and what it changed of the forwarding.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.patience import patient
from tools.real.building import cache_folder

START_S_MAX = patient(60.0)
STOP_S_MAX = patient(30.0)
POLL_S = 0.2
PROGRAMS = ("dockerd", "docker", "containerd", "runc", "iptables", "ip", "mmdebstrap", "go", "git")
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine; `environment` lets `docker` and `docker compose` find it."""

    environment: Mapping[str, str]

    def run(
        self, *command: str, cwd: Path | None = None, check: bool = True, **settings: str
    ) -> str:
        """What a command prints to stdout. Raises AssertionError with all output if it fails."""
        ended = subprocess.run(
            command,
            cwd=cwd,
            env={**self.environment, **settings},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not check or ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout


def lacks() -> str:
    """What this machine lacks to run an engine; empty if it lacks nothing."""
    if sys.platform != "linux":
        return "it is not Linux"
    if os.geteuid() != 0:
        return "only root can run dockerd"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(missing)} not found; .ci/packages installs them" if missing else ""


@contextlib.contextmanager
def running_engine(compose: Path) -> Iterator[Engine]:
    """An engine that runs inside of the block. Raises RuntimeError if it does not start."""
    kept = cache_folder() / "docker"
    kept.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context((kept / ".lock").open("w"))
        os.set_inheritable(lock.fileno(), False)
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-docker-")))
        stack.callback(_put_back, FORWARDING.read_text(), _policy())
        stack.callback(_unmount, folder)
        process = stack.enter_context(_dockerd(folder, kept))
        plugins = folder / "config" / "cli-plugins"
        plugins.mkdir(parents=True)
        shutil.copy(compose, plugins / "docker-compose")
        (plugins / "docker-compose").chmod(0o755)
        engine = Engine(
            {
                **{name: text for name, text in os.environ.items() if name != "DOCKER_CONTEXT"},
                "DOCKER_HOST": f"unix://{folder / 'socket'}",
                "DOCKER_CONFIG": str(folder / "config"),
                "DOCKER_BUILDKIT": "0",
            }
        )
        _wait_until_it_answers(engine, process, folder / "log")
        stack.callback(_tidy, engine)
        _tidy(engine)  # what a run that was killed left
        yield engine


@contextlib.contextmanager
def _dockerd(folder: Path, kept: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        "dockerd",
        f"--data-root={kept / 'data'}",
        f"--exec-root={folder / 'exec'}",
        f"--pidfile={folder / 'pid'}",
        f"--host=unix://{folder / 'socket'}",
        # Where CAP_SYS_RESOURCE is missing, nobody may lower a score.
        "--oom-score-adjust=0",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_it_answers(engine: Engine, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S_MAX
    while "Server" not in engine.run("docker", "version", check=False):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"dockerd did not start: {log.read_text()[-3000:]}")
        time.sleep(POLL_S)


def _tidy(engine: Engine) -> None:
    """Remove everything but tagged images and the layers that these are built of."""
    containers = engine.run("docker", "ps", "--all", "--quiet").split()
    if containers:
        engine.run("docker", "rm", "--force", "--volumes", *containers)
    for kind in ("network", "volume", "image"):
        engine.run("docker", kind, "prune", "--force")


# --------------------------------------------------------------------------- what dockerd leaves


def _policy() -> str:
    """The word that iptables has for packets which the machine forwards."""
    (line,) = (each for each in _rules("filter") if each.startswith("-P FORWARD"))
    return line.split()[-1]


def _put_back(forwarding: str, policy: str) -> None:
    """Remove the chains and the bridge of dockerd; it also forbids to forward."""
    for table in ("filter", "nat"):
        for rule in _rules(table):
            words = rule.split()
            if words[0] == "-A" and any("DOCKER" in each or each == "docker0" for each in words):
                _iptables(table, "-D", *words[1:])
        chains = [rule.split()[1] for rule in _rules(table) if rule.startswith("-N DOCKER")]
        for option in ("-F", "-X"):
            for chain in chains:
                _iptables(table, option, chain)
    _iptables("filter", "-P", "FORWARD", policy)
    FORWARDING.write_text(forwarding)
    subprocess.run(["ip", "link", "delete", "docker0"], stderr=subprocess.DEVNULL, check=False)


def _rules(table: str) -> Sequence[str]:
    ended = subprocess.run(
        ["iptables", "-t", table, "-S"], capture_output=True, text=True, check=True
    )
    return ended.stdout.splitlines()


def _iptables(table: str, *words: str) -> None:
    subprocess.run(["iptables", "-t", table, *words], check=True)


def _unmount(folder: Path) -> None:
    """A name of the machine's own network namespace stays mounted."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in sorted((each for each in mounts if each.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", mount], check=True)
