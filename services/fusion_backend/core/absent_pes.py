"""Which PEs have not begun since a hand-over: their runtime has not reported its start.

The runtime reports its start when it has loaded and saved its state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from contracts.resources.processing_element import keeps_state
from contracts.runtime_image import is_our_runtime
from millrace.protocol import HandOver
from services.chassis.table.entries import is_deleting
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import Snapshot, stamp_of

NONE_YET: Final = 0
"""The launch of a PE that has none yet. Its first one takes its place, or begins behind it."""


def needs(snapshot: Snapshot, former: HandOver) -> bool:
    """Whether a PE that keeps state may not have begun since a hand-over that it begins with.

    One that is deleting may be created again.
    """
    entries = snapshot.of("ProcessingElement").values()
    pes = absent(snapshot, former.generation, former.pes)
    return any(each.unreadable or is_deleting(each) for each in entries) or any(
        keeps_state(each.spec) and (each.id in former.pes or _is_ours(each)) for each in pes
    )


def absent(snapshot: Snapshot, generation: int, listed: Mapping[int, int]) -> Iterator[PeSeen]:
    """The PEs that begin with a hand-over, and have not begun since. `listed`: its launches."""
    for entry in snapshot.of("ProcessingElement").values():
        if not (entry.unreadable or is_deleting(entry)):
            seen, is_new = PeSeen(entry), stamp_of(entry) == generation
            before = listed.get(seen.id, NONE_YET if is_new else None)
            if before is not None and _started(seen) <= before:
                yield seen


def _is_ours(seen: PeSeen) -> bool:
    """Whether its runtime is one that reports its start."""
    return is_our_runtime(str(seen.spec.get("image") or ""))


def _started(seen: PeSeen) -> int:
    """The launch whose runtime reports that it has loaded its state; 0: none does.

    The API server fills in `handsOver: false` beside any other report, as that of a seal.
    """
    runtime = seen.status.get("runtime") or {}
    has_started = runtime.get("handsOver") or runtime.get("name")
    return int(runtime.get("launch") or 0) if has_started else NONE_YET
