"""Decides which pods go because what they belong to is gone: their job, or their PE.

Pods of replaced launches are not cleared here (deciding.py); the garbage collector, which is slow,
catches what a crash leaves.
"""

from __future__ import annotations

from contracts.reasons import Reason
from services.chassis.running.stage import Decision
from services.pod_state_machine.core.effects import DeletePod, DeletePodsOfJob, Effect
from services.pod_state_machine.core.snapshot import JobSnapshot, PeSnapshot


def clear_job(snapshot: JobSnapshot) -> Decision[Effect]:
    """Every pod of a job that is deleted goes, by collection; an orphaning deletion leaves them."""
    if snapshot.is_alive or snapshot.is_orphaning or not snapshot.has_pods:
        return Decision((), Reason.NOTHING_TO_CHANGE)
    effect = DeletePodsOfJob(snapshot.key.name, snapshot.key.uid)
    return Decision((effect,), Reason.OWNER_DELETED)


def clear_lost_pods(snapshot: PeSnapshot) -> Decision[Effect]:
    """Pods whose PE is gone while its job lives go one by one.

    Without a living job they are the business of the job's clean-up, which knows about orphans.
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
