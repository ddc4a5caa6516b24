"""The effects on pods and the status of their owner: frozen values, which its service carries out.

A failed effect backs off under its own value, so a value contains what justifies a new attempt at
once: `CreatePod.owner_generation` for a corrected spec, `node` for another assignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from contracts.reasons import Reason
from contracts.resources.processing_element import PePhase
from services.chassis.running.stage import Urgency
from services.launching.core.owners import LaunchStatus

SILENT_GRACE_S: Final = 2


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the pod of one launch.

    `believed_gone` are names of earlier pods that the snapshot lacks and whose end was not
    observed: each is confirmed to be gone (or over) before the create. `node` is the assigned
    node; empty for a pod that may run anywhere.
    """

    kind: ClassVar[str] = "Pod"
    name: str
    launch: int
    content_id: str
    owner_uid: str
    owner_generation: int
    believed_gone: tuple[str, ...] = ()
    node: str = ""


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete one pod under its uid.

    `believed_gone_owner` is the uid of the owner that controlled it and is confirmed to be gone
    first; empty if its owner is that of the snapshot. `by_force` does not wait for its kubelet;
    `lost_node` is the node that is confirmed to be gone or out of service first.
    """

    kind: ClassVar[str] = "Pod"
    name: str
    uid: str
    reason: str
    believed_gone_owner: str = ""
    by_force: bool = False
    lost_node: str = ""

    @property
    def grace_s(self) -> int | None:
        """How long its process may take to end (seconds); None: as its spec says."""
        return 0 if self.by_force else None


@dataclass(frozen=True, slots=True)
class DeleteSilentPod(DeletePod):
    """Delete a pod that says nothing, and without which a hand-over went on.

    One that hangs needs longer for nothing, and its PE would stand still meanwhile.
    """

    @property
    def grace_s(self) -> int | None:
        """A moment (seconds)."""
        return SILENT_GRACE_S


@dataclass(frozen=True, slots=True)
class SetPodAside:
    """Relabel a failed pod that is kept, so that no selector takes it for the newest."""

    kind: ClassVar[str] = "Pod"
    name: str
    uid: str

    @property
    def urgency(self) -> Urgency:
        """Patient: nothing waits for it."""
        return Urgency.PATIENT


@dataclass(frozen=True, slots=True)
class Announcement:
    """An Event on the owner. Reason and launch are in its name, so a launch has one of a reason."""

    reason: Reason
    message: str
    launch: int
    warning: bool = True


@dataclass(frozen=True, slots=True)
class PatchStatus:
    """Write the owner's status under the resourceVersion that the decision was made on.

    `believed_gone` is the pod of an intended launch that is skipped before it was observed; it is
    confirmed not to exist first, since the next launch does not wait for it. `believed_unbound` is
    a pod that is replaced because it is on no node; it is confirmed to be unbound first, since a
    bound pod stays. `event` is written before the status, so that a crash between the two loses
    none.
    """

    owner_uid: str
    status: LaunchStatus
    believed_gone: str = ""
    believed_unbound: str = ""
    event: Announcement | None = None

    @property
    def urgency(self) -> Urgency:
        """Prompt for an intent, for which a launch waits; patient for a mere record."""
        is_gated = self.status.reason == Reason.GATES_CLOSED.value
        is_intent = self.status.phase is PePhase.WAITING and not is_gated
        return Urgency.PROMPT if is_intent else Urgency.PATIENT


Effect = CreatePod | DeletePod | DeleteSilentPod | SetPodAside | PatchStatus
