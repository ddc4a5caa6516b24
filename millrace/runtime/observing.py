"""What a PE shows of itself: the values of its metrics, and tuples as they pass.

`/tap?stream=NAME&limit=N` on the port of the metrics gives the tuples of a stream as lines of JSON.
Nobody waits for who taps: tuples that come faster than they are read are left out, and a line that
begins with `#` says how many. No line of JSON begins so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

import msgspec

from millrace.runtime.barriers import Barrier
from millrace.runtime.connections import Outlet
from millrace.runtime.metrics import (
    Connection,
    OperatorInput,
    OperatorOutput,
    PeInput,
    PeOutput,
    Snapshot,
)
from millrace.runtime.nodes import Node
from millrace.runtime.operators import Batch
from millrace.runtime.pe import Pe
from millrace.runtime.sending import Sender
from millrace.runtime.serving import Reply, Request
from millrace.runtime.weighing import WAITING_BYTES, deep

TAPPED_MAX: Final = 1_000
"""Tuples that wait to be read; more are left out, and so are more bytes than `WAITING_BYTES`."""
TAPS_MAX: Final = 16


def snapshot_of(pe: Pe) -> Snapshot:
    """The values of the metrics of a PE that runs; nothing before it does."""
    if not pe.has_begun:
        return Snapshot(lost=dict(pe.losses.by_cause), refused=dict(pe.refused))
    placed = pe.begun.made.placed
    return Snapshot(
        inputs=tuple(_inputs(pe)),
        outputs=tuple(_output(port, each) for port, each in sorted(pe.begun.outlets.items())),
        operator_inputs=tuple(
            _operator_input(each.instance.index, each.instance.path, each.node)
            for each in placed
            if each.operator.takes is not None
        ),
        operator_outputs=tuple(
            OperatorOutput(
                each.instance.index,
                each.instance.name,
                each.instance.path,
                0,
                each.node.counts.given,
                each.node.counts.windows,
                int(each.node.has_ended),
            )
            for each in placed
            if each.operator.gives is not None
        ),
        lost=dict(pe.losses.by_cause),
        refused=dict(pe.refused),
        skipped={e.instance.name: e.node.counts.skipped for e in placed if e.node.counts.skipped},
        hand_over_s=pe.hand_over_s,
        checkpoint_s=pe.states.write_s,
        checkpoint_bytes=pe.states.bytes_written,
        waiting_bytes=dict(_waiting_bytes(pe)),
    )


def _waiting_bytes(pe: Pe) -> Iterator[tuple[str, int]]:
    """The bytes of tuples that wait: large ones behind sources, all in queues, those for peers."""
    for each in pe.begun.made.placed:
        if (waiting := each.node.waiting_bytes) is not None:
            yield each.instance.name, waiting
    for port, outlet in sorted(pe.begun.outlets.items()):
        yield f"output port {port}", sum(each.unacknowledged_bytes for each in outlet.senders)


def _inputs(pe: Pe) -> Iterator[PeInput]:
    for port, node in sorted(pe.begun.made.inputs.items()):
        counts = node.counts
        yield PeInput(
            port,
            counts.taken,
            pe.begun.bytes_taken.get(port, 0),
            counts.windows,
            counts.finals,
        )


def _output(port: int, outlet: Outlet) -> PeOutput:
    senders = outlet.senders
    counts = [each.counts for each in senders]
    return PeOutput(
        port,
        max((each.tuples_submitted for each in counts), default=0),
        max((each.bytes_submitted for each in counts), default=0),
        outlet.windows,
        outlet.finals,
        sum(each.broken for each in counts),
        sum(each.tuples_transmitted for each in counts),
        sum(each.bytes_transmitted for each in counts),
        sum(not each.is_connected for each in senders),
        0,
        tuple(_connection(each) for each in senders if each.is_connected),
    )


def _connection(sender: Sender) -> Connection:
    route = sender.route
    return Connection(route.receiver, route.receiver_port, int(sender.congestion * 100))


def _operator_input(index: int, path: str, node: Node) -> OperatorInput:
    counts, queue = node.counts, node.queue
    return OperatorInput(
        index,
        node.name,
        path,
        0,
        counts.taken,
        counts.dropped,
        counts.windows,
        counts.finals,
        queue.waits if queue else 0,
        queue.tuples if queue else 0,
        queue_size=queue.limit if queue else 0,
        max_items_queued=queue.most if queue else 0,
    )


class _Tap:
    """A target beside those of a node: keeps some tuples until they are read."""

    def __init__(self) -> None:
        self.left_out = 0
        self.has_ended = False
        self._items: list[Any] = []
        self._bytes = 0
        self._filled = asyncio.Event()

    async def take(self, batch: Batch) -> None:
        """Keep what fits: the first one always, and nothing behind what does not. Nobody waits."""
        for place, each in enumerate(batch):
            size = 0 if self._is_full else deep(each)
            if self._is_full or (self._items and self._bytes + size > WAITING_BYTES):
                self.left_out += len(batch) - place
                break
            self._items.append(each)
            self._bytes += size
        self._filled.set()

    @property
    def _is_full(self) -> bool:
        return self.left_out > 0 or len(self._items) >= TAPPED_MAX

    async def take_barrier(self, barrier: Barrier) -> None:
        """Remember that the stream has ended."""
        self.has_ended = self.has_ended or barrier.kind == "final"
        self._filled.set()

    async def read(self) -> tuple[list[Any], int]:
        """What was kept, and how many were left out after it. Waits; no items: it has ended."""
        while not self._items and not self.has_ended:
            self._filled.clear()
            await self._filled.wait()
        items, self._items, self._bytes = self._items, [], 0
        left_out, self.left_out = self.left_out, 0
        return items, left_out


class Taps:
    """Answers requests for tuples of a stream."""

    def __init__(self, pe: Pe) -> None:
        """Nothing of this PE was read."""
        self._pe = pe
        self._count = 0

    async def serve(self, request: Request) -> Reply:
        """Lines of JSON, one a tuple, until the limit, the end, or the reader goes."""
        nodes = self._nodes(request.query.get("stream", ""))
        limit = request.query.get("limit", "0")
        if not nodes:
            return _refusal(404, f"this PE has the streams {self._known()}")
        if not (limit.isascii() and limit.isdigit() and len(limit) < 10):
            return _refusal(400, f"limit is {limit[:40]!r}, and has to be a number")
        if self._count >= TAPS_MAX:
            return _refusal(503, f"{TAPS_MAX} others read tuples of this PE")
        return Reply(self._lines(nodes, int(limit)), content_type="application/x-ndjson")

    async def _lines(self, nodes: list[Node], limit: int) -> AsyncGenerator[bytes, None]:
        """The slot is taken from the first line that is wanted until the reader goes."""
        written = 0
        with self._tapped(nodes) as tap:
            while True:
                items, left_out = await tap.read()
                chosen = items[: limit - written] if limit else items
                written += len(chosen)
                lines = b"".join(msgspec.json.encode(each) + b"\n" for each in chosen)
                is_full = bool(limit) and written >= limit
                if left_out and not is_full:
                    lines += b"# %d tuples were left out\n" % left_out
                if lines:
                    yield lines
                if is_full or not items:
                    return

    @contextlib.contextmanager
    def _tapped(self, nodes: list[Node]) -> Iterator[_Tap]:
        tap = _Tap()
        tap.has_ended = all(each.has_ended for each in nodes)
        self._count += 1
        for each in nodes:
            each.targets.append(tap)
        try:
            yield tap
        finally:
            self._count -= 1
            for each in nodes:
                each.targets.remove(tap)

    def _nodes(self, stream: str) -> list[Node]:
        """Those of a stream, by the name of one channel, or by the logical one."""
        if not self._pe.has_begun:
            return []
        return [
            each.node
            for each in self._pe.begun.made.placed
            if each.operator.gives is not None
            and stream in (each.instance.name, each.instance.path)
        ]

    def _known(self) -> str:
        if not self._pe.has_begun:
            return "none yet"
        placed = self._pe.begun.made.placed
        names = {each.instance.name for each in placed if each.operator.gives is not None}
        return ", ".join(sorted(names)) or "none"


def _refusal(status: int, text: str) -> Reply:
    return Reply(f"{text}\n".encode(), status)
