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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from millrace.runtime.endings import Ending

LOG = logging.getLogger("millrace.runtime.signs")
BEAT_S: Final = 1.0
"""How often the event loop shows that it moves."""
LOOK_S: Final = 5.0
STALLED_LOOKS: Final = 24
"""2 minutes: a function of the author that needs longer has to be async or use threads."""
MESSAGE_BYTES_MAX: Final = 4096
"""Of a termination message; Kubernetes cuts longer ones."""


class LiveFile:
    """The file of the liveness probe: `keep` runs as a task while the PE runs its loop."""

    def __init__(self, path: Path, *, stalled_looks: int = STALLED_LOOKS) -> None:
        """Nothing is made yet."""
        self._path = path
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
        if self._silent == self._stalled_looks:
            LOG.error("the event loop does not move; it is here: %s", self._where())
            self._path.unlink(missing_ok=True)

    def give_up(self) -> None:
        """Remove the file for good: the PE was stopped and does not end in its time."""
        self._is_given_up = True
        self._path.unlink(missing_ok=True)

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_S):
            self.look()

    def _where(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)
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
