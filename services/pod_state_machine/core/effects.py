"""The effects of this service: frozen values, carried out by one `match` in adapters/carry_out.py.

A failed effect backs off under its own value, so a value contains what justifies a new attempt at
once: `CreatePod.pe_generation` for a corrected PE spec, `node` for another assignment.
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

    `believed_gone` are names of earlier pods that the snapshot lacks and whose end was not
    observed: each is confirmed to be gone (or over) before the create. `node` is the assigned
    node; empty for a pod that may run anywhere.
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

    `believed_gone_owner` is the uid of the PE that controlled it and is confirmed to be gone
    first; empty if its owner is the PE of the snapshot. `by_force` does not wait for its kubelet;
    `lost_node` is the node that is confirmed to be gone or out of service first.
    """

    name: str
    uid: str
    reason: str
    believed_gone_owner: str = ""
    by_force: bool = False
    lost_node: str = ""


@dataclass(frozen=True, slots=True)
class SetPodAside:
    """Relabel a failed pod that is kept, so that no selector takes it for the PE's pod."""

    name: str
    uid: str

    @property
    def urgency(self) -> Urgency:
        """Patient: nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class PatchPeStatus:
    """Write a PE's status under the resourceVersion that the decision was made on.

    `believed_gone` is the pod of an intended launch that is skipped before it was observed; it is
    confirmed not to exist first, since the next launch does not wait for it. `believed_unbound` is
    a pod that is replaced because it is on no node; it is confirmed to be unbound first, since a
    bound pod stays.
    """

    pe_uid: str
    status: PeStatus
    believed_gone: str = ""
    believed_unbound: str = ""

    @property
    def urgency(self) -> Urgency:
        """Prompt for an intent, for which a launch waits; patient for a mere record."""
        is_gated = self.status.reason == Reason.GATES_CLOSED.value
        is_intent = self.status.phase is PePhase.WAITING and not is_gated
        return Urgency.PROMPT if is_intent else Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class DeletePodsOfJob:
    """Delete every pod with a job's uid; the job is confirmed to be gone or deleting first."""

    job: str
    job_uid: str


Effect = CreatePod | DeletePod | SetPodAside | PatchPeStatus | DeletePodsOfJob
