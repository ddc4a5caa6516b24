"""Mutants of the bounds, in bytes, of tuples that wait."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_BYTES = ("tests/unit/millrace/test_bytes_that_wait.py",)
_WINDOWS = ("tests/unit/millrace/test_heavy_windows.py",)

MUTANTS = (
    Mutant(
        "a queue is full of tuples alone, however large they are",
        "millrace/runtime/queues.py",
        "Queue.put",
        "self.tuples >= self.limit or self.bytes >= WAITING_BYTES",
        "self.tuples >= self.limit",
        _BYTES,
    ),
    Mutant(
        "a source is read until many tuples wait, however large they are",
        "millrace/runtime/feeding.py",
        "Feed._may_read_on",
        "len(self._items) >= LIMIT or self._backlog.is_full",
        "len(self._items) >= LIMIT",
        _BYTES,
    ),
    Mutant(
        "a function makes large tuples of a whole batch at once",
        "millrace/runtime/weighing.py",
        "Load.add",
        "self._bytes >= BATCH_BYTES or self._tuples >= MADE_MAX",
        "self._tuples >= MADE_MAX",
        _BYTES,
    ),
    Mutant(
        "what a heavy function has not processed is forgotten where it cancels its task",
        "millrace/runtime/operators.py",
        "Execution.given_by",
        "(Take(self.unprocessed),) if self.unprocessed else ()",
        "()",
        _BYTES,
    ),
    Mutant(
        "behind a large tuple only some are weighed",
        "millrace/runtime/weighing.py",
        "Scale._saw",
        "ALERT if largest > LARGE_BYTES else max(self._alert - tuples, 0)",
        "0",
        _BYTES,
    ),
    Mutant(
        "a batch without tuples is kept in a queue that drops the first ones",
        "millrace/runtime/queues.py",
        "Queue._drop_older",
        "if self._items[index]:",
        "if True:",
        _BYTES,
    ),
    Mutant(
        "all results of windows that are due at once are in memory",
        "millrace/runtime/windowing.py",
        "_Windows._give",
        "self._load.add((result,))",
        "pass",
        _WINDOWS,
    ),
    Mutant(
        "a window that moved away between two rounds gives its result here, too",
        "millrace/runtime/windowing.py",
        "TimeWindows._has",
        "self.windows.values.get(key) is window",
        "True",
        _WINDOWS,
    ),
    Mutant(
        "tuples overtake the results that were due before them",
        "millrace/runtime/windowing.py",
        "TimeWindows.process",
        "self.unprocessed = batch",
        "pass",
        _WINDOWS,
    ),
    Mutant(
        "the end of a stream gives the first round of results alone",
        "millrace/runtime/nodes.py",
        "Node.finish",
        "if not given:\n    break\nawait self.send(given)",
        "await self.send(given)\nbreak",
        _WINDOWS,
    ),
)
