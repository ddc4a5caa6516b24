"""Objects as they were when they could be read last.

What cannot be read says nothing: neither that the object is gone, nor that it changed. So what was
known of it goes on counting, as long as it is the same object, and it is counted and logged.
"""

from __future__ import annotations

from collections.abc import Callable

from contracts.unreadable import ObjectUnreadable
from services.chassis.process.log_lines import log_of
from services.chassis.process.metrics import Metrics
from services.chassis.table.table import Entry

ObjectRef = tuple[str, str, str]
"""(kind, namespace, name)."""


class Readable:
    """The last entry of each object that could be read, and which objects cannot be read now."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._log = log_of("intake")
        self._last: dict[ObjectRef, Entry] = {}
        self._unreadable: set[ObjectRef] = set()

    @property
    def refs(self) -> set[ObjectRef]:
        """Every object that could be read and was not seen to be gone."""
        return set(self._last)

    def last(self, ref: ObjectRef) -> Entry | None:
        """The object as it could be read last."""
        return self._last.get(ref)

    def forget(self, ref: ObjectRef) -> None:
        """There is no such object."""
        self._last.pop(ref, None)
        self._mark(ref, is_unreadable=False)

    def read(self, entry: Entry, take_in: Callable[[Entry], None]) -> bool:
        """Take in an object, or how it was when it could be read last; False where it never was."""
        try:
            take_in(entry)
        except Exception as problem:  # noqa: BLE001 - a bad object must not stop what others wait for
            if not isinstance(problem, ObjectUnreadable):
                self.note_crash("reading", entry.ref)
            self._mark(entry.ref, is_unreadable=True)
            last = self._last.get(entry.ref)
            if last is None or last.uid != entry.uid:
                self._last.pop(entry.ref, None)
                return False
            take_in(last)
            return True
        self._last[entry.ref] = entry
        self._mark(entry.ref, is_unreadable=False)
        return True

    def note_crash(self, where: str, ref: tuple[str, ...]) -> None:
        """Count and log what an object made crash; called where the exception is caught."""
        self._metrics.count("millrace_crashes_total", where=where)
        self._log.exception(f"{where}_crashed", object="/".join(ref))

    def _mark(self, ref: ObjectRef, *, is_unreadable: bool) -> None:
        if is_unreadable == (ref in self._unreadable):
            return
        (self._unreadable.add if is_unreadable else self._unreadable.discard)(ref)
        self._metrics.set_gauge("hostpool_manager_unreadable_objects", len(self._unreadable))
