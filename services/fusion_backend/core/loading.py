"""New widths wait until PEs can hand over: they have loaded their state, and run.

1. A launch finds what it has to load in the hand-over that the Job's status records. The next
   generation replaces that, and does not list a PE whose launch has not started.
2. Of the newest plan, these PEs load from it: those that it lists, until a later launch has
   reported its start, and those that its generation added, until one has. The runtime reports its
   start when it has loaded and saved its state.
3. No width is taken up until then, nor together with the end of the hand-over. The wait ends at the
   latest when as much time has passed as a hand-over may take.
4. Nor is one taken up between two launches of a PE that hands over, as its pods and status show:
   what is on its way to it would be lost, since its next launch has another content. The region
   says so; from then on the wait takes as long as a hand-over at the most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contracts import labels
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from services.chassis.table.entries import Entry, is_deleting, label
from services.fusion_backend.core.conditions import condition
from services.fusion_backend.core.handing_over import OVER, HandOver
from services.fusion_backend.core.naming_pes import first_and_more
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot, stamp_of


@dataclass(frozen=True, slots=True)
class Loading:
    """The PEs that widths wait for, at least one, and until when (unix seconds).

    `until` is None while the hand-over itself ends: its write is seen. `loads`: they have state to
    load; else they are between two launches.
    """

    pes: tuple[int, ...]
    until: float | None
    loads: bool = True

    @property
    def text(self) -> str:
        """What widths wait for, as a sentence without its subject."""
        pes = first_and_more(self.pes)
        if not self.loads:
            return f"waits for {pes} to start again"
        return f"waits for {pes} to load the state that was handed over"


def loading(snapshot: Snapshot, plan: KnownPlan, now: float) -> Loading | None:
    """What new widths wait for; None if they may be taken up."""
    hand_over = HandOver(snapshot, None, now)
    if hand_over.is_going_on and not hand_over.is_ended:
        return None
    return _loading(snapshot, plan, hand_over) or _starting(snapshot, plan, hand_over)


def _loading(snapshot: Snapshot, plan: KnownPlan, hand_over: HandOver) -> Loading | None:
    if not hand_over.sealed:
        return None
    now, until = hand_over.now, _ends_at(hand_over)
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


def _starting(snapshot: Snapshot, plan: KnownPlan, hand_over: HandOver) -> Loading | None:
    until = _waited_until(snapshot, hand_over)
    if hand_over.now >= until:
        return None
    entries = snapshot.of("ProcessingElement")
    found = (entries.get(pe.name) for pe in plan.record.pes)
    pes = tuple(PeSeen(e).id for e in found if e is not None and _is_starting(snapshot, e))
    return Loading(pes, until, loads=False) if pes else None


def _waited_until(snapshot: Snapshot, hand_over: HandOver) -> float:
    """When the wait for launches ends: by what a region says, else it begins now."""
    stated = [
        condition(PeSeen(e).status, "Accepted") for e in snapshot.of("ParallelRegion").values()
    ]
    began = [
        unix_s_of(each["lastTransitionTime"])
        for each in stated
        if each.get("reason") == Reason.STATE_LOADING.value
    ]
    first = min(began, default=hand_over.now)
    # As above, a moment that is still to come holds up nothing.
    return first + hand_over.lasts_s if first <= hand_over.now else 0.0


def _is_starting(snapshot: Snapshot, entry: Entry) -> bool:
    """Whether a PE that hands over has no launch just now that does."""
    if entry.unreadable or is_deleting(entry):
        return False
    seen = PeSeen(entry)
    launch = seen.launch_that_hands_over
    if not launch or seen.phase in OVER:
        return False
    own = (
        e for e in snapshot.pods.get(seen.id, ()) if label(e, labels.LAUNCH_COUNT) == str(launch)
    )
    return seen.launch_count > launch or not any(not is_deleting(pod) for pod in own)


def _started(seen: PeSeen) -> int:
    """The launch whose runtime reports that it has loaded its state; 0: none does."""
    runtime = seen.status.get("runtime") or {}
    return int(runtime.get("launch") or 0) if "handsOver" in runtime else 0
