"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

A failed effect backs off under its own value, so a value says exactly what makes it worth trying
anew: `CreatePod.pe_generation` and `node` are there because a corrected PE spec and another
assignment deserve a new attempt at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.stage import Urgency
from services.pod_state_machine.core.snapshot import PeStatus


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the pod of one launch.

    `believed_gone` are names of earlier pods that the snapshot does not show and whose end nobody
    saw: each is confirmed to be gone (or over) before this launch is created. `node` is where it
    is assigned to; empty for a pod that may run anywhere.
    """

    name: str
    launch: int
    content_id: str
    pe_uid: str
    pe_generation: int
    believed_gone: tuple[str, ...] = ()
    node: str = ""


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete one pod under its uid.

    `believed_gone_owner` is the uid of the PE that controlled it and seems to be gone, which is
    confirmed first; empty when its owner is the PE of the snapshot. `by_force` does not wait for
    its kubelet; `lost_node` is the node that is confirmed to be gone or out of service first.
    """

    name: str
    uid: str
    reason: str
    believed_gone_owner: str = ""
    by_force: bool = False
    lost_node: str = ""


@dataclass(frozen=True, slots=True)
class SetPodAside:
    """Relabel a failed pod that is kept, so that nothing takes it for the PE's pod."""

    name: str
    uid: str

    @property
    def urgency(self) -> Urgency:
        """Nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class PatchPeStatus:
    """Write a PE's status under the version that the decision saw.

    `believed_gone` is the pod of a launch that was intended and is leapt over, unseen: that it does
    not exist is confirmed first, for the next launch only knows the pods beside which it was meant.
    `believed_unbound` is a pod that is replaced because it is on no node: that it still is on none
    is confirmed first, for what is bound stays.
    """

    pe_uid: str
    status: PeStatus
    believed_gone: str = ""
    believed_unbound: str = ""

    @property
    def urgency(self) -> Urgency:
        """A launch waits for its intent; nothing waits for what only records."""
        is_told = self.status.reason == Reason.GATES_CLOSED.value
        is_intent = self.status.phase is PePhase.WAITING and not is_told
        return Urgency.PROMPT if is_intent else Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class DeletePodsOfJob:
    """Delete every pod that carries a job's uid; the job is confirmed to be gone or deleting."""

    job: str
    job_uid: str


Effect = CreatePod | DeletePod | SetPodAside | PatchPeStatus | DeletePodsOfJob
