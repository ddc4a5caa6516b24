"""One container of a pod: its processes one after the other, with probes, hooks and logs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakSet

from sandbox.containers import children, probing
from sandbox.containers.exec_sessions import ExecSession, open_session
from sandbox.containers.folders import OWN, Folders, NotMountable, read_only_folders
from sandbox.containers.local_paths import localized
from sandbox.containers.log_files import LogFile, remove_older
from sandbox.containers.runs import Run, Runs, StartOrder, Verdict

READ_BYTES = 65_536
MESSAGE_BYTES_MAX = 4_096
OUTPUT_BYTES_MAX = 65_536
"""What is kept of the output of a probe or a hook."""
DRAIN_S = 1.0
"""How long the output of a process is read after its end."""
FALLBACK_BYTES_MAX = 2_048


class Container:
    """`runs` is what the kubelet sees; `changed` is called after each change of it."""

    def __init__(
        self,
        folders: Folders,
        groups: children.Groups,
        now: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        self.runs: Runs = ()
        self.log: LogFile | None = None
        self.previous_log: LogFile | None = None
        self.memory_bytes_max: int | None = None
        self._folders = folders
        self._groups = groups
        self._now = now
        self._changed = changed
        self._order: StartOrder | None = None
        self._child: children.LoggedChild | None = None
        self._sessions: WeakSet[ExecSession] = WeakSet()
        self._is_killed = False
        self._started = asyncio.Event()
        self._over = asyncio.Event()
        self._over.set()

    @property
    def group(self) -> int | None:
        """The process group of the run that is not over."""
        child = self._child
        return child.group if child is not None and not child.has_ended else None

    def begin(self, order: StartOrder) -> None:
        """A run begins, and is seen; `follow` starts its process."""
        self._order, self._child, self._is_killed = order, None, False
        self._started.clear()
        self._over.clear()
        verdicts = (probing.first_verdict(order.spec, kind) for kind in probing.PROBES)
        startup, liveness, readiness = verdicts
        run = Run(
            order.number, self._now(), startup=startup, liveness=liveness, readiness=readiness
        )
        self.runs = (*self.runs[-1:], run)
        self.previous_log = self.log
        folder = self._folders.logs(order.uid, order.name)
        self.log = LogFile(folder / f"{order.number}.log", self._now)
        remove_older(folder, order.number - 1)

    async def follow(self, order: StartOrder) -> None:
        """Start the process of the run that began, and follow it to its end."""
        assert self.log is not None
        try:
            ended = await self._live(order)
        except (children.NotStarted, NotMountable, OSError, ValueError) as problem:
            code = children.EXIT_NOT_STARTED
            ended = {"exit_code": code, "reason": "StartError", "message": str(problem)}
        self.log.close()
        self._put(ended_s=self._now(), **ended)
        self._started.set()
        self._over.set()
        self._changed()

    async def _live(self, order: StartOrder) -> dict[str, Any]:
        """Run the process to its end; what is known of that. Raises NotStarted, NotMountable."""
        root = self._folders.make_root(order.uid, order.name, order.number, order.mounts)
        _make_message_file(root, order.spec)
        folder = _working_folder(root, order.spec)
        command = (_program(order, root), *order.command[1:])
        read_only = read_only_folders(root, order.mounts)
        self._child = child = await children.start(
            command, _within(root, order), folder, self._groups, read_only
        )
        self._put(pid=child.group)
        self._started.set()
        if self._is_killed:  # between the order and the start
            child.kill()
        copying = asyncio.create_task(self._copy(child))
        work = probing.probe_all(order.spec, order.address, self._execute, self._tell)
        probes = asyncio.create_task(work)
        self._changed()
        code = await child.ended()
        for session in self._sessions:
            session.child.kill()
        probes.cancel()
        await asyncio.wait([copying], timeout=DRAIN_S)  # who left the group may keep the pipe open
        copying.cancel()
        await asyncio.wait([copying, probes])
        child.close()
        return {"exit_code": code, "message": self._last_words(root, order.spec, code)}

    async def _copy(self, child: children.LoggedChild) -> None:
        """What the process writes goes into its log."""
        assert self.log is not None
        while data := await child.output.read(READ_BYTES):
            self.log.write(data)

    async def stop(self, grace_s: float) -> None:
        """The hook of the container, SIGTERM, and SIGKILL when `grace_s` is over."""
        run = self.runs[-1]
        if run.is_over or run.is_stopping:
            return
        self._put(is_stopping=True)
        order = self._order
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                hook = ((order.spec.get("lifecycle") or {}) if order else {}).get("preStop")
                if hook and order is not None:
                    await probing.run_hook(hook, order.spec, order.address, self._execute, grace_s)
                await self._started.wait()
                if self._child is not None and grace_s > 0:
                    self._child.terminate()
                await self._over.wait()
                return
        if not self.runs[-1].is_over and self.runs[-1].number == run.number:
            self.kill()

    def kill(self) -> None:
        """Kill the process that runs, and all that it started."""
        self._is_killed = True
        if self._child is not None and not self._child.has_ended:
            self._child.kill()

    async def ended(self) -> None:
        """Return when no process runs."""
        await self._over.wait()

    def check_memory(self, used_bytes: int) -> None:
        """Kill a run that uses more than it may."""
        if self.memory_bytes_max is None or used_bytes <= self.memory_bytes_max:
            return
        if self.group is not None:
            self._put(reason="OOMKilled")
            self.kill()

    async def _execute(self, words: tuple[str, ...], timeout_s: float) -> tuple[int, str]:
        """Run words beside the process; exit code and output."""
        root, environment, local = self._beside(words)
        try:
            child = await children.start(local, environment, root, self._groups)
        except children.NotStarted as problem:
            return children.EXIT_NOT_STARTED, str(problem)
        reading = asyncio.create_task(child.last_output(OUTPUT_BYTES_MAX))
        try:
            async with asyncio.timeout(timeout_s):
                await child.ended()
        finally:
            child.kill()
            code = await child.ended()
            await asyncio.wait([reading], timeout=DRAIN_S)
            reading.cancel()
            child.close()
        output = b"" if reading.cancelled() else reading.result()
        return code, output.decode(errors="replace")

    async def open_session(self, words: tuple[str, ...], *, has_terminal: bool) -> ExecSession:
        """Run words beside the process for somebody. Raises NotStarted."""
        root, environment, local = self._beside(words)
        session = await open_session(
            local, environment, root, self._groups, has_terminal=has_terminal
        )
        self._sessions.add(session)
        return session

    def _beside(self, words: tuple[str, ...]) -> tuple[Path, dict[str, str], tuple[str, ...]]:
        """Root, environment and words of a command that runs beside the process."""
        order = self._order
        assert order is not None
        root = self._folders.root(order.uid, order.name, order.number)
        words = (*order.programs.get(words[0], words[:1]), *words[1:]) if words else words
        return root, _within(root, order), localized(words, places_of(order), str(root))

    def _tell(self, kind: str, verdict: Verdict, complaint: str) -> None:
        if not self.runs[-1].is_over:
            text = f"{kind.capitalize()} probe failed: {complaint}" if complaint else ""
            self._put(**{kind: verdict, "complaint": text})
            self._changed()

    def _put(self, **changed: Any) -> None:
        self.runs = (*self.runs[:-1], replace(self.runs[-1], **changed))

    def _last_words(self, root: Path, spec: Mapping[str, Any], code: int) -> str:
        """What the container says of its end, as `terminationMessagePolicy` wants it."""
        with contextlib.suppress(OSError, ValueError):
            path = root / str(spec.get("terminationMessagePath", "")).lstrip("/")
            if text := path.read_bytes()[:MESSAGE_BYTES_MAX].decode(errors="replace"):
                return text
        if code and spec.get("terminationMessagePolicy") == "FallbackToLogsOnError" and self.log:
            return self.log.last_text(FALLBACK_BYTES_MAX)
        return ""


def places_of(order: StartOrder) -> list[str]:
    """The absolute paths that a container has below its root."""
    mounted = [mount.path for mount in order.mounts]
    message = str(order.spec.get("terminationMessagePath") or "")
    return [*mounted, *(f"/{name}" for name in OWN), *([message] if message else ())]


def _program(order: StartOrder, root: Path) -> str:
    """The first word of a command: a file of the container, or else one of this machine.

    The sandbox itself may be installed below a folder that is mounted in containers, such as /tmp.
    """
    (local,) = localized(order.command[:1], places_of(order), str(root))
    return local if Path(local).exists() else order.command[0]


def _within(root: Path, order: StartOrder) -> dict[str, str]:
    """The environment of a process whose root is `root`."""
    own = {"HOME": str(root), "TMPDIR": str(root / "tmp")}
    return {**own, **order.environment, "MILLRACE_ROOT": str(root)}


def _working_folder(root: Path, spec: Mapping[str, Any]) -> Path:
    """Below the root, if it is there; else the root."""
    wanted = root.joinpath(*str(spec.get("workingDir") or "").strip("/").split("/"))
    return wanted if wanted.is_dir() else root


def _make_message_file(root: Path, spec: Mapping[str, Any]) -> None:
    path = str(spec.get("terminationMessagePath") or "")
    if path and ".." not in path.split("/"):
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
