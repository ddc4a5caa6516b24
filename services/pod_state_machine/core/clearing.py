"""Decides which pods are deleted because their job or PE is gone.

pod_rules.py removes pods of replaced launches; the garbage collector, which is slow, deletes what a
crash leaves.
"""

from __future__ import annotations

from contracts.reasons import Reason
from services.chassis.running.stage import Decision
from services.launching.core.effects import DeletePod
from services.pod_state_machine.core.effects import DeletePodsOfJob, Effect
from services.pod_state_machine.core.snapshot import JobSnapshot, PeSnapshot


def clear_job(snapshot: JobSnapshot) -> Decision[Effect]:
    """Delete the pods of a deleted job by collection; an orphaning deletion leaves them."""
    if snapshot.is_alive or snapshot.is_orphaning or not snapshot.has_pods:
        return Decision((), Reason.NOTHING_TO_CHANGE)
    effect = DeletePodsOfJob(snapshot.key.name, snapshot.key.uid)
    return Decision((effect,), Reason.OWNER_DELETED)


def clear_lost_pods(snapshot: PeSnapshot) -> Decision[Effect]:
    """Delete pods whose PE is gone while its job lives, one by one.

    If the job is gone, the job's clean-up deletes them, which knows about orphans.
    """
    job = snapshot.job
    if job is None or job.is_deleting:
        return Decision((), Reason.NOTHING_TO_CHANGE)
    lost = tuple(
        DeletePod(pod.name, pod.uid, Reason.NO_LONGER_PLANNED, believed_gone_owner=pod.owner_uid)
        for pod in snapshot.pods
        if not pod.is_deleting and pod.job_uid == job.uid
    )
    return Decision(lost, Reason.NO_LONGER_PLANNED if lost else Reason.NOTHING_TO_CHANGE)
