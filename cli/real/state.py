"""The one folder of a pair: what is remembered in it, and who may work on it.

    pair.json         the plan: build, ports, sizes; it also says that the folder is ours to remove
    kubeconfig        for people and tests (mode 0600)
    processes/NAME    the identity of the running process of a part
    logs/NAME.log     what it said
    etcd/ kafka-N/    data      kube/  credentials      tmp/

Beside the folder lies a lock file: one command at a time works on a pair.
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

from cli.failing import Misused, TimedOut
from cli.private import private_folder, refuse_foreign, write_private
from cli.real.processes import ProcessId, is_running

LOCK_WAIT_S = 1200.0  # a cold build on a slow machine
LOCK_POLL_S = 0.2
PLAN = "pair.json"


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Everything that the command lines of the parts follow from."""

    digest: str
    build: str
    java: str
    brokers: int
    ports: dict[str, int]
    cluster_id: str  # of Kafka

    def address(self, name: str) -> str:
        """HOST:PORT of a port's name."""
        return f"127.0.0.1:{self.ports[name]}"

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT[,…] of every broker."""
        return ",".join(self.address(f"kafka-{number}") for number in range(1, self.brokers + 1))


class PairFolder:
    """The folder of a pair; `path` is absolute and without links."""

    def __init__(self, path: Path) -> None:
        self._asked = path.expanduser()
        self.path = self._asked.resolve()
        self.kubeconfig = self.path / "kubeconfig"
        self.logs = self.path / "logs"
        self.kube = self.path / "kube"

    def prepare(self, plan: PairPlan) -> None:
        """Make the folder, and remember the plan in it before anything runs."""
        private_folder(self.path)
        write_private(self.path / PLAN, json.dumps(asdict(plan), indent=1))
        for name in ("logs", "kube", "processes", "tmp"):
            private_folder(self.path / name)

    def plan(self) -> PairPlan | None:
        """The plan of the pair that is or was here; None where there is none that we understand."""
        try:
            return PairPlan(**json.loads((self.path / PLAN).read_text()))
        except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, TypeError):
            return None

    def log(self, part: str) -> Path:
        """The log of a part."""
        return self.logs / f"{part}.log"

    def log_end(self, part: str, count: int = 15) -> list[str]:
        """The last lines of a part's log, for a message about why it is not there."""
        log = self.log(part)
        if not log.exists():
            return ["(there is no log)"]
        return log.read_text(errors="replace").splitlines()[-count:]

    def remember(self, part: str, process: ProcessId) -> None:
        """Write down who the process of a part is."""
        write_private(self.path / "processes" / part, json.dumps(asdict(process)))

    def running(self, part: str) -> ProcessId | None:
        """The process of a part, if that very process runs."""
        try:
            known = ProcessId(**json.loads((self.path / "processes" / part).read_text()))
        except (FileNotFoundError, json.JSONDecodeError, TypeError):
            return None
        return known if is_running(known) else None

    def check_is_ours(self) -> None:
        """Refuse a folder of somebody else, or with something else: it is removed in the end."""
        refuse_foreign(self._asked)
        if self.path.exists() and any(self.path.iterdir()) and not (self.path / PLAN).exists():
            raise Misused(f"{self.path} is not empty and holds no pair. Say another --state.")

    def remove(self) -> None:
        """Remove the folder and everything in it."""
        self.check_is_ours()
        if self.path.exists():
            shutil.rmtree(self.path)


@asynccontextmanager
async def locked(path: Path, say: Callable[[str], None]) -> AsyncIterator[None]:
    """Hold the lock of a folder; the kernel releases it, however we end."""
    lock = path.parent / f".{path.name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = lock.open("w")
    except OSError as problem:
        raise Misused(f"{path} cannot be made: {problem}. Say another --state.") from problem
    with opened as file:
        if not _try_lock(file.fileno()):
            say(f"another command works on {path}; waiting for it")
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
