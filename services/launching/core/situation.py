"""An owner at one moment, and what its snapshot shows; the rules ask it.

`launch` is the newest launch: that of `status.launchCount`, or, before any status was written, the
newest whose pod this owner controls or is known to have had. A pod that counts as gone with its
node (hanging.py) is treated as absent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.launching.core.conditions import any_holds
from services.launching.core.ending import End, end_of, recorded_end, was_deleted_after_end
from services.launching.core.hanging import (
    blocks_next_launch,
    counts_as_gone,
    hanging_deadlines,
    is_hanging,
)
from services.launching.core.named_objects import VOLUMES_LATE_S
from services.launching.core.nodes import NodeOfPod
from services.launching.core.owners import Owner
from services.launching.core.pods import Pod
from services.launching.core.restarting import is_exhausted, restart_due_at, restart_wanted
from services.launching.core.snapshot import Context, Launched, LaunchSnapshot, Timing

FIRST_LAUNCH = 1
"""Its intent is the creation of the owner."""
ENDED = frozenset({PePhase.COMPLETED, PePhase.FAILED})
_RECORDED_AS = {"Pending": PePhase.STARTING, "Running": PePhase.RUNNING}
"""The phase of an owner by that of its pod, as long as the pod is not over."""


def newest_launch(owner: Owner, pods: tuple[Pod, ...], launched: Launched | None = None) -> int:
    """The number of the newest launch; 0 before the first."""
    if owner.status.launch_count > 0:
        return owner.status.launch_count
    if launched is not None:
        return launched.launch
    return max((pod.launch for pod in pods if pod.owner_uid == owner.uid), default=0)


def predecessors(owner: Owner) -> frozenset[str]:
    """Names of the pods beside which the next launch must not run.

    An intent without a pod name was written when no earlier pod existed: the set is empty.
    """
    launch, pod = owner.status.launch_count, owner.status.pod
    if launch < 2 or not pod:
        return frozenset()
    return frozenset((pod, owner.pod_name(launch - 1)))


@dataclass(frozen=True)
class Situation:
    """The input of every rule; `now` is in unix seconds."""

    snapshot: LaunchSnapshot
    owner: Owner
    context: Context
    now: float
    timing: Timing

    # ------------------------------------------------------------------ the view

    @property
    def is_behind(self) -> bool:
        """Whether a pod has a newer launch than the status: a fact of the owner is on its way."""
        pods = self.snapshot.pods
        return any(pod.owner_uid == self.owner.uid and pod.launch > self.launch for pod in pods)

    # ------------------------------------------------------------------ its newest launch

    @cached_property
    def phase(self) -> PePhase:
        """The recorded phase.

        A launch counts as stopped that failed for the absence of its pod, if the pod is there after
        all: it was out of view, as when somebody took its labels away.
        """
        recorded, pod = self.owner.status.phase, self.pod
        if recorded is not PePhase.FAILED or pod is None or pod.is_over or pod.is_deleting:
            return recorded
        was_absent = recorded_end(self.owner.status) is not End.FAILED
        return PePhase.STOPPED if was_absent else recorded

    @cached_property
    def launch(self) -> int:
        """The number of the newest launch; 0 before the first."""
        return newest_launch(self.owner, self.snapshot.pods, self.snapshot.launched)

    @cached_property
    def _shown(self) -> Pod | None:
        uid, launch = self.owner.uid, self.launch
        pods = self.snapshot.pods
        return next((pod for pod in pods if pod.owner_uid == uid and pod.launch == launch), None)

    @cached_property
    def pod(self) -> Pod | None:
        """The pod of the newest launch; None if it is gone, or counts as gone with its node."""
        pod = self._shown
        is_gone = pod is not None and counts_as_gone(self.snapshot, self.owner, pod, self.now)
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
        """How the newest launch ended; None if it has not, or has not begun.

        If the policies do not restart it for its first end, a deletion of its pod after that is
        another end.
        """
        first = self._first_end
        if first is None or not self.owner.policies.restart_deleted or self._is_restarted(first):
            return first
        is_deleted = was_deleted_after_end(self.owner, pod=self._shown, node=self._node)
        return End.DELETED if is_deleted else first

    @cached_property
    def _first_end(self) -> End | None:
        if self.awaits_pod:
            return None
        return end_of(self.owner, pod=self.pod, last=self.last, node=self._node)

    @property
    def _node(self) -> NodeOfPod:
        """The node that the pod of the newest launch is or was on."""
        return self.snapshot.node((self.last.node if self.last else "") or self.owner.status.node)

    def _is_restarted(self, end: End) -> bool:
        """Whether the restart policies restart the owner for this end."""
        is_last = is_exhausted(self.owner, end, self.last, self.now, self.timing)
        return restart_wanted(self.owner, end) is not None and not is_last

    @property
    def has_failed_for_good(self) -> bool:
        """Whether the status records a failure after which no policy launches the owner again."""
        is_recorded = self.owner.status.phase is PePhase.FAILED and self.phase is PePhase.FAILED
        return is_recorded and (self.restart is None or self.is_exhausted)

    @property
    def has_completed(self) -> bool:
        """Whether the newest launch completed, also if its pod was deleted since."""
        return self.end is End.COMPLETED or (
            self.end is End.DELETED and self.phase is PePhase.COMPLETED
        )

    # ------------------------------------------------------------------ a failed pod that is kept

    @property
    def retention_ends_at(self) -> float | None:
        """When the failed pod of an owner that will not run again is due for deletion.

        In unix seconds; None if no such pod exists, or if it is kept until it is replaced.
        """
        pod, policies = self.pod, self.owner.policies
        if pod is None or not self.has_failed_for_good or not policies.delete_failed:
            return None
        if not pod.is_over or pod.is_deleting or self.is_given_up:
            return None
        return (pod.finished_at or pod.created_at) + policies.failed_retention_s

    @property
    def is_given_up(self) -> bool:
        """Whether the status records that the failed pod is deleted after its retention."""
        status = self.owner.status
        return self.has_failed_for_good and status.launch_count > 0 and not status.pod

    @cached_property
    def restart(self) -> Reason | None:
        """Why the restart policies demand a new launch; None if they do not."""
        return None if self.end is None else restart_wanted(self.owner, self.end)

    @property
    def is_exhausted(self) -> bool:
        """Whether the restart would be one too many in a row."""
        end = self.end
        return end is not None and is_exhausted(self.owner, end, self.last, self.now, self.timing)

    @cached_property
    def restart_due_at(self) -> float:
        """When the restart is due (unix seconds)."""
        return restart_due_at(self.owner, self.last, self.timing)

    # ------------------------------------------------------------------ a new launch by request

    @property
    def is_launch_requested(self) -> bool:
        """Whether spec.launchCount is above the newest launch."""
        return self.owner.launch_floor > max(self.launch, FIRST_LAUNCH)

    @property
    def is_restart_requested(self) -> bool:
        """Whether the annotation has a value that no launch has answered.

        A waiting launch will answer it: its pod gets the current value.
        """
        owner = self.owner
        if not owner.restart or owner.restart == owner.status.observed_restart or self.launch == 0:
            return False
        if self.pod is not None:
            return self.pod.restart != owner.restart
        return self.phase is not PePhase.WAITING

    @property
    def is_content_changed(self) -> bool:
        """Whether the newest launch has another content than the owner; a waiting one takes it."""
        owner = self.owner
        if self.pod is not None:
            return self.pod.content_id != owner.content_id
        if self.phase is PePhase.WAITING or owner.status.launch_count == 0:
            return False
        return owner.status.content_id != owner.content_id

    @property
    def is_new_launch_requested(self) -> bool:
        """Whether people, or a changed owner, request another launch."""
        is_by_hand = self.is_launch_requested or self.is_restart_requested
        return is_by_hand or self.is_content_changed

    @property
    def is_misplaced(self) -> bool:
        """Whether an unbound pod is pinned to another node than the one its owner is assigned to.

        A bound pod stays. Without an assignment no pod is misplaced.
        """
        node, pod = self.context.node, self.pod
        if node is None or pod is None or pod.node or pod.is_deleting or pod.is_over:
            return False
        return pod.pinned_to != node

    # ------------------------------------------------------------------ what a pod waits for

    @property
    def are_gates_open(self) -> bool:
        """Whether a pod may be created, and one that hands over to it may go.

        A restart by hand that comes meanwhile is answered by the launch with the new content.
        """
        is_kept = self.context.is_handing_over and self.is_content_changed
        return self.context.has_mounts and not self.context.awaited and not is_kept

    @cached_property
    def blocking(self) -> tuple[Pod, ...]:
        """The pods of earlier launches, and of an earlier owner, that may still run."""
        earlier = self.earlier
        return tuple(
            pod for pod in earlier if blocks_next_launch(self.snapshot, self.owner, pod, self.now)
        )

    @cached_property
    def earlier(self) -> tuple[Pod, ...]:
        """Pods of earlier launches, and of an earlier owner of the same name."""
        launch = max(self.launch, FIRST_LAUNCH)
        pods = self.snapshot.pods
        return tuple(p for p in pods if p.owner_uid != self.owner.uid or p.launch < launch)

    # ------------------------------------------------------------------ a pod that starts

    @property
    def is_pending(self) -> bool:
        """Whether the pod does not run yet."""
        return self.pod is not None and self.pod.phase == "Pending"

    @property
    def is_running(self) -> bool:
        """Whether the pod runs; that it is not being deleted is not part of it."""
        return self.pod is not None and self.pod.phase == "Running"

    @property
    def is_as_recorded(self) -> bool:
        """Whether the pod starts or runs, nothing is wrong, and the status says just that."""
        pod, status = self.pod, self.owner.status
        if pod is None or pod.is_deleting or pod.is_unreported or pod.blocked is not None:
            return False
        if self.is_unmounted:
            return False
        return status.phase is _RECORDED_AS.get(pod.phase) and not any_holds(status)

    @property
    def is_unmounted(self) -> bool:
        """Whether the pod is on its node for a while, and its volumes are not mounted."""
        return self.now >= self._unmounted_at

    @property
    def _unmounted_at(self) -> float:
        """When the status says so (unix seconds); never for a pod that is ready to start."""
        pod = self.pod
        is_late = pod is not None and pod.phase == "Pending" and pod.unready_since
        return pod.unready_since + VOLUMES_LATE_S if pod and is_late else math.inf

    @property
    def was_pull_recorded(self) -> bool:
        """Whether the status says that the image of this pod could not be pulled."""
        status = self.owner.status
        is_same = self.pod is not None and status.pod == self.pod.name
        return is_same and status.reason == Reason.IMAGE_PULL_FAILED.value

    # ------------------------------------------------------------------ pods that do not end

    def hangs(self, pod: Pod | None) -> bool:
        """Whether the deletion of a pod is overdue."""
        return pod is not None and is_hanging(self.snapshot, self.owner, pod, self.now, self.timing)

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
        """When pods will hang in deletion, count as gone, be late, or end their retention.

        In unix seconds, all of them later than now: where a rule that comes first leaves the pod
        alone, as without the job, a time that is over would wake the key without end.
        """
        yield from hanging_deadlines(self.snapshot, self.owner, self.now, self.timing)
        if self.now < self._unmounted_at < math.inf:
            yield self._unmounted_at
        ends_at = self.retention_ends_at
        if ends_at is not None and self.now < ends_at:
            yield ends_at
