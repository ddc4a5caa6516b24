"""Acknowledges the lost tuples of a job: their number in an annotation of the Job.

The number is the total that the status has, so a loss that comes later shows again.
"""

from __future__ import annotations

from cli.connecting import JOBS
from cli.failing import Failure
from cli.jobs import CONFLICTS_MAX, job_object
from contracts import labels
from contracts.losses import Losses, losses_of, sentence_of, unacknowledged
from contracts.showing import counted
from contracts.unreadable import is_whole
from services.chassis.kube.port import Json, KubeClient
from services.chassis.process.errors import Conflict, NotFound, Rejected

_FOR_EVER_S = 10**9


async def acknowledge_losses(kube: KubeClient, namespace: str, name: str) -> str:
    """Acknowledge what a job has lost so far; what was done, as a sentence. Raises Failure."""
    for _ in range(CONFLICTS_MAX):
        job = await job_object(kube, namespace, name)
        losses, meta = _losses(job), job["metadata"]
        annotation = str((meta.get("annotations") or {}).get(labels.LOSSES_ACKNOWLEDGED) or "")
        status = job.get("status") or {} if losses.tuples else {}
        open_ = unacknowledged(status, annotation, _FOR_EVER_S, 0.0)
        if open_ is None:
            return f"Nothing is to be acknowledged: job {name} has {_lost_so_far(losses)}."
        body = {"metadata": {"annotations": {labels.LOSSES_ACKNOWLEDGED: str(losses.tuples)}}}
        version = int(meta["resourceVersion"])
        try:
            await kube.patch(JOBS, namespace, name, body, resource_version=version)
        except Conflict:  # its status was written meanwhile, perhaps with another loss
            continue
        except NotFound:
            raise Failure(f"job {name} does not exist any more") from None
        except Rejected as refused:
            raise Failure(f"job {name} cannot be changed: {refused.message}") from None
        return f"Acknowledged of job {name}: {sentence_of(open_, {})}."
    raise Failure(f"job {name} changes too fast to be patched; try again")


def _losses(job: Json) -> Losses:
    if not is_whole(job):
        raise Failure(f"job {job['metadata']['name']} cannot be read")
    return losses_of(job.get("status") or {})


def _lost_so_far(losses: Losses) -> str:
    if not losses.tuples:
        return "lost no tuples"
    return f"lost at most {counted(losses.tuples, 'tuple')} so far, all acknowledged"
