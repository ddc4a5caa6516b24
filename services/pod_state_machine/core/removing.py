"""Which pods of a PE go, and which failed ones are kept for a while.

1. The pod of the newest launch stays until the intent of the next one is known.
2. Pods of earlier launches go, and so do those of an earlier PE of the same name.
3. Where `deleteFailedPod` is false a failed pod of an earlier launch is set aside instead: its
   label `svc` becomes `zombie`, so that it leaves the PE's Service and everything that counts pods.
   The newest few stay until their time to live is over.
4. What hangs and counts as gone (hanging.py) is deleted by force.

Property: only pods that something newer replaced are removed here; pods whose PE is gone are
clearing.py's business.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.reasons import Reason
from services.pod_state_machine.core.effects import DeletePod, Effect, SetPodAside
from services.pod_state_machine.core.hanging import counts_as_gone
from services.pod_state_machine.core.observing import Seen, earlier_pods
from services.pod_state_machine.core.snapshot import Pe, PeSnapshot, Pod
from services.pod_state_machine.core.transitions import Observation

_FIRST_LAUNCH_NUMBER = 1


def removals(snapshot: PeSnapshot, pe: Pe, seen: Seen, now: float) -> tuple[Effect, ...]:
    """What becomes of pods of this PE's name that nothing needs any more.

    A pod that is replaced is removed when the intent of the next launch is known: if only its
    removal came to pass, and the wish for the next launch were taken back (a width that is set and
    put back), its end would look like somebody's deletion.
    """
    if seen.observation in (Observation.JOB_GONE, Observation.VIEW_BEHIND):
        return ()  # the job's own clean-up takes its pods; a stale view takes nothing
    if seen.observation is Observation.PE_DELETING:
        pods = () if pe.is_orphaning else snapshot.pods
        return tuple(_delete(pe, pod, Reason.OWNER_DELETED) for pod in pods if not pod.is_deleting)
    earlier = _earlier(snapshot, pe, seen)
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


def ends_of_keeping(snapshot: PeSnapshot, pe: Pe, seen: Seen, now: float) -> Iterator[float]:
    """When the time of a pod that is kept is over."""
    for pod in _kept(pe, _earlier(snapshot, pe, seen), now):
        yield _kept_until(pe, pod)


def _earlier(snapshot: PeSnapshot, pe: Pe, seen: Seen) -> tuple[Pod, ...]:
    return earlier_pods(pe, snapshot.pods, max(seen.launch, _FIRST_LAUNCH_NUMBER))


def _kept(pe: Pe, earlier: tuple[Pod, ...], now: float) -> tuple[Pod, ...]:
    """Failed pods of this very PE that stay for now, the newest ones of all."""
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
    stranger = "" if pod.owner_uid == pe.uid else pod.owner_uid
    return DeletePod(pod.name, pod.uid, reason.value, believed_gone_owner=stranger)
