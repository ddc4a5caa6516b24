"""What a function holds back until `flush` or `close` is called: it is in its process alone.

No saved state has it, so a PE stays where it cannot be let out, and tries again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from millrace.errors import OperatorFailed
from millrace.runtime.failing import Failing


class HeldBack:
    """What the function of one node holds back. `failure`: why it could not be let out, if so.

    `pause_s`: how many seconds to wait before it is tried again.
    """

    def __init__(self) -> None:
        """Nothing is held back."""
        self.failure: OperatorFailed | None = None
        self.pause_s = 0.0
        self._let_out_at = 0

    async def let_out(
        self, flush: Callable[[], Awaitable[None]], node: str, taken: int, failing: Failing
    ) -> None:
        """Let it out, or note why not. `taken`: the tuples that the node took so far."""
        try:
            await flush()
        except OperatorFailed as failure:
            self.failure = failure
            self.pause_s = failing.holds_back(node, failure)
            return
        self._let_out_at = taken
        if self.failure is not None:
            self.failure = None
            failing.let_out(node)

    def give_up(self, taken: int) -> int:
        """Forget it: the launch ends. Returns at most how many tuples are lost by that."""
        lost, self._let_out_at = taken - self._let_out_at, taken
        self.failure = None
        return lost
