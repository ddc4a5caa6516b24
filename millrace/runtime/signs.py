"""What a PE shows to its node: the file of the liveness probe, and the termination message.

The probe only looks whether the file exists. So a file that only a running event loop keeps would
stay when the loop hangs: a thread counts how often it looked since the loop moved last, and removes
the file after `stalled_looks`. A process that was suspended looks no faster than its loop moves, so
it stays alive when it is woken. A loop that moves again makes the file again.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from millrace.runtime.endings import Ending
from millrace.runtime.hanging import HANGS_S, holds_up

LOG = logging.getLogger("millrace.runtime.signs")
BEAT_S: Final = 1.0
"""How often the event loop shows that it moves."""
LOOK_S: Final = 5.0
STALLED_LOOKS: Final = 24
"""2 minutes: a function of the author that needs longer has to be async or use threads."""
HANGING_LOOKS: Final = round(HANGS_S / LOOK_S) + 1
MESSAGE_BYTES_MAX: Final = 4096
"""Of a termination message; Kubernetes cuts longer ones."""


class LiveFile:
    """The file of the liveness probe: `keep` runs as a task while the PE runs its loop."""

    def __init__(
        self,
        path: Path,
        *,
        stalled_looks: int = STALLED_LOOKS,
        hangs: Callable[[str], None] = lambda _: None,
        termination_log: Path | None = None,
    ) -> None:
        """Nothing is made yet. `hangs` is called in the thread, with who holds up the loop."""
        self._path = path
        self._hangs = hangs
        self._termination_log = termination_log
        self._stalled_looks = stalled_looks
        self._silent = 0
        self._is_given_up = False
        self._loop_thread = threading.get_ident()
        self._ended = threading.Event()

    async def keep(self) -> None:
        """Make the file, and refresh it as long as the event loop moves, until cancelled."""
        self._loop_thread = threading.get_ident()
        watcher = threading.Thread(target=self._watch, name="millrace-liveness", daemon=True)
        watcher.start()
        try:
            while True:
                self.beat()
                await asyncio.sleep(BEAT_S)
        finally:
            self._ended.set()

    def beat(self) -> None:
        """The loop moves. Makes the file if it is not there."""
        if self._silent >= self._stalled_looks and self._termination_log is not None:
            self._termination_log.unlink(missing_ok=True)
        self._silent = 0
        if self._is_given_up:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch()
        except OSError as problem:
            LOG.error("the liveness file %s cannot be made: %s", self._path, problem.strerror)

    def look(self) -> None:
        """Count one look of the thread; remove the file if the loop has not moved for long."""
        self._silent += 1
        if self._silent == HANGING_LOOKS and (who := holds_up(self._frame())):
            LOG.warning("%s", who)
            self._hangs(who)
        if self._silent == self._stalled_looks:
            frame = self._frame()
            LOG.error("the event loop does not move; it is here: %s", _where(frame))
            if self._termination_log is not None:  # who ends the process asks nobody here
                what = holds_up(frame) or "the event loop does not move"
                write_termination_message(self._termination_log, Ending.OPERATOR_FAILED, what)
            self._path.unlink(missing_ok=True)

    def _frame(self) -> FrameType | None:
        """Where the event loop is; None if its thread has ended. It costs all threads' frames."""
        return sys._current_frames().get(self._loop_thread)

    def give_up(self) -> None:
        """Remove the file for good: the PE was stopped and does not end in its time."""
        self._is_given_up = True
        self._path.unlink(missing_ok=True)

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_S):
            self.look()


def _where(frame: FrameType | None) -> str:
    return "".join(traceback.format_stack(frame)[-6:]) if frame else "its thread has ended"


@contextmanager
def live(file: LiveFile) -> Iterator[None]:
    """Keep the file while the block runs, in the event loop that runs it."""
    task = asyncio.get_running_loop().create_task(file.keep())
    try:
        yield
    finally:
        task.cancel()


def termination_message(ending: Ending, message: str = "") -> str:
    """`Reason: sentence` in one line, as short as Kubernetes takes it."""
    text = f"{ending.reason}: {' '.join((message or ending.sentence).split())}"
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= MESSAGE_BYTES_MAX:
        return data.decode()
    return data[: MESSAGE_BYTES_MAX - 3].decode("utf-8", "ignore") + "…"


def write_termination_message(path: Path, ending: Ending, message: str = "") -> None:
    """Write why the PE ends. A file that cannot be written is logged: the PE ends anyway."""
    try:
        path.write_text(termination_message(ending, message), encoding="utf-8")
    except OSError as problem:
        LOG.error("the termination message cannot be written to %s: %s", path, problem.strerror)
