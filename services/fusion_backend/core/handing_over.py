"""The hand-over of a resize: PEs seal their state before they are replaced or removed.

1. The PEs that hand over are those whose launch runs another content than the newest plan gives
   them, or that it does not name, and whose runtime reports that it hands over, or is ours. What
   is on its way to a PE that is not listed would go to it by its old route, though another one may
   have its keys by then. One that does not begin is listed as gone, so that nobody waits for it.
   Without such a PE, there is no hand-over: nothing is written, and nothing waits.
2. It begins with the status that says Resizing, and ends when each of these launches has sealed its
   state or is gone, or at its deadline. Until then a listed PE keeps its content: where its launch
   ends, the next one runs what its peers expect, takes what is on its way, and is listed instead;
   it is waited for while its restart backs off, if that is over before the deadline. What holds
   up the others may be given up before (holding_up.py): then it is gone.
3. A newer plan replaces it, also by one of no PEs: a PE that it does not name goes on. PEs that
   have not begun since an older one begin with that: it is kept (former_hand_overs.py).

Properties: what is recorded never shrinks. Whether a launch is gone is read from the status of its
PE, which pod-state-machine writes, and not from pods: their facts may be late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from contracts import labels
from contracts.moments import unix_s_of
from contracts.reasons import Reason
from contracts.resources import PePhase
from contracts.resources.hand_over import hand_over_in
from contracts.resources.scaling import hand_over_s
from contracts.runtime_image import is_our_runtime
from millrace.protocol import HandOver
from services.chassis.table.entries import Entry, annotation, is_deleting, label
from services.fusion_backend.core.absent_pes import NONE_YET, needs
from services.fusion_backend.core.former_hand_overs import complete_in, needed
from services.fusion_backend.core.hand_over_changes import HandOverChange
from services.fusion_backend.core.holding_up import (
    Times,
    Unsealed,
    given_up,
    given_up_next,
    unsealed_of,
)
from services.fusion_backend.core.pods_seen import started_at
from services.fusion_backend.core.seen import PeSeen
from services.fusion_backend.core.snapshot import JobSeen, KnownPlan, Snapshot, stamp_of

Launches = dict[int, int]
_NONE: Final = HandOver(generation=-1, pes={}, complete=True)
BEGINS_S: Final = 60.0
"""So long after the start of its container our runtime has reported, also where pe-gateway was
restarted meanwhile: with ten seconds, PEs that began just then on two cores lost their state."""
_OVER: Final = frozenset({PePhase.COMPLETED, PePhase.FAILED, PePhase.STOPPED})
_BLOCKED: Final = frozenset(
    {
        Reason.UNSCHEDULABLE,
        Reason.VOLUMES_NOT_MOUNTED,
        Reason.IMAGE_PULL_FAILED,
        Reason.CONTAINER_NOT_STARTED,
    }
)
"""Why the process of a pod does not begin."""


@dataclass(frozen=True)
class HandingOver:
    """The hand-over that a Job's status has, and the one that its newest plan needs.

    `plan` is None before it is read; then only the recorded one goes on.
    """

    snapshot: Snapshot
    plan: KnownPlan | None
    now: float

    @property
    def _job(self) -> JobSeen:
        assert self.snapshot.job is not None, "a hand-over is of a Job"
        return self.snapshot.job

    @property
    def _field(self) -> Mapping[str, Any]:
        """What the status says; empty before the first hand-over."""
        return self._job.status.get("handOver") or {}

    @cached_property
    def recorded(self) -> HandOver:
        """What the status says; before the first hand-over one of no PEs, which is complete."""
        return hand_over_in(self._job.status) or _NONE

    @property
    def completed_s(self) -> float:
        """When the recorded one ended (unix seconds); 0 if the status does not say it."""
        completed = self._field.get("completedAt")
        return unix_s_of(completed) if completed else 0.0

    @property
    def lasts_s(self) -> int:
        """How long a hand-over may last (seconds); 0: PEs do not hand over."""
        return hand_over_s(self._job.spec_field("scaling"))

    # ------------------------------------------------------------------ one that begins

    @property
    def is_due(self) -> bool:
        """Whether the newest plan needs a hand-over that the status does not have.

        Where PEs of an older one still wait for their end, that one needs an end, too.
        """
        if self.plan is None or self.generation >= self.plan.record.generation:
            return False
        return bool(self.affected) or any(self._are_live(self.pes))

    @cached_property
    def affected(self) -> Launches:
        """The launches that hand over to the newest plan, by PE id."""
        if self.plan is None or not self.lasts_s:
            return {}
        return dict(sorted(self._affected(self.plan)))

    def _affected(self, plan: KnownPlan) -> Iterator[tuple[int, int]]:
        for entry in self.snapshot.of("ProcessingElement").values():
            if entry.unreadable or is_deleting(entry):
                continue
            seen = PeSeen(entry)
            launch = self._launch_of(seen)
            if launch is None:
                continue
            planned = plan.pes_by_name.get(entry.name)
            content = self._content_of(seen, max(launch, seen.launch_count))
            is_leaving = planned is None and stamp_of(entry) < plan.record.generation
            if is_leaving or (planned is not None and content not in (None, planned.content_id)):
                yield seen.id, launch

    def _launch_of(self, seen: PeSeen) -> int | None:
        """The launch of a PE that hands over; None where nothing says that it does.

        One of ours that did not report yet, or has no pod, will: it runs what the last one ran.
        """
        if reported := seen.launch_that_hands_over:
            return max(reported, seen.launch_count)
        is_ours = is_our_runtime(str(seen.spec.get("image") or ""))
        return max((NONE_YET, seen.launch_count, *self._launches(seen))) if is_ours else None

    def _launches(self, seen: PeSeen) -> dict[int, Entry]:
        """The pods of a PE by their launches: they say so before the status does."""
        pods = self.snapshot.pods.get(seen.id, ())
        counts = ((label(pod, labels.LAUNCH_COUNT), pod) for pod in pods)
        return {int(count): pod for count, pod in counts if count.isdecimal()}

    def _does_not_begin(self, pe: int, launch: int) -> bool:
        """Whether a launch that has reported nothing will not do so soon, or is over.

        One that runs for long reports nothing any more. Where no launch was ever recorded, what
        the status says keeps the first one from its pod.
        """
        entry = self._entry_of(pe)
        if entry is None or PeSeen(entry).launch_that_hands_over:
            return False
        seen = PeSeen(entry)
        pods = self._launches(seen)
        is_kept = not seen.launch_count and not pods and bool(seen.reason)
        started = started_at(pods[launch]) if launch in pods else None
        is_silent = started is not None and self.now - started > BEGINS_S
        # A pod that runs is newer than a reason that keeps it from running.
        is_blocked = started is None and seen.reason in _BLOCKED
        return seen.phase in _OVER or is_blocked or is_kept or is_silent

    def _content_of(self, seen: PeSeen, launch: int) -> str | None:
        """What a launch runs: as its pod says, else as the status says; None if nothing says so.

        Where nothing was ever launched, the first launch runs what the spec says.
        """
        for pod in self.snapshot.pods.get(seen.id, ()):
            if label(pod, labels.LAUNCH_COUNT) == str(launch):
                return annotation(pod, labels.CONTENT_ID) or None
        if launch == NONE_YET:
            return seen.content_id
        return seen.launched_content_id if seen.launch_count == launch else None

    def begun(self) -> HandOverChange:
        """The hand-over that is due; one of no PEs that begin is complete at once.

        So is that of a job that has ended: its PEs have nothing to hand over.
        """
        assert self.plan is not None, "observed: a hand-over is due"
        pes, ended = tuple(self.affected.items()), self._job.has_ended
        gone = tuple(pe for pe, launch in pes if ended or self._does_not_begin(pe, launch))
        return HandOverChange(
            self.plan.record.generation,
            pes,
            gone=gone,
            is_complete=len(gone) == len(pes),
            lasts_s=self.lasts_s,
            former=self.former,
        )

    @property
    def former(self) -> tuple[HandOver, ...]:
        """The hand-overs so far that PEs still need behind one that begins, from the newest."""
        if self._job.has_ended:
            return ()  # its PEs have nothing to begin with
        formers = complete_in(hand_over_in(self._job.status))
        return needed(formers, lambda former: needs(self.snapshot, former))

    # ------------------------------------------------------------------ one that goes on

    @property
    def is_awaited(self) -> bool:
        """Whether PEs of older plans are kept: a hand-over is due, or goes on."""
        return self.is_due or self.is_going_on

    @property
    def kept(self) -> Launches:
        """The PEs whose spec stays as it is for now."""
        if self.is_due:
            return self.affected
        return self.pes if self.is_going_on else {}

    @property
    def is_going_on(self) -> bool:
        """Whether the newest generation that hands over has not come to its end."""
        return not self.recorded.complete

    @property
    def deadline(self) -> float | None:
        """When it ends at the latest (unix seconds); None if none goes on."""
        return self.recorded.deadline if self.is_going_on else None

    @property
    def looked_at_again(self) -> float | None:
        """When its next PE is given up, or it ends (unix seconds); None if none goes on."""
        if not self.is_going_on:
            return None
        return given_up_next(self._awaited, self._times, self.now) or self.deadline

    @property
    def is_ended(self) -> bool:
        """Whether one goes on whose PEs all have sealed, or ended, or had their time.

        Where a newer plan is recorded, its hand-over comes instead: what sealed is not launched.
        """
        is_over = self.is_going_on and (self._is_timed_out or not self.waiting)
        return is_over and not self._is_overtaken

    @property
    def is_changed(self) -> bool:
        """Whether a PE ended, or runs again, and the status does not say so."""
        news = self.gone - self._recorded_gone or self.relaunched or self._is_seal_hidden
        return self.is_going_on and bool(news)

    @property
    def waiting(self) -> list[int]:
        """The PEs that have not sealed yet, and may."""
        return [pe for pe in self.pes if pe not in self.sealed and pe not in self.gone]

    @cached_property
    def gone(self) -> frozenset[int]:
        """The PEs whose launch is over without a seal, and those that are given up."""
        return self._over | self.given_up

    @cached_property
    def given_up(self) -> frozenset[int]:
        """The PEs that hold up the others, and without which it goes on."""
        return given_up(self._awaited, self._times, self.now) if self.is_going_on else frozenset()

    @cached_property
    def _over(self) -> frozenset[int]:
        over = {pe for pe in self.pes if pe not in self.sealed and not self._is_live(pe)}
        return self._recorded_gone | over

    @cached_property
    def _awaited(self) -> dict[int, Unsealed]:
        """What those say that have not sealed, and may."""
        left = self.pes.keys() - self.sealed.keys() - self._over
        return {pe: self._seen_awaited(pe) for pe in sorted(left)}

    def _seen_awaited(self, pe: int) -> Unsealed:
        entry, launch = self._entry_of(pe), self.pes[pe]
        assert entry is not None, "what is not over has an entry"
        if entry.unreadable:
            return Unsealed(None, None)
        seen = PeSeen(entry)
        pod = self._launches(seen).get(launch)
        started = started_at(pod) if pod is not None else None
        return unsealed_of(seen.status, launch, self.generation, started)

    @property
    def _times(self) -> Times:
        deadline = self.recorded.deadline  # all that a status of an older release may have
        begun = self._field.get("begun")
        return Times(unix_s_of(begun) if begun else deadline, deadline)

    @cached_property
    def relaunched(self) -> Launches:
        """Newer launches of PEs that have not sealed, and still have the content of before."""
        seen = ((pe, self._entry_of(pe)) for pe in self.waiting)
        counts = {pe: PeSeen(entry).launch_count for pe, entry in seen if entry is not None}
        return {pe: count for pe, count in counts.items() if count > self.pes[pe]}

    @cached_property
    def sealed(self) -> Launches:
        """The launches that have sealed their state for the recorded generation."""
        before = self.recorded.sealed
        return {
            pe: launch
            for pe, launch in self.pes.items()
            if pe in before or (pe not in self._recorded_gone and self._has_sealed(pe))
        }

    def changed(self) -> HandOverChange:
        """What the status says of it now."""
        return self._change(self.gone, self.pes | self.relaunched, is_complete=False)

    def completed(self) -> HandOverChange:
        """Its end; what has not sealed until now is gone."""
        return self._change(self.gone.union(self.waiting), self.pes, is_complete=True)

    # ------------------------------------------------------------------ what is recorded

    @property
    def generation(self) -> int:
        """The generation that takes over; -1 before the first hand-over."""
        return self.recorded.generation

    @property
    def pes(self) -> Launches:
        """The launches that are listed, by PE id."""
        return self.recorded.pes

    @property
    def _is_overtaken(self) -> bool:
        """Whether a newer plan is recorded, and PEs of this one wait for their end."""
        is_newer = self.snapshot.newest_generation > self.generation
        return is_newer and any(self._are_live(self.pes))

    @property
    def _is_seal_hidden(self) -> bool:
        """Whether a PE that sealed runs again: soon its status says nothing of the seal."""
        new = self.sealed.keys() - self.recorded.sealed.keys()
        entries = map(self._entry_of, new)
        seen = [PeSeen(entry) for entry in entries if entry is not None]
        return any(each.launch_count > self.pes[each.id] for each in seen)

    @property
    def _recorded_gone(self) -> frozenset[int]:
        return self.recorded.gone

    @property
    def _is_timed_out(self) -> bool:
        return not self.lasts_s or self.now >= (self.deadline or 0.0)

    def _are_live(self, launches: Launches) -> Iterator[bool]:
        return (self._is_live(pe) for pe in launches)

    def _is_live(self, pe: int) -> bool:
        """Whether the recorded launch of a PE may still run."""
        entry = self._entry_of(pe)
        if entry is None or is_deleting(entry):
            return False
        if entry.unreadable:
            return True
        is_as_before = stamp_of(entry) < self.generation
        seen, deadline = PeSeen(entry), self.deadline or 0.0
        return not _is_over(seen, self.pes[pe], deadline, is_as_before=is_as_before)

    def _has_sealed(self, pe: int) -> bool:
        entry = self._entry_of(pe)
        if entry is None or entry.unreadable:
            return False
        return PeSeen(entry).sealed == (self.pes[pe], self.generation)

    def _entry_of(self, pe: int) -> Entry | None:
        name = labels.pe_name(self.snapshot.name, pe)
        return self.snapshot.of("ProcessingElement").get(name)

    def _change(self, gone: frozenset[int], pes: Launches, *, is_complete: bool) -> HandOverChange:
        return HandOverChange(
            self.generation,
            tuple(sorted(pes.items())),
            tuple(sorted(self.sealed.items())),
            tuple(sorted(gone)),
            is_complete,
        )


def _is_over(seen: PeSeen, launch: int, deadline: float, *, is_as_before: bool) -> bool:
    """Whether the status of a PE says that this launch is over, and none takes its place.

    `is_as_before`: a newer launch runs the same content. `deadline`: when one is too late (unix s).
    """
    count = seen.launch_count
    if count > launch and not is_as_before:
        return True
    restarts_at: str = seen.status.get("nextRestartTime") or ""
    is_restarted = is_as_before and bool(restarts_at) and unix_s_of(restarts_at) < deadline
    return count >= launch and seen.phase in _OVER and not is_restarted
