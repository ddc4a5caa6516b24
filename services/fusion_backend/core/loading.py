"""New widths wait until PEs have loaded the state that was handed over.

1. A launch finds what it has to load in the hand-over that the Job's status records. The next
   generation replaces that, and does not list a PE whose launch has not started.
2. Of the newest plan, these PEs load from it: those that it lists, until a later launch has
   reported its start, and those that its generation added, until one has. The runtime reports its
   start when it has loaded and saved its state.
3. No width is taken up until then, nor together with the end of the hand-over. The wait ends at the
   latest when as much time has passed as a hand-over may take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts.moments import unix_s_of
from services.chassis.table.entries import is_deleting
from services.fusion_backend.core.handing_over import HandOver
from services.fusion_backend.core.naming_pes import first_and_more
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot, stamp_of


@dataclass(frozen=True, slots=True)
class Loading:
    """The PEs that widths wait for, at least one, and until when (unix seconds).

    `until` is None while the hand-over itself ends: its write is seen.
    """

    pes: tuple[int, ...]
    until: float | None

    @property
    def text(self) -> str:
        """What widths wait for, as a sentence without its subject."""
        return f"waits for {first_and_more(self.pes)} to load the state that was handed over"


def loading(snapshot: Snapshot, plan: KnownPlan, now: float) -> Loading | None:
    """What new widths wait for; None if they may be taken up."""
    hand_over = HandOver(snapshot, None, now)
    is_awaited = hand_over.is_going_on and not hand_over.is_ended
    if is_awaited or not hand_over.sealed:
        return None
    until = _ends_at(hand_over)
    if until is not None and now >= until:
        return None
    pes = tuple(_to_load(snapshot, plan, hand_over))
    return Loading(pes, until) if pes else None


def _ends_at(hand_over: HandOver) -> float | None:
    """When the wait ends; in the past if the hand-over ends at a time that is still to come."""
    if hand_over.is_going_on:
        return None
    completed = hand_over.recorded.get("completedAt")
    completed_s = unix_s_of(completed) if completed else 0.0
    # A moment that is still to come is one of another clock: it holds up nothing.
    return completed_s + hand_over.lasts_s if completed_s <= hand_over.now else 0.0


def _to_load(snapshot: Snapshot, plan: KnownPlan, hand_over: HandOver) -> Iterator[int]:
    entries, listed = snapshot.of("ProcessingElement"), hand_over.pes
    for pe in plan.record.pes:
        entry = entries.get(pe.name)
        if entry is None or entry.unreadable or is_deleting(entry):
            continue
        started, is_written = _started(PeSeen(entry)), stamp_of(entry) == hand_over.generation
        if (pe.id in listed and started <= listed[pe.id]) or (
            pe.id not in listed and is_written and not started
        ):
            yield pe.id


def _started(seen: PeSeen) -> int:
    """The launch whose runtime reports that it has loaded its state; 0: none does."""
    runtime = seen.status.get("runtime") or {}
    return int(runtime.get("launch") or 0) if "handsOver" in runtime else 0
