"""A processing element (PE) at one moment, and what its snapshot shows; the rules ask it.

`launch` is the newest launch: that of `status.launchCount`, or, before any status was written, the
newest whose pod this PE controls or is known to have had. A pod that counts as gone with its node
(hanging.py) is treated as absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from contracts import labels
from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.pod_state_machine.core.awaiting import awaited_place, awaits_job, place_of
from services.pod_state_machine.core.ending import End, end_of
from services.pod_state_machine.core.hanging import (
    blocks_next_launch,
    counts_as_gone,
    hanging_deadlines,
    is_hanging,
)
from services.pod_state_machine.core.restarting import is_exhausted, restart_due_at, restart_wanted
from services.pod_state_machine.core.snapshot import Launched, Pe, PeSnapshot, Pod, Timing

FIRST_LAUNCH = 1
"""Its intent is the creation of the PE."""
ENDED = frozenset({PePhase.COMPLETED, PePhase.FAILED})


def newest_launch(pe: Pe, pods: tuple[Pod, ...], launched: Launched | None = None) -> int:
    """The number of the newest launch; 0 before the first."""
    if pe.status.launch_count > 0:
        return pe.status.launch_count
    if launched is not None:
        return launched.launch
    return max((pod.launch for pod in pods if pod.owner_uid == pe.uid), default=0)


def predecessors(pe: Pe) -> frozenset[str]:
    """Names of the pods beside which the next launch must not run.

    An intent without a pod name was written when no earlier pod existed: the set is empty.
    """
    launch, pod = pe.status.launch_count, pe.status.pod
    if launch < 2 or not pod:
        return frozenset()
    return frozenset((pod, labels.pod_name(pe.job, pe.id, pe.uid, launch - 1)))


@dataclass(frozen=True)
class Situation:
    """The input of every rule; `pe` is the PE of the snapshot, `now` in unix seconds."""

    snapshot: PeSnapshot
    pe: Pe
    now: float
    timing: Timing

    # ------------------------------------------------------------------ its owners and the view

    @property
    def has_lost_job(self) -> bool:
        """Whether its job is gone, is being deleted, or is another job of the same name."""
        job = self.snapshot.job
        return job is None or job.is_deleting or job.uid != self.pe.job_uid

    @property
    def is_behind(self) -> bool:
        """Whether a pod has a newer launch than the status: a fact of the PE is on its way."""
        pods = self.snapshot.pods
        return any(pod.owner_uid == self.pe.uid and pod.launch > self.launch for pod in pods)

    # ------------------------------------------------------------------ its newest launch

    @property
    def phase(self) -> PePhase:
        """The recorded phase."""
        return self.pe.status.phase

    @cached_property
    def launch(self) -> int:
        """The number of the newest launch; 0 before the first."""
        return newest_launch(self.pe, self.snapshot.pods, self.snapshot.launched)

    @cached_property
    def _shown(self) -> Pod | None:
        uid, launch = self.pe.uid, self.launch
        pods = self.snapshot.pods
        return next((pod for pod in pods if pod.owner_uid == uid and pod.launch == launch), None)

    @cached_property
    def pod(self) -> Pod | None:
        """The pod of the newest launch; None if it is gone, or counts as gone with its node."""
        pod = self._shown
        is_gone = pod is not None and counts_as_gone(self.snapshot, self.pe, pod, self.now)
        return None if is_gone else pod

    @property
    def last(self) -> Pod | None:
        """The last observed state of the newest launch's pod, gone or not."""
        return self._shown or self.snapshot.last

    @property
    def is_unrecorded(self) -> bool:
        """Whether the pod of a waiting launch existed, and no status recorded it."""
        launched = self.snapshot.launched
        has_had_pod = launched is not None and launched.launch >= self.launch > 0
        return self.phase is PePhase.WAITING and has_had_pod

    @property
    def awaits_pod(self) -> bool:
        """Whether a launch is intended whose pod was never created."""
        return self.pod is None and self.phase is PePhase.WAITING and not self.is_unrecorded

    # ------------------------------------------------------------------ how it ended

    @cached_property
    def end(self) -> End | None:
        """How the newest launch ended; None if it has not, or has not begun."""
        if self.awaits_pod:
            return None
        node = self.snapshot.node((self.last.node if self.last else "") or self.pe.status.node)
        return end_of(self.pe, pod=self.pod, last=self.last, node=node)

    @cached_property
    def restart(self) -> Reason | None:
        """Why the restart policies demand a new launch; None if they do not."""
        return None if self.end is None else restart_wanted(self.pe, self.end)

    @property
    def is_exhausted(self) -> bool:
        """Whether the restart would be one too many in a row."""
        end = self.end
        return end is not None and is_exhausted(self.pe, end, self.last, self.now, self.timing)

    @cached_property
    def restart_due_at(self) -> float:
        """When the restart is due (unix seconds)."""
        return restart_due_at(self.pe, self.last, self.timing)

    # ------------------------------------------------------------------ a new launch by request

    @property
    def is_launch_requested(self) -> bool:
        """Whether spec.launchCount is above the newest launch."""
        return self.pe.launch_floor > max(self.launch, FIRST_LAUNCH)

    @property
    def is_restart_requested(self) -> bool:
        """Whether the annotation has a value that no launch has answered.

        A waiting launch will answer it: its pod gets the current value.
        """
        pe = self.pe
        if not pe.restart or pe.restart == pe.status.observed_restart or self.launch == 0:
            return False
        if self.pod is not None:
            return self.pod.restart != pe.restart
        return self.phase is not PePhase.WAITING

    @property
    def is_content_changed(self) -> bool:
        """Whether the newest launch has another content than the PE; a waiting one takes it."""
        pe = self.pe
        if self.pod is not None:
            return self.pod.content_id != pe.content_id
        if self.phase is PePhase.WAITING or pe.status.launch_count == 0:
            return False
        return pe.status.content_id != pe.content_id

    @property
    def is_new_launch_requested(self) -> bool:
        """Whether people, or a changed PE, request another launch."""
        is_by_hand = self.is_launch_requested or self.is_restart_requested
        return is_by_hand or self.is_content_changed

    @property
    def is_misplaced(self) -> bool:
        """Whether an unbound pod is pinned to another node than the one its PE is assigned to.

        A bound pod stays. Without an assignment no pod is misplaced.
        """
        place, pod = place_of(self.snapshot), self.pod
        if place is None or pod is None or pod.node or pod.is_deleting or pod.is_over:
            return False
        return pod.pinned_to != place.node.name

    # ------------------------------------------------------------------ what a pod waits for

    @property
    def has_mounts(self) -> bool:
        """Whether everything that a pod mounts exists."""
        has_config_maps = self.snapshot.has_pe_config_map and self.snapshot.has_job_config_map
        return has_config_maps and not awaits_job(self.snapshot)

    @property
    def is_placed(self) -> bool:
        """Whether the node of a pod is decided, or the scheduler's choice."""
        return not awaited_place(self.snapshot)

    @property
    def are_gates_open(self) -> bool:
        """Whether a pod may be created."""
        return self.has_mounts and self.is_placed

    @cached_property
    def blocking(self) -> tuple[Pod, ...]:
        """The pods of earlier launches, and of an earlier PE, that may still run."""
        earlier = self.earlier
        return tuple(
            pod for pod in earlier if blocks_next_launch(self.snapshot, self.pe, pod, self.now)
        )

    @cached_property
    def earlier(self) -> tuple[Pod, ...]:
        """Pods of earlier launches, and of an earlier PE of the same name."""
        launch = max(self.launch, FIRST_LAUNCH)
        pods = self.snapshot.pods
        return tuple(p for p in pods if p.owner_uid != self.pe.uid or p.launch < launch)

    # ------------------------------------------------------------------ a pod that starts

    @property
    def is_pending(self) -> bool:
        """Whether the pod does not run yet."""
        return self.pod is not None and self.pod.phase == "Pending"

    @property
    def was_pull_recorded(self) -> bool:
        """Whether the status says that the image of this pod could not be pulled."""
        status = self.pe.status
        is_same = self.pod is not None and status.pod == self.pod.name
        return is_same and status.reason == Reason.IMAGE_PULL_FAILED.value

    # ------------------------------------------------------------------ pods that do not end

    def hangs(self, pod: Pod | None) -> bool:
        """Whether the deletion of a pod is overdue."""
        return pod is not None and is_hanging(self.snapshot, self.pe, pod, self.now, self.timing)

    @property
    def hanging(self) -> Pod | None:
        """The pod that hangs in deletion: of the newest launch, or one that the next waits for."""
        pods = [self.pod] if self.pod else self.snapshot.pods
        return next(filter(self.hangs, pods), None)

    @property
    def is_leaving(self) -> bool:
        """Whether the pod is being deleted, and its end is not known or is recorded."""
        is_settled = self.end is None or self.phase in ENDED
        return self.pod is not None and self.pod.is_deleting and is_settled

    def deadlines(self) -> Iterator[float]:
        """When pods that are being deleted will hang or count as gone (unix seconds)."""
        return hanging_deadlines(self.snapshot, self.pe, self.now, self.timing)
