"""Which pods of an owner are deleted, and which failed ones are kept: rules for each pod.

1. The pod of the newest launch stays until the intent of the next one is recorded: without one, its
   end would look like a deletion by a user if the launch is cancelled (a width set and reset).
2. Pods of earlier launches, and of an earlier owner of the same name, are deleted.
3. Where `deleteFailedPod` is false a failed pod of an earlier launch is set aside instead: its
   label `svc` becomes `zombie`, so that it leaves the owner's Service and the counts of pods. The
   newest few stay until their time to live is over.
4. Else the failed pod of an owner that will not run again stays for a while, so that its logs can
   be read. That it is deleted is recorded first: nobody else deleted it.
5. A pod that hangs and counts as gone (hanging.py) is deleted by force.

Property: only replaced and failed pods are removed here; pods whose owner is gone are left to its
service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final

from contracts.reasons import Reason
from services.chassis.running.rules import Rule
from services.launching.core.effects import DeletePod, DeleteSilentPod, Effect, SetPodAside
from services.launching.core.hanging import counts_as_gone
from services.launching.core.pods import Pod
from services.launching.core.situation import Situation


class PodObservation(Enum):
    """What a pod of an owner shows; a rule has one each."""

    JOB_GONE = "its job is gone, is being deleted, or is another one of the same name"
    OWNER_ORPHANING = "its owner is being deleted, and its pods are to stay"
    DELETING_WITH_OWNER = "it is being deleted, and so is its owner"
    OWNER_DELETING = "its owner is being deleted"
    VIEW_BEHIND = "a pod has a newer launch than the status of the owner"
    HANGING_GONE = "it is being deleted, does not end, and counts as gone"
    DELETING = "it is being deleted"
    GIVEN_UP = "it failed for good, and the status does not name it any more"
    NEWEST = "it is that of the newest launch"
    KEPT_ASIDE = "it failed, and is kept for a while"
    TO_BE_KEPT = "it failed, and the owner keeps failed pods"
    REPLACED = "a newer launch replaces it"


@dataclass(frozen=True)
class PodSituation:
    """One pod of an owner at one moment."""

    of_owner: Situation
    pod: Pod

    @property
    def is_hanging_gone(self) -> bool:
        """Whether it hangs, and nothing runs any more where it was."""
        at, pod = self.of_owner, self.pod
        if pod.is_over or pod.is_forced:
            return False
        return counts_as_gone(at.snapshot, at.owner, pod, at.now)

    @property
    def is_replaced(self) -> bool:
        """Whether a newer launch, or an owner of the same name, has taken its place."""
        return self.pod in self.of_owner.earlier

    @cached_property
    def is_kept(self) -> bool:
        """Whether it is one of the newest failed pods, which stay for now."""
        return self.pod in _kept(self.of_owner)


Removal = Callable[[PodSituation, Reason], Effect | None]


def leave(_at: PodSituation, _reason: Reason) -> None:
    """Leave the pod as it is."""


def delete(at: PodSituation, reason: Reason) -> DeletePod:
    """Delete the pod. If another owner of the name owned it, that it is gone is confirmed first."""
    pod = at.pod
    other_owner = "" if pod.owner_uid == at.of_owner.owner.uid else pod.owner_uid
    is_silent = not other_owner and pod.launch in at.of_owner.context.silent
    if is_silent:
        return DeleteSilentPod(pod.name, pod.uid, reason.value)
    return DeletePod(pod.name, pod.uid, reason.value, other_owner)


def delete_by_force(at: PodSituation, reason: Reason) -> DeletePod:
    """Delete the pod without its kubelet; that its node is lost is confirmed first."""
    node = "" if at.of_owner.owner.policies.force_relaunch else at.pod.node
    return DeletePod(at.pod.name, at.pod.uid, reason.value, by_force=True, lost_node=node)


def set_aside(at: PodSituation, _reason: Reason) -> SetPodAside:
    """Relabel the pod, so that no selector takes it for the owner's pod."""
    return SetPodAside(at.pod.name, at.pod.uid)


_O = PodObservation
POD_RULES: Final[tuple[Rule[PodSituation, Removal], ...]] = (
    # The owner's service cleans up the pods of a job that is gone; a late view takes nothing.
    Rule(_O.JOB_GONE, lambda at: at.of_owner.context.has_lost_job, leave, Reason.OWNER_DELETED),
    Rule(
        _O.OWNER_ORPHANING,
        lambda at: at.of_owner.owner.is_deleting and at.of_owner.owner.is_orphaning,
        leave,
        Reason.OWNER_DELETED,
    ),
    Rule(
        _O.DELETING_WITH_OWNER,
        lambda at: at.of_owner.owner.is_deleting and at.pod.is_deleting,
        leave,
        Reason.OWNER_DELETED,
    ),
    Rule(_O.OWNER_DELETING, lambda at: at.of_owner.owner.is_deleting, delete, Reason.OWNER_DELETED),
    Rule(_O.VIEW_BEHIND, lambda at: at.of_owner.is_behind, leave, Reason.WAITING),
    Rule(_O.HANGING_GONE, lambda at: at.is_hanging_gone, delete_by_force, Reason.STUCK_TERMINATING),
    Rule(_O.DELETING, lambda at: at.pod.is_deleting, leave, Reason.WAITING),
    Rule(
        _O.GIVEN_UP,
        lambda at: at.of_owner.is_given_up and at.pod == at.of_owner.pod,
        delete,
        Reason.RETENTION_OVER,
    ),
    Rule(_O.NEWEST, lambda at: not at.is_replaced, leave, Reason.NOTHING_TO_CHANGE),
    Rule(
        _O.KEPT_ASIDE,
        lambda at: at.is_kept and at.pod.is_set_aside,
        leave,
        Reason.NOTHING_TO_CHANGE,
    ),
    Rule(_O.TO_BE_KEPT, lambda at: at.is_kept, set_aside, Reason.POD_FAILED),
    Rule(_O.REPLACED, lambda at: at.is_replaced, delete, Reason.POD_SUPERSEDED),
)


def retention_ends(at: Situation) -> Iterator[float]:
    """When kept pods are due for deletion (unix seconds)."""
    return (_kept_until(at, pod) for pod in _kept(at))


def _kept(at: Situation) -> tuple[Pod, ...]:
    """The newest failed pods of this owner (by uid) that stay for now."""
    policies = at.owner.policies
    if policies.delete_failed:
        return ()
    failed = [
        pod
        for pod in at.earlier
        if pod.phase == "Failed" and pod.owner_uid == at.owner.uid and not pod.is_deleting
    ]
    failed.sort(key=lambda pod: -pod.launch)
    newest = failed[: policies.failed_kept_max]
    return tuple(pod for pod in newest if _kept_until(at, pod) > at.now)


def _kept_until(at: Situation, pod: Pod) -> float:
    return (pod.finished_at or pod.created_at) + at.owner.policies.failed_kept_s
