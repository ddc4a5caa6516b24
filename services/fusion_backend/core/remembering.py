"""Remembers which children a predicate held for, so that only those that changed are looked at.

An entry of the table never changes: a changed object is another entry. So what a pure predicate
says of an entry stays true, and a decision on a job of 500 PEs need not ask it 500 times. No
decision depends on what is remembered: without it the predicate runs again and answers the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from services.chassis.table.entries import Entry


class Remembered:
    """The entries for which one predicate held when they were last looked at.

    It has none but those of the last look: no more than exist of the job.
    """

    __slots__ = ("_about", "_held")

    def __init__(self) -> None:
        self._about: Hashable = None
        self._held: Mapping[int, Entry] = {}

    def among(
        self, entries: Iterable[Entry], holds: Callable[[Entry], bool], about: Hashable = None
    ) -> Mapping[int, Entry]:
        """The entries for which the predicate holds, by their `id`.

        `about` is what the predicate depends on beside the entry: another value makes all new.
        """
        # An entry that is held lives, so no other one can have its id.
        known = self._held if about == self._about else {}
        held = {at: each for each in entries if (at := id(each)) in known or holds(each)}
        self._about, self._held = about, held
        return held
