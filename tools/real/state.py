"""The folder of a pair: the files in it, and its lock.

    pair.json         the plan: build, ports, sizes; it also marks the folder as ours to remove
    kubeconfig        for people and tests (mode 0600)
    processes/NAME    the identity of the running process of a part
    logs/NAME.log     its output
    etcd/ kafka-N/    data      kube/  credentials      tmp/      node/  the real node's

A lock file beside the folder admits one command at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cli.failing import Misused, TimedOut
from cli.ports import LOOPBACK
from cli.private import private_folder, refuse_foreign, write_private
from tools.real.node.plan import NodePlan
from tools.real.processes import ProcessId, is_running

LOCK_WAIT_S = 1200.0  # a cold build on a slow machine
LOCK_POLL_S = 0.2
PLAN = "pair.json"


@dataclass(frozen=True, slots=True)
class PairPlan:
    """The input of the command lines of the parts."""

    digest: str
    build: str
    java: str
    brokers: int
    ports: dict[str, int]
    cluster_id: str  # of Kafka
    node: NodePlan | None = None

    @property
    def host(self) -> str:
        """Where clients reach the API server and the brokers: pods of a real node do so too."""
        return self.node.host_ip if self.node else LOOPBACK

    def address(self, name: str) -> str:
        """HOST:PORT of a named port."""
        host = self.host if name in self.reached else LOOPBACK
        return f"{host}:{self.ports[name]}"

    @property
    def reached(self) -> tuple[str, ...]:
        """The parts with clients that are not parts."""
        return ("kube-apiserver", *(f"kafka-{number}" for number in range(1, self.brokers + 1)))

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT[,…] of every broker."""
        return ",".join(self.address(f"kafka-{number}") for number in range(1, self.brokers + 1))


class PairFolder:
    """The folder of a pair; `path` is absolute and without links."""

    def __init__(self, path: Path) -> None:
        self._given = path.expanduser()
        self.path = self._given.resolve()
        self.kubeconfig = self.path / "kubeconfig"
        self.logs = self.path / "logs"
        self.kube = self.path / "kube"

    def prepare(self, plan: PairPlan) -> None:
        """Create the folder and write the plan into it, before any part starts."""
        private_folder(self.path)
        write_private(self.path / PLAN, json.dumps(asdict(plan), indent=1))
        for name in ("logs", "kube", "processes", "tmp"):
            private_folder(self.path / name)

    def plan(self) -> PairPlan | None:
        """The plan of the pair that is or was here; None if it is missing or cannot be parsed."""
        try:
            return _plan_of(json.loads((self.path / PLAN).read_text()))
        except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, TypeError):
            return None

    def log(self, part: str) -> Path:
        """The log of a part."""
        return self.logs / f"{part}.log"

    def log_end(self, part: str, count: int = 15) -> list[str]:
        """The last `count` lines of a part's log."""
        log = self.log(part)
        if not log.exists():
            return ["(there is no log)"]
        return log.read_text(errors="replace").splitlines()[-count:]

    def remember(self, part: str, process: ProcessId) -> None:
        """Record the identity of the process of a part."""
        write_private(self.path / "processes" / part, json.dumps(asdict(process)))

    def running(self, part: str) -> ProcessId | None:
        """The recorded process of a part; None unless that very process runs."""
        try:
            known = ProcessId(**json.loads((self.path / "processes" / part).read_text()))
        except (FileNotFoundError, json.JSONDecodeError, TypeError):
            return None
        return known if is_running(known) else None

    def check_is_ours(self) -> None:
        """Raise Misused for a foreign folder or one with other files: `remove` would delete it."""
        refuse_foreign(self._given)
        if self.path.exists() and any(self.path.iterdir()) and not (self.path / PLAN).exists():
            raise Misused(f"{self.path} is not empty and holds no pair. Say another --state.")

    def remove(self) -> None:
        """Remove the folder and everything in it."""
        self.check_is_ours()
        if self.path.exists():
            shutil.rmtree(self.path)


def _plan_of(fields: dict[str, Any]) -> PairPlan:
    """The plan as `prepare` wrote it. Raises TypeError for fields of another release."""
    node = fields.pop("node", None)
    return PairPlan(**fields, node=NodePlan(**node) if node else None)


@asynccontextmanager
async def locked(path: Path, report: Callable[[str], None]) -> AsyncIterator[None]:
    """Hold the lock of a folder; the kernel releases it when we end. Raises Misused, TimedOut."""
    lock = path.parent / f".{path.name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = lock.open("w")
    except OSError as problem:
        raise Misused(f"{path} cannot be made: {problem}. Say another --state.") from problem
    with opened as file:
        if not _try_lock(file.fileno()):
            report(f"another command works on {path}; waiting for it")
            await _until_locked(file.fileno(), path)
        yield


async def _until_locked(descriptor: int, path: Path) -> None:
    try:
        async with asyncio.timeout(LOCK_WAIT_S):
            while True:
                if _try_lock(descriptor):
                    return
                await asyncio.sleep(LOCK_POLL_S)
    except TimeoutError:
        raise TimedOut(f"another command still works on {path}, {LOCK_WAIT_S:g} s later") from None


def _try_lock(descriptor: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
