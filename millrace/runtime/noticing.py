"""What a PE notices: what it takes and has in hand, what was lost, and whom it waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from millrace.errors import OperatorFailed
from millrace.protocol import (
    AWAITED_MAX,
    RESTS_AGAIN_S,
    RESTS_S,
    Connectivity,
    Lost,
    Report,
    Resting,
    Skipped,
    Trouble,
)
from millrace.runtime.checkpointing import Checkpoints
from millrace.runtime.connections import Connected, connectivity
from millrace.runtime.failing import REASON as FAILED
from millrace.runtime.failing import Reports, tuples_of
from millrace.runtime.hanging import HANGS_S, Hanging
from millrace.runtime.hanging import REASON as HANGS
from millrace.runtime.nodes import Node
from millrace.runtime.quiescing import Parts, Quiescing

LOG = logging.getLogger("millrace.runtime.pe")
TROUBLE_S: Final = 10.0
"""A PE that is not connected for so long says whom it waits for."""
LOOK_S: Final = 0.2
"""How often a PE looks at its connections, to report and count what changed."""
LOOK_AT_REST_S: Final = 1.0
"""How often a PE that comes to rest looks whom it waits for. It reports that from its second look
on: most hand-overs are over by then, and each report is a write."""
FLUSH_S: Final = 8.0
"""How long a PE that hands over tries to flush what its functions hold back."""
SKIPS_S: Final = 60.0
"""Each report of skipped tuples is a write of a status."""


class Looking:
    """Reports how many connections are up, what keeps the PE from its work, and what was skipped.

    As it changes, and once more at the end.
    """

    def __init__(
        self,
        report: Callable[[Report], None],
        troubles: tuple[Reports, Checkpoints],
        parts: Parts,
    ) -> None:
        """Nothing is reported yet."""
        self._report = report
        self._failing, self._checkpoints = troubles
        self._parts = parts
        now = asyncio.get_running_loop().time()
        self._full_at = now
        self._state: Connected | None = None
        self._trouble = Trouble()
        self._hanging = Hanging()
        self._looked_at = now
        self._skips = Skips(report)

    def look(self, now: float) -> None:
        """Report what changed since the last look."""
        self._hanging.look(self._parts.engine.nodes, now)
        if now - self._looked_at >= HANGS_S / 2:
            self._trouble = Trouble(HANGS)  # a thread may have reported it (`signs.py`)
        self._looked_at = now
        self._look_at_connections(now)
        self._skips.look(self._parts.engine.nodes, now)

    async def run(self, losses: Losses, *, has_state: bool) -> None:
        """Look, and count what connections and an earlier launch lost, until cancelled."""
        while True:
            self.look(asyncio.get_running_loop().time())
            losses.look(self._parts, has_state=has_state)
            await asyncio.sleep(LOOK_S)

    def last(self) -> None:
        """Report what the launch ends with; no connection counts any more."""
        self._skips.last(self._parts.engine.nodes)
        if self._trouble.reason in (FAILED, HANGS) and not self._failing.trouble.reason:
            self._trouble = Trouble()
            self._report(self._trouble)

    def _look_at_connections(self, now: float) -> None:
        parts = self._parts
        up = [each.is_connected for each in parts.senders]
        up += [parts.receivers.is_connected(each) for each in parts.inlets.origins]
        state = connectivity(sum(up), len(up))
        if state != self._state:
            self._report(Connectivity(state))
            self._state = state
        self._full_at = now if state == "Full" else min(self._full_at, now)
        found = self._failing.trouble
        found = found if found.reason else self._hanging.trouble
        if not found.reason and now - self._full_at >= TROUBLE_S:
            found = trouble_of(parts)
        found = found if found.reason else self._checkpoints.trouble
        if found != self._trouble:
            self._report(found)
            self._trouble = found


class Losses:
    """How many tuples this launch counts as lost, by cause: logged and reported as they grow."""

    def __init__(self, report: Callable[[Report], None]) -> None:
        """None is lost."""
        self.by_cause: dict[str, int] = {}
        self._report = report
        self._in_hand = self._lacks = 0

    def be_late(self, in_hand: int, lacks: int, *, again: bool) -> None:
        """Count what a PE that is late has in hand, and beside it what its saved state lacks.

        `again`: it was late before, and counted what it had in hand then: it takes nothing more in.
        """
        if not again:
            self._in_hand, self._lacks = in_hand, 0
            if in_hand:
                self.add(in_hand, "StoppedLate")
        more = lacks - self._in_hand - self._lacks
        if more > 0:
            self._lacks += more
            self.add(more, "WentBack")

    def add(self, tuples: int, why: str) -> None:
        """Count tuples of a cause."""
        self.by_cause[why] = self.by_cause.get(why, 0) + tuples
        total = sum(self.by_cause.values())
        LOG.warning("at most %d tuples are lost (%s), %d in this launch", tuples, why, total)
        self._report(Lost(total, why))

    def look(self, parts: Parts, *, has_state: bool) -> None:
        """Count what `lost_by` finds."""
        for why, total in lost_by(parts, has_state=has_state):
            if total > self.by_cause.get(why, 0):
                self.add(total - self.by_cause.get(why, 0), why)

    async def let_out(self, parts: Parts, within_s: float = FLUSH_S) -> OperatorFailed | None:
        """Flush what could not be so far, in this time; what is held back still is lost.

        Returns why.
        """
        failure, lost = await parts.engine.let_out(within_s)
        if lost:
            self.add(lost, "HeldBack")
        return failure


async def tell_awaited(
    quiescing: Quiescing, parts: Parts, report: Callable[[Report], None]
) -> None:
    """Report whom a PE that comes to rest waits for, when that changes, and again where it lasts.

    It goes on until it is cancelled.
    """
    now = asyncio.get_running_loop().time
    begun, reported_s = now(), 0
    await asyncio.sleep(LOOK_AT_REST_S)
    known, taken = None, taken_in(parts)
    while True:
        await asyncio.sleep(LOOK_AT_REST_S)
        before, taken = taken, taken_in(parts)
        has_work = taken != before or _queued_in(parts) > 0
        awaited = () if has_work else tuple(sorted(quiescing.awaited)[:AWAITED_MAX])
        rests_s = int(now() - begun)
        is_step = rests_s >= RESTS_S and rests_s // RESTS_AGAIN_S > reported_s // RESTS_AGAIN_S
        if awaited != known or (awaited and is_step):
            report(Resting(quiescing.barrier.generation, awaited, rests_s if awaited else 0))
            known, reported_s = awaited, rests_s


def taken_in(parts: Parts) -> int:
    """How many tuples this launch has taken in."""
    return sum(parts.receivers.tuples(each) for each in parts.inlets.origins)


class Skips:
    """How many tuples this launch skipped: reported at the first, once a minute, and at the end."""

    def __init__(self, report: Callable[[Report], None]) -> None:
        """None is skipped."""
        self._report = report
        self._reported = 0
        self._due = 0.0

    def look(self, nodes: Iterable[Node], now: float) -> None:
        """Report what was skipped, if it is due at `now` (seconds of the event loop's clock)."""
        total = sum(each.counts.skipped for each in nodes)
        if total > self._reported and (now >= self._due or not self._reported):
            self._report(Skipped(total))
            self._reported, self._due = total, now + SKIPS_S

    def last(self, nodes: Iterable[Node]) -> None:
        """Report what was skipped and is not reported yet: the launch ends."""
        self.look(nodes, self._due)


def in_hand_of(parts: Parts) -> int:
    """Tuples that this PE took in, or made of those, and that nobody else has for certain."""
    return _queued_in(parts) + sum(each.unacknowledged for each in parts.senders)


def _queued_in(parts: Parts) -> int:
    nodes = parts.engine.nodes
    queued = sum(e.queue.tuples + e.at_work for e in nodes if e.queue is not None)
    return queued + sum(tuples_of(each.left) for each in nodes)


def lost_by(parts: Parts, *, has_state: bool) -> Iterator[tuple[str, int]]:
    """At most how many tuples were lost so far, by cause.

    `OnTheWay`: sent to a launch of a peer that was killed. `InHand`: our last launch had them when
    it was killed. `OutOfState`: it took them in after it saved its state, which lacks them, if the
    PE has state.
    """
    losses = parts.receivers.losses()
    yield "OnTheWay", sum(each.counts.lost for each in parts.senders)
    yield "InHand", max((each.in_hand for each in losses), default=0)
    if has_state:
        yield "OutOfState", sum(each.tuples for each in losses)


def trouble_of(parts: Parts) -> Trouble:
    """What keeps a PE, some of whose connections are missing, from its peers."""
    if problems := parts.receivers.problems():
        origin = min(problems, key=lambda each: (each.pe, each.port, each.at))
        return Trouble("PeerRefused", problems[origin])
    if missing := [each for each in parts.senders if not each.is_connected]:
        first = min(missing, key=lambda each: each.route.receiver)
        return Trouble("PeerMissing", first.trouble or f"waits for PE {first.route.receiver}")
    silent = [e.pe for e in parts.inlets.origins if not parts.receivers.is_connected(e)]
    return Trouble("PeerMissing", f"waits for PE {min(silent)} to connect") if silent else Trouble()
