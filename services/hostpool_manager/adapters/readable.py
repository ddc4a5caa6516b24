"""The last readable state of each object.

An unreadable fact is no evidence that the object is gone or changed. So the last readable state of
the same object (uid) goes on counting, and the object is counted and logged.
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
    """The last readable entry of each object, and the objects that are unreadable now."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._log = log_of("intake")
        self._last: dict[ObjectRef, Entry] = {}
        self._unreadable: set[ObjectRef] = set()

    @property
    def refs(self) -> set[ObjectRef]:
        """Every object with a readable entry that is not known to be gone."""
        return set(self._last)

    def last(self, ref: ObjectRef) -> Entry | None:
        """The last readable entry of an object."""
        return self._last.get(ref)

    def forget(self, ref: ObjectRef) -> None:
        """Drop an object that does not exist any more."""
        self._last.pop(ref, None)
        self._mark(ref, is_unreadable=False)

    def read(self, entry: Entry, apply: Callable[[Entry], None]) -> bool:
        """Apply an entry, or the last readable one of the same object; False without one."""
        try:
            apply(entry)
        except Exception as problem:  # noqa: BLE001 - a bad object must not stop the others
            if not isinstance(problem, ObjectUnreadable):
                self.note_crash("reading", entry.ref)
            self._mark(entry.ref, is_unreadable=True)
            last = self._last.get(entry.ref)
            if last is None or last.uid != entry.uid:
                self._last.pop(entry.ref, None)
                return False
            apply(last)
            return True
        self._last[entry.ref] = entry
        self._mark(entry.ref, is_unreadable=False)
        return True

    def note_crash(self, where: str, ref: tuple[str, ...]) -> None:
        """Count and log a crash that an object caused; called where the exception is caught."""
        self._metrics.count("millrace_crashes_total", where=where)
        self._log.exception(f"{where}_crashed", object="/".join(ref))

    def _mark(self, ref: ObjectRef, *, is_unreadable: bool) -> None:
        if is_unreadable == (ref in self._unreadable):
            return
        (self._unreadable.add if is_unreadable else self._unreadable.discard)(ref)
        self._metrics.set_gauge("hostpool_manager_unreadable_objects", len(self._unreadable))
