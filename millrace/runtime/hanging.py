"""Which operator does not come to an end with a tuple: it awaits what nobody gives, or never waits.

Nothing of that is a failure that somebody could catch, so what is seen is the time. An async
function leaves the event loop free, where `Hanging` looks. A plain one holds it up: a thread finds
it by the stack of the event loop (`signs.py`).
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Final

from millrace.errors import SHOWN_CHARS_MAX, shown
from millrace.protocol import Trouble
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Execution

LOG = logging.getLogger("millrace.runtime.hanging")
HANGS_S: Final = 30.0
"""A function that works on one tuple for so long is named."""
TURN_S: Final = 1.0
"""Between two looks at most so much counts: an event loop that did not move gave nobody a turn."""
LOOKS: Final = 10
"""A thread looks so often in that time whether the event loop moves."""
REASON: Final = "OperatorHangs"
"""Of the trouble that a PE reports meanwhile."""


class Hanging:
    """Async functions that have worked on one tuple for long. `trouble`: the first; else empty."""

    def __init__(self) -> None:
        """None has."""
        self.trouble = Trouble()
        self._seen: dict[str, tuple[object, float]] = {}
        self._named: set[str] = set()
        self._looked_at: float | None = None

    def look(self, nodes: Iterable[Node], now: float) -> None:
        """Find them. `now`: seconds of the event loop's clock."""
        turn_s = 0.0 if self._looked_at is None else min(now - self._looked_at, TURN_S)
        self._looked_at = now
        found = [trouble for each in nodes if (trouble := self._look_at(each, turn_s)) is not None]
        self.trouble = found[0] if found else Trouble()

    def _look_at(self, node: Node, turn_s: float) -> Trouble | None:
        execution = node.execution
        at = None if execution is None else execution.works_on
        known, held_s = self._seen.get(node.name, (None, 0.0))
        if execution is None or at is None or at[0] != known:
            self._seen[node.name] = at and at[0], 0.0
            if node.name in self._named:
                self._named.discard(node.name)
                LOG.warning("%s goes on: its function has returned", node.name)
            return None
        self._seen[node.name] = known, held_s + turn_s
        if held_s + turn_s < HANGS_S:
            return None
        sentence = _sentence(execution, *at[1:])
        if node.name not in self._named:
            self._named.add(node.name)
            LOG.warning("%s, and has not returned", sentence)
        return Trouble(REASON, sentence)


class HeldUp:
    """Logs which plain function holds up the event loop of this thread, from one beside it."""

    def __init__(self) -> None:
        """The event loop moves."""
        self._silent = 0
        self._loop_thread = threading.get_ident()
        self._ended = threading.Event()

    def beat(self) -> None:
        """The event loop moves."""
        self._silent = 0

    def __enter__(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._look, name="millrace-hanging", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        """Look no more."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(HANGS_S / LOOKS):
            self._silent += 1
            frame = sys._current_frames().get(self._loop_thread)
            if self._silent == LOOKS and (who := holds_up(frame)):
                LOG.warning("%s", who)


def holds_up(frame: FrameType | None) -> str:
    """Which operator runs in a frame, or in one that called it; empty where none does."""
    while frame is not None:
        execution, found = frame.f_locals.get("self"), frame.f_locals
        if isinstance(execution, Execution):
            item = found.get("item", found.get("items"))
            method = str(found.get("name", "")) if item is None else ""
            return f"{_sentence(execution, item, method)}, and holds up its whole process"
        frame = frame.f_back
    return ""


def _sentence(execution: Execution, item: object, method: str) -> str:
    at = f"has been in {method}" if method else f"has worked on {shown(item, SHOWN_CHARS_MAX)}"
    return f"operator {execution.operator.name} {at} for more than {HANGS_S:g} s"
