"""What a pod waits for before it is created: objects of its job, its node, other PEs, a hand-over.

fusion-backend makes the certificate and the redis servers, and records them in the Job's status.
hostpool-manager decides on the node of a constrained PE. node-tainter marks the nodes of its pool,
and the HostPool's status lists those with all marks. A recorded decision is enough: a launch needs
none of these services to be up.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase, is_encrypted, required_redis
from contracts.runtime_image import is_our_runtime
from contracts.waits import WAITS_FOR_PLACEMENT, waits_for_another_node, waits_for_claim
from services.chassis.table.entries import Entry
from services.launching.core.owners import launch_status_of
from services.launching.core.pods import restart_of
from services.launching.core.situation import FIRST_LAUNCH
from services.launching.core.snapshot import Context
from services.pod_state_machine.core.naming import named_by
from services.pod_state_machine.core.snapshot import Assignment, HostPool, Job, Pe, PeSnapshot

_CONSTRAINTS: Final = (
    "host",
    "hostPoolLocation",
    "coLocations",
    "exLocations",
    "isolation",
    "isolations",
    "isolationLabels",
)


_BUSY: Final = (JobPhase.SUBMITTING, JobPhase.RESIZING)


def context_of(snapshot: PeSnapshot, pe: Pe) -> Context:
    """What the launches of a PE depend on."""
    job, place = snapshot.job, place_of(snapshot)
    awaited = _awaited_pe(snapshot) or awaited_place(snapshot)
    has_config_maps = snapshot.has_pe_config_map and snapshot.has_job_config_map
    return Context(
        has_lost_job=job is None or job.is_deleting or job.uid != pe.job_uid,
        is_job_busy=job is not None and job.phase in _BUSY,
        owners_in_job=snapshot.pes_of_job,
        has_mounts=has_config_maps and not awaits_job(snapshot),
        awaited=f"The processing element {awaited}." if awaited else "",
        node=place.node.name if place else None,
        job_quiet_since=job.submitted_since if job else 0.0,
        is_handing_over=is_handing_over(snapshot, pe),
        is_report_due=is_report_due(pe),
        silent=silent_launches(job, pe),
        named=partial(named_by, pe, job),
    )


def is_handing_over(snapshot: PeSnapshot, pe: Pe) -> bool:
    """Whether the pod of a PE stays until it has handed over, as the Job's status records.

    Its new content may be observed before the hand-over that the same resize begins. A resize that
    is over, and one whose job does not hand over, are not waited for.
    """
    job, launch = snapshot.job, pe.launch_that_hands_over
    if job is None or not launch or not job.hand_over_s:
        return False
    generation = pe.generation or 0
    is_resize = job.phase in _BUSY or generation > job.plan_generation
    if not is_resize or job.handed_over >= generation:
        return False
    own = (pod for pod in snapshot.pods if pod.owner_uid == pe.uid and pod.launch == launch)
    return any(not pod.is_over for pod in own)


def silent_launches(job: Job | None, pe: Pe) -> frozenset[int]:
    """The launch of a PE that is gone in the newest hand-over, and has reported nothing of it.

    It may hang: then it takes SIGTERM for nothing, and the PE would stand still until SIGKILL.
    """
    launch = job.gone.get(pe.id) if job is not None else None
    if job is None or launch is None or pe.rests_for == (launch, job.hand_over):
        return frozenset()
    return frozenset((launch,))


def is_report_due(pe: Pe) -> bool:
    """Whether a PE that starts reports its connections: nothing waits for one that never does.

    By its last launch; before the first one that ran by its image.
    """
    is_first = pe.status.launch_count <= FIRST_LAUNCH
    return pe.has_reported or (is_first and is_our_runtime(str(pe.spec.get("image") or "")))


def _awaited_pe(snapshot: PeSnapshot) -> str:
    """Which PE the first pod of one that starts last waits for, as a predicate; empty if none."""
    if not snapshot.awaited_pe:
        return ""
    return (
        f"starts when {snapshot.awaited_pe} is on a node: what the job ran before comes first, as"
        " the nodes may not have room for all"
    )


def awaits_job(snapshot: PeSnapshot) -> bool:
    """Whether the pod of this PE needs something that its job does not have yet."""
    pe, job = snapshot.owner, snapshot.job
    if pe is None or job is None:
        return False
    return (is_encrypted(pe.spec) and not job.certificate_secret) or (
        required_redis(pe.spec) is not None and not job.redis_config
    )


def is_constrained(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec has a host constraint."""
    placement = spec.get("placement") or {}
    return any(placement.get(name) not in (None, []) for name in _CONSTRAINTS)


def awaited_place(snapshot: PeSnapshot) -> str:
    """What a pod without a usable node waits for, as a predicate; empty if it may be created."""
    pe = snapshot.owner
    if pe is None or _is_free(snapshot, pe):
        return ""
    placement = snapshot.placement
    if placement is None or not placement.node or _is_older(placement.generation, pe.generation):
        return WAITS_FOR_PLACEMENT
    if snapshot.node(placement.node).node is None:
        return waits_for_another_node(placement.node)
    if not needs_pool(pe.spec):
        return ""
    return _awaited_pool(snapshot.pool, placement.node)


def _awaited_pool(pool: HostPool | None, node: str) -> str:
    if pool is None:
        return "waits for its host pool"
    if pool.marks_members and not pool.has_claimed:
        return waits_for_claim(node, pool.name)
    return ""


def place_of(snapshot: PeSnapshot) -> Assignment | None:
    """The node and pool of a pod that is made now; None if it may run anywhere."""
    pe, placement = snapshot.owner, snapshot.placement
    if pe is None or placement is None or not is_constrained(pe.spec):
        return None
    return Assignment(snapshot.node(placement.node), snapshot.pool)


def needs_pool(spec: Mapping[str, Any]) -> bool:
    """Whether a PE of this spec runs in a host pool."""
    return bool((spec.get("placement") or {}).get("hostPoolLocation"))


def _is_free(snapshot: PeSnapshot, pe: Pe) -> bool:
    """Whether a PE has no constraints, or its job is of a release that did not enforce any."""
    is_old = snapshot.job is not None and snapshot.job.is_unconstrained
    return not is_constrained(pe.spec) or (is_old and snapshot.placement is None)


def _is_older(placed: int | None, required: int | None) -> bool:
    return placed is None or placed < (required or 0)


def is_to_launch(entry: Entry) -> bool:
    """Whether, by its spec and status, a PE needs a launch or its pod may be on no node yet."""
    spec, status = entry.data["spec"], launch_status_of(entry.data["status"])
    restart = restart_of(entry)
    return (
        status.phase in (PePhase.WAITING, PePhase.STARTING)
        or status.content_id != str(spec.get("contentId") or "")
        or status.launch_count < int(spec.get("launchCount") or 0)
        or bool(restart and restart != status.observed_restart)
    )
