"""The container runtime: starts and ends the processes of containers, and says what became of them.

The kubelet gives orders (`start`, `stop`, `remove`) and reads frozen values (`seen`); `on_change`
tells it of a pod that changed. Nothing is decided here but when a process is over its memory.
"""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from sandbox.containers import children
from sandbox.containers.container import Container
from sandbox.containers.exec_sessions import ExecSession
from sandbox.containers.folders import Folders
from sandbox.containers.log_files import LogFile
from sandbox.containers.memory_use import memory_by_group
from sandbox.containers.runs import Seen, StartOrder
from sandbox.containers.volumes import Source

SAMPLE_S = 1.0
"""How often the memory of containers with a limit is looked at."""
logger = logging.getLogger(__name__)


class ContainerRuntime:
    """All containers of a sandbox. `base` is a folder that nothing else uses."""

    def __init__(self, base: Path, now: Callable[[], float]) -> None:
        self.folders = Folders(base)
        self.on_change: Callable[[str], None] = lambda uid: None
        self._now = now
        self._groups = children.Groups()
        self._containers: dict[str, dict[str, Container]] = {}
        self._ended: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sampling: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ContainerRuntime:
        """Begin with empty folders."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a container needs three
        self.folders.base.mkdir(parents=True, exist_ok=True)
        self.folders.remove_all()
        self._groups.open(self.folders.base)
        self._sampling = asyncio.create_task(self._sample())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill every process, and remove every folder."""
        if self._sampling is not None:
            self._sampling.cancel()
        for uid in list(self._containers):
            self.remove(uid)
        while self._tasks:
            await asyncio.wait(self._tasks)
        self.folders.remove_all()
        self._groups.close()

    # Looking

    def seen(self, uid: str) -> Seen:
        """The runs of each container of a pod that ever started."""
        return {name: each.runs for name, each in self._containers.get(uid, {}).items()}

    def log(self, uid: str, container: str, *, previous: bool = False) -> LogFile | None:
        """The log of a container's newest run, or of the one before."""
        found = self._containers.get(uid, {}).get(container)
        if found is None:
            return None
        return found.previous_log if previous else found.log

    async def execute(
        self, uid: str, container: str, words: tuple[str, ...], *, has_terminal: bool
    ) -> ExecSession | None:
        """Run a command beside a container; None if it does not run. Raises NotStarted."""
        found = self._containers.get(uid, {}).get(container)
        if found is None or found.group is None:
            return None
        return await found.open_session(words, has_terminal=has_terminal)

    # Orders

    def make_volumes(self, uid: str, sources: Mapping[str, Source]) -> None:
        """Make the volumes of a pod, or bring them up to date. Raises NotMountable."""
        self.folders.make_volumes(uid, sources)

    def start(self, order: StartOrder) -> None:
        """Start the next run of a container; it is seen at once."""
        of_pod = self._containers.setdefault(order.uid, {})
        found = of_pod.get(order.name)
        if found is None:
            found = of_pod[order.name] = Container(
                self.folders, self._groups, self._now, lambda: self.on_change(order.uid)
            )
        found.begin(order)
        self._keep(found.follow(order))

    def stop(self, uid: str, container: str, grace_s: float) -> None:
        """End a container: its hook, SIGTERM, and SIGKILL after `grace_s` seconds."""
        found = self._containers.get(uid, {}).get(container)
        if found is not None:
            self._keep(found.stop(grace_s))

    def limit(self, uid: str, memory_bytes_max: Mapping[str, int]) -> None:
        """Set the memory that containers of a pod may use; the others have no limit."""
        for name, each in self._containers.get(uid, {}).items():
            each.memory_bytes_max = memory_bytes_max.get(name)

    def kill(self, uid: str) -> None:
        """Kill the processes of a pod."""
        for each in self._containers.get(uid, {}).values():
            each.kill()

    def end(self, uid: str) -> None:
        """The pod is over: remove its volumes; its logs stay."""
        if uid not in self._ended:
            self._ended.add(uid)
            self.folders.forget(uid)
            self._keep(asyncio.to_thread(self.folders.remove_volumes, uid))

    def remove(self, uid: str) -> None:
        """Kill what runs of a pod, and remove everything of it."""
        self._ended.discard(uid)
        self.folders.forget(uid)
        self._keep(self._remove(uid, self._containers.pop(uid, {})))

    async def _remove(self, uid: str, containers: Mapping[str, Container]) -> None:
        for each in containers.values():
            each.kill()
        for each in containers.values():
            await each.ended()
        await asyncio.to_thread(self.folders.remove_pod, uid)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            logger.error("a container could not be managed", exc_info=problem)

    async def _sample(self) -> None:
        """End containers that use more memory than they may."""
        while True:
            await asyncio.sleep(SAMPLE_S)
            limited = [
                each
                for of_pod in self._containers.values()
                for each in of_pod.values()
                if each.memory_bytes_max is not None and each.group is not None
            ]
            if limited:
                used = memory_by_group({each.group for each in limited if each.group is not None})
                for each in limited:
                    each.check_memory(used.get(each.group or 0, 0))
