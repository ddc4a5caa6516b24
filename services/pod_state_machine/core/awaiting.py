"""What of its job a pod waits for: the certificate that its PEs share, the servers of its redis.

fusion-backend makes both and says in the Job's status that they are there.
"""

from __future__ import annotations

from contracts.resources.processing_element import asked_redis, is_encrypted
from services.pod_state_machine.core.snapshot import PeSnapshot


def awaits_job(snapshot: PeSnapshot) -> bool:
    """Whether the pod of this PE would lack something that its job does not have yet."""
    pe, job = snapshot.pe, snapshot.job
    if pe is None or job is None:
        return False
    return (is_encrypted(pe.spec) and not job.certificate_secret) or (
        asked_redis(pe.spec) is not None and not job.redis_config
    )
