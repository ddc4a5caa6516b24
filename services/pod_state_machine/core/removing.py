"""Which pods of a PE are deleted, and which failed ones are kept for a while.

1. The pod of the newest launch stays until the intent of the next one is recorded.
2. Pods of earlier launches, and of an earlier PE of the same name, are deleted.
3. Where `deleteFailedPod` is false a failed pod of an earlier launch is set aside instead: its
   label `svc` becomes `zombie`, so that it leaves the PE's Service and the counts of pods. The
   newest few stay until their time to live is over.
4. A pod that hangs and counts as gone (hanging.py) is deleted by force.

Property: only replaced pods are removed here; clearing.py deletes pods whose PE is gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.reasons import Reason
from services.pod_state_machine.core.effects import DeletePod, Effect, SetPodAside
from services.pod_state_machine.core.hanging import counts_as_gone
from services.pod_state_machine.core.observing import Observed, earlier_pods
from services.pod_state_machine.core.snapshot import Pe, PeSnapshot, Pod
from services.pod_state_machine.core.transitions import Observation

_FIRST_LAUNCH_NUMBER = 1


def removals(snapshot: PeSnapshot, pe: Pe, observed: Observed, now: float) -> tuple[Effect, ...]:
    """The effects that delete or set aside pods of this PE's name that are not needed any more.

    A replaced pod is removed only after the intent of the next launch: without one, its end would
    look like a deletion by a user if the launch is cancelled (a width that is set and reset).
    """
    if observed.observation in (Observation.JOB_GONE, Observation.VIEW_BEHIND):
        return ()  # the job's own clean-up takes its pods; a stale view takes nothing
    if observed.observation is Observation.PE_DELETING:
        pods = () if pe.is_orphaning else snapshot.pods
        return tuple(_delete(pe, pod, Reason.OWNER_DELETED) for pod in pods if not pod.is_deleting)
    earlier = _earlier(snapshot, pe, observed)
    kept = frozenset(pod.name for pod in _kept(pe, earlier, now))
    return (
        *_forced(snapshot, pe, now),
        *(
            _delete(pe, pod, Reason.POD_SUPERSEDED)
            for pod in earlier
            if not pod.is_deleting and pod.name not in kept
        ),
        *(
            SetPodAside(pod.name, pod.uid)
            for pod in earlier
            if pod.name in kept and not pod.is_set_aside
        ),
    )


def retention_ends(snapshot: PeSnapshot, pe: Pe, observed: Observed, now: float) -> Iterator[float]:
    """When kept pods are due for deletion (unix seconds)."""
    for pod in _kept(pe, _earlier(snapshot, pe, observed), now):
        yield _kept_until(pe, pod)


def _earlier(snapshot: PeSnapshot, pe: Pe, observed: Observed) -> tuple[Pod, ...]:
    return earlier_pods(pe, snapshot.pods, max(observed.launch, _FIRST_LAUNCH_NUMBER))


def _kept(pe: Pe, earlier: tuple[Pod, ...], now: float) -> tuple[Pod, ...]:
    """The newest failed pods of this PE (by uid) that stay for now."""
    if pe.policies.delete_failed:
        return ()
    failed = [
        pod
        for pod in earlier
        if pod.phase == "Failed" and pod.owner_uid == pe.uid and not pod.is_deleting
    ]
    failed.sort(key=lambda pod: -pod.launch)
    newest = failed[: pe.policies.failed_kept_max]
    return tuple(pod for pod in newest if _kept_until(pe, pod) > now)


def _kept_until(pe: Pe, pod: Pod) -> float:
    return (pod.finished_at or pod.created_at) + pe.policies.failed_kept_s


def _forced(snapshot: PeSnapshot, pe: Pe, now: float) -> Iterator[DeletePod]:
    for pod in snapshot.pods:
        if pod.is_over or pod.is_forced or not counts_as_gone(snapshot, pe, pod, now):
            continue
        node = "" if pe.policies.force_relaunch else pod.node
        yield DeletePod(
            pod.name, pod.uid, Reason.STUCK_TERMINATING.value, by_force=True, lost_node=node
        )


def _delete(pe: Pe, pod: Pod, reason: Reason) -> DeletePod:
    other_owner = "" if pod.owner_uid == pe.uid else pod.owner_uid
    return DeletePod(pod.name, pod.uid, reason.value, believed_gone_owner=other_owner)
