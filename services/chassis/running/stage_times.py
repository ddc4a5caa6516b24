"""Where time goes between a write and what it leads to: one histogram, one series a stage.

`millrace_stage_seconds{stage=…}`, in order of what happens:

* `seen`: the answer to a write of ours → watch-ingest saw its watch event
* `produced`: watch event seen → its record was handed to the log
* `read`: handed to the log → the record was taken in here
* `waited`: a key was marked by a fact → its decision began
* `decided`: snapshot and decision
* `carried_out`: all effects of a decision that had some

What a single request took is `request_metrics.py`'s. Stages between processes compare clocks of
machines and are as good as those; below zero counts as zero.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from contracts.facts import SyncCompleted
from services.chassis.process.clock import Clock
from services.chassis.process.metrics import Metrics
from services.chassis.table.entries import Change
from services.chassis.table.reading import FactRecord

STAGE_SECONDS = "millrace_stage_seconds"
REMEMBERED_WRITES_MAX = 20_000
REMEMBERED_KEYS_MAX = 20_000


class StageTimes:
    """The times of one stage runner; what it remembers is bounded."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._answered_s: OrderedDict[tuple[Hashable, int], float] = OrderedDict()
        self._marked_s: dict[Hashable, float] = {}

    def note_write(self, change: Change) -> None:
        """The answer to a write of ours entered the table."""
        entry = change.new
        if entry is None:
            return
        self._answered_s[entry.ref, entry.resource_version] = self._clock.now()
        if len(self._answered_s) > REMEMBERED_WRITES_MAX:
            self._answered_s.popitem(last=False)

    def note_read(self, record: FactRecord) -> None:
        """A fact was taken in."""
        seen_s = record.envelope.time_s
        self._observe("produced", record.appended_s - seen_s)
        self._observe("read", self._clock.now() - record.appended_s)
        fact = record.fact
        if isinstance(fact, SyncCompleted):
            return
        written = ((fact.kind, fact.namespace, fact.name), fact.resource_version)
        answered_s = self._answered_s.pop(written, None)
        if answered_s is not None:
            self._observe("seen", seen_s - answered_s)

    def note_marked(self, key: Hashable) -> None:
        """A fact made a key dirty; the first mark counts."""
        if len(self._marked_s) < REMEMBERED_KEYS_MAX:  # keys that others took are never begun
            self._marked_s.setdefault(key, self._clock.monotonic())

    def note_begun(self, key: Hashable) -> float:
        """The decision of a key begins; returns when (monotonic)."""
        now_s = self._clock.monotonic()
        marked_s = self._marked_s.pop(key, None)
        if marked_s is not None:
            self._observe("waited", now_s - marked_s)
        return now_s

    def note_decided(self, began_s: float) -> float:
        """The decision is taken; returns when (monotonic)."""
        now_s = self._clock.monotonic()
        self._observe("decided", now_s - began_s)
        return now_s

    def note_carried_out(self, began_s: float) -> None:
        """All effects of a decision have ended."""
        self._observe("carried_out", self._clock.monotonic() - began_s)

    def _observe(self, stage: str, seconds: float) -> None:
        self._metrics.observe(STAGE_SECONDS, max(0.0, seconds), stage=stage)
