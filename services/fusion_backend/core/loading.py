"""New widths wait until PEs have loaded the state that was handed over.

1. A launch finds what it has to load in the hand-over that the Job's status records. The next
   generation replaces that, and does not list a PE whose launch has not started.
2. Of the newest plan, these PEs load from it: those that it lists, until a later launch has
   reported its start, and those that its generation added, until one has. The runtime reports its
   start when it has loaded and saved its state.
3. No width is taken up until then, nor together with the end of the hand-over. The wait ends at the
   latest when as much time has passed as a hand-over may take.
4. While the status has no room for another hand-over that PEs have not begun since, widths wait for
   them as long as it takes: what would be forgotten is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.fusion_backend.core.absent_pes import absent
from services.fusion_backend.core.former_hand_overs import is_full
from services.fusion_backend.core.handing_over import HandingOver
from services.fusion_backend.core.naming_pes import first_and_more
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot


@dataclass(frozen=True, slots=True)
class Loading:
    """The PEs that widths wait for, and until when (unix seconds).

    `until` is None while the hand-over itself ends, as its write is seen, and where they are waited
    for as long as it takes.
    """

    pes: tuple[int, ...]
    until: float | None

    @property
    def text(self) -> str:
        """What widths wait for, as a sentence without its subject."""
        named = first_and_more(self.pes) if self.pes else "PEs that cannot be read"
        return f"waits for {named} to load the state that was handed over"


def loading(snapshot: Snapshot, plan: KnownPlan, now: float) -> Loading | None:
    """What new widths wait for; None if they may be taken up."""
    hand_over = HandingOver(snapshot, None, now)
    planned = {each.name for each in plan.record.pes}
    if hand_over.lasts_s and is_full(kept := hand_over.former):
        every = {seen.id for each in kept for seen in absent(snapshot, each.generation, each.pes)}
        return Loading(tuple(sorted(every)), None)
    is_awaited = hand_over.is_going_on and not hand_over.is_ended
    if is_awaited or not hand_over.sealed:
        return None
    until = _ends_at(hand_over)
    if until is not None and now >= until:
        return None
    there = absent(snapshot, hand_over.generation, hand_over.pes)
    pes = tuple(sorted(each.id for each in there if each.name in planned))
    return Loading(pes, until) if pes else None


def _ends_at(hand_over: HandingOver) -> float | None:
    """When the wait ends; in the past if the hand-over ends at a time that is still to come."""
    if hand_over.is_going_on:
        return None
    completed_s = hand_over.completed_s
    # A moment that is still to come is one of another clock: it holds up nothing.
    return completed_s + hand_over.lasts_s if completed_s <= hand_over.now else 0.0
