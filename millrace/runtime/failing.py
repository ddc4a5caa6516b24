"""What a node does with a tuple that its function fails at, and with all that comes behind it.

Nothing is lost: what was not processed stays where it is. With a store the PE ends in good order,
and its next launch begins with that tuple. Without one it stays, and tries again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from millrace.errors import OperatorFailed
from millrace.protocol import Trouble
from millrace.runtime.barriers import Barrier
from millrace.runtime.clock import pause_of

LOG = logging.getLogger("millrace.runtime.failing")
TRY_AGAIN_S: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Waits before a tuple is tried again; the last one is repeated."""
REASON: Final = "OperatorFailed"
"""The reason of the trouble that a PE reports while it waits at a tuple."""
_STAYS: Final = ""
"""Counts the attempts of a PE that cannot end, among those of its nodes."""


@dataclass(frozen=True, slots=True)
class Take:
    """Tuples that an operator has not processed."""

    batch: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Give:
    """Tuples that it has made, and not sent: one before them failed."""

    batch: Sequence[Any]


Left = Take | Give | Barrier
"""What is left to do, in order. A barrier is that of a window."""


def tuples_of(left: Iterable[Left]) -> int:
    """How many tuples are left."""
    return sum(len(each.batch) for each in left if not isinstance(each, Barrier))


class Stuck(Exception):
    """An operator failed at a tuple. `done` was made before; `left` begins with that tuple.

    Nothing is left where the time made it work, or the end of its input: then it does so again.
    """

    def __init__(
        self, done: Sequence[Any], left: tuple[Take | Give, ...], failure: OperatorFailed
    ) -> None:
        """Where it stands."""
        super().__init__(str(failure))
        self.done = done
        self.left = left
        self.failure = failure


class Failing(Protocol):
    """What follows when a node fails."""

    reads_on: bool
    """Whether a source that raised goes on where it can, after a pause."""

    async def failed(self, node: str, failure: OperatorFailed) -> bool:
        """Return true to try again, now; false if the node is to keep what it gets.

        Raises the failure to end everything.
        """
        ...

    def waits(self, node: str, failure: OperatorFailed) -> None:
        """A source waits: after it raised, or for ever at a tuple that does not fit into its type.

        Raises the failure as `failed` does. It may be called in the thread of a source.
        """
        ...

    def recovered(self, node: str) -> None:
        """The tuple that a node failed at is processed."""
        ...

    def holds_back(self, node: str, failure: OperatorFailed) -> float:
        """`flush` or `close` failed: what a function holds back is in its process alone.

        Returns after how many seconds to try again; raises the failure as `failed` does.
        """
        ...

    def let_out(self, node: str) -> None:
        """What a node held back is let out."""
        ...


class Raises:
    """A failure ends everything: in one process, where somebody waits for the run."""

    reads_on = False

    async def failed(self, node: str, failure: OperatorFailed) -> bool:
        """Raises the failure."""
        raise failure

    def waits(self, node: str, failure: OperatorFailed) -> None:
        """Raises the failure."""
        raise failure

    def recovered(self, node: str) -> None:
        """Nothing was reported."""

    def holds_back(self, node: str, failure: OperatorFailed) -> float:
        """Raises the failure."""
        raise failure

    def let_out(self, node: str) -> None:
        """Nothing was reported."""


class Reports:
    """Keeps what fails, to be reported. `trouble`: the first of it; empty while nothing fails."""

    def __init__(self) -> None:
        """Nothing has failed."""
        self.unkept = ""
        """Why the state is not kept that the PE would end with; empty where it does not try."""
        self._failures: dict[str, OperatorFailed] = {}
        self._attempts: dict[str, int] = {}

    @property
    def failure(self) -> OperatorFailed | None:
        """What fails first; None while nothing fails."""
        return next(iter(self._failures.values()), None)

    @property
    def trouble(self) -> Trouble:
        """What to report; empty while nothing fails."""
        if (failure := self.failure) is None:
            return Trouble()
        stays = f"; the PE stays, as its state is not kept: {self.unkept}" if self.unkept else ""
        return Trouble(REASON, f"{failure}{stays}")

    def waits(self, node: str, failure: OperatorFailed) -> None:
        """Report it."""
        self.note(node, failure, "the source waits at it")

    def recovered(self, node: str) -> None:
        """Report it no more; its next failure begins with the shortest pause."""
        if self._passed(node):
            LOG.info("%s goes on: the tuple that it failed at is processed", node)

    def holds_back(self, node: str, failure: OperatorFailed) -> float:
        """Report it. The PE stays, with a store as well: no saved state has what is held back."""
        return self._again(_held(node), failure)

    def let_out(self, node: str) -> None:
        """Report it no more."""
        if self._passed(_held(node)):
            LOG.info("%s has let out what it held back", node)

    def next_pause_s(self) -> float:
        """The pause before operators that failed try again, as no state is kept (seconds)."""
        return self._next_pause_s(_STAYS)

    def _next_pause_s(self, key: str) -> float:
        attempt = self._attempts.get(key, 0)
        self._attempts[key] = attempt + 1
        return pause_of(TRY_AGAIN_S, attempt)

    def _again(self, key: str, failure: OperatorFailed) -> float:
        """Note a failure; returns the pause before it is tried again (seconds)."""
        pause_s = self._next_pause_s(key)
        self.note(key, failure, f"it is tried again in {pause_s:g} s")
        return pause_s

    def _passed(self, key: str) -> bool:
        self._attempts.pop(key, None)
        is_known = self._failures.pop(key, None) is not None
        if not self._failures:
            self.unkept = ""
            self._attempts.pop(_STAYS, None)
        return is_known

    def note(self, node: str, failure: OperatorFailed, what: str) -> None:
        """Keep a failure, and log it with what follows; the traceback once."""
        known = self._failures.get(node)
        is_new = known is None or str(known) != str(failure)
        self._failures[node] = failure
        LOG.error("%s; %s", failure, what, exc_info=failure if is_new else None)


def _held(node: str) -> str:
    """What is reported of a node beside the tuple that it fails at."""
    return f"{node}, which holds back"


class TriesAgain(Reports):
    """A tuple is tried again, after a pause that grows."""

    reads_on = True

    async def failed(self, node: str, failure: OperatorFailed) -> bool:
        """Wait, and say that it is to be tried again."""
        await asyncio.sleep(self._again(node, failure))
        return True


class EndsInGoodOrder(Reports):
    """The PE ends, with all that is left in its saved state; `ask` requests it."""

    reads_on = False

    def __init__(self, ask: Callable[[], None]) -> None:
        """Nothing has failed."""
        super().__init__()
        self._ask = ask

    async def failed(self, node: str, failure: OperatorFailed) -> bool:
        """Let the PE come to rest; the node keeps what it gets until then."""
        self.note(node, failure, "the next launch begins with it, once that is kept")
        self._ask()
        return False
