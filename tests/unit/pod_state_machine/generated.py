"""Snapshots of a PE drawn at random, so that every rule is met; also ones that cannot be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from contracts import labels
from contracts.moments import moment_of
from contracts.reasons import Reason
from contracts.resources import StatedCondition
from contracts.resources.job import JobPhase
from contracts.resources.processing_element import PePhase
from contracts.scheduling.nodes import Node
from contracts.scheduling.taints import Taint
from services.launching.core.conditions import BACKING_OFF
from services.launching.core.owners import LaunchStatus, RestartPolicies
from services.launching.core.pods import DISRUPTED_BY_ITSELF, Pod
from services.launching.core.snapshot import Launched
from services.pod_state_machine.core.snapshot import HostPool, Job, Pe, PeKey, PeSnapshot, Placement

NOW = 1_000_000.0
NODES = ("", "node-0", "node-1")
PHASES = (*PePhase, PePhase.WAITING, PePhase.WAITING, PePhase.STARTING, PePhase.RUNNING)
REASONS = tuple(each.value for each in Reason)
JOB_PHASES = tuple(JobPhase)
PLACEMENTS: tuple[dict[str, Any], ...] = ({}, {}, {"isolation": "x"}, {"hostPoolLocation": {}})


def snapshots(count: int, seed: int) -> Iterator[PeSnapshot]:
    """The first `count` snapshots of a seed."""
    draw = random.Random(seed)
    return (_with_failure(draw, _with_request(draw, _snapshot(draw))) for _ in range(count))


def _with_failure(draw: random.Random, snapshot: PeSnapshot) -> PeSnapshot:
    """Now and then a PE that failed for good and whose pod is still there, which is rare else."""
    if snapshot.owner is None or not snapshot.pods or draw.random() > 0.03:
        return snapshot
    (pod, *others), owner = snapshot.pods, snapshot.owner
    policies = replace(owner.policies, restart_failed=False, delete_failed=True)
    status = replace(owner.status, phase=PePhase.FAILED, launch_count=pod.launch, pod=pod.name)
    pod = replace(pod, phase="Failed", is_deleting=False)
    owner = replace(owner, policies=policies, status=status)
    return replace(snapshot, owner=owner, pods=(pod, *others))


def _with_request(draw: random.Random, snapshot: PeSnapshot) -> PeSnapshot:
    """Now and then a PE whose content changed while its gates are closed, which is rare else."""
    if snapshot.owner is None or draw.random() > 0.1:
        return snapshot
    phase = draw.choice((PePhase.STARTING, PePhase.RUNNING))
    status = replace(snapshot.owner.status, phase=phase, conditions=())
    owner = replace(snapshot.owner, content_id="c3", status=status)
    return replace(snapshot, owner=owner, has_pe_config_map=False)


def _snapshot(draw: random.Random) -> PeSnapshot:
    pe = _pe(draw)
    newest, deleting = pe.status.launch_count, draw.choice((0.1, 0.1, 0.9))
    launches = draw.sample(
        (newest, newest - 1, newest - 2, newest + 1), draw.choice((0, 1, 1, 2, 2, 3))
    )
    if newest + 1 in launches and draw.random() < 0.95:
        launches.remove(newest + 1)
    pods = tuple(_pod(draw, pe, launch, deleting) for launch in launches if launch > 0)
    is_gone = not any(pod.launch == newest for pod in pods) and newest > 0
    return PeSnapshot(
        key=PeKey("default", pe.name),
        owner=pe,
        job=None if draw.random() < 0.03 else _job(draw),
        pods=pods,
        ended=frozenset(pod.name for pod in pods if draw.random() < 0.3),
        has_pe_config_map=draw.random() < 0.95,
        has_job_config_map=draw.random() < 0.95,
        launched=Launched(newest, "p", "c1") if newest and draw.random() < 0.3 else None,
        last=_pod(draw, pe, newest, deleting) if is_gone and draw.random() < 0.5 else None,
        nodes=tuple(_node(draw, name) for name in NODES[1:] if draw.random() < 0.9),
        pes_of_job=draw.choice((1, 100)),
        placement=draw.choice((None, Placement(None, ""), *[Placement(2, "node-0")] * 4)),
        pool=draw.choice(
            (None, HostPool("h", "u", is_exclusive=True, has_claimed=draw.random() < 0.7))
        ),
    )


def _pe(draw: random.Random) -> Pe:
    count = draw.choice((0, 1, 2, 2, 3))
    return Pe(
        namespace="default",
        name="j-0",
        uid="pe-uid",
        id=0,
        job="j",
        job_uid="job-uid" if draw.random() < 0.98 else "other",
        content_id="c1" if draw.random() < 0.95 else "c2",
        launch_floor=1 if draw.random() < 0.95 else draw.choice((2, 4)),
        metadata_generation=draw.choice((1, 2)),
        policies=_policies(draw),
        status=_status(draw, count),
        generation=draw.choice((None, 1, 2)),
        is_deleting=draw.random() < 0.03,
        is_orphaning=draw.random() < 0.5,
        restart="" if draw.random() < 0.9 else "now",
        created_at=NOW - draw.choice((1.0, 100.0)),
        spec={"placement": draw.choice(PLACEMENTS)},
    )


def _policies(draw: random.Random) -> RestartPolicies:
    return RestartPolicies(
        restart_failed=draw.random() < 0.5,
        restart_completed=draw.random() < 0.4,
        restart_deleted=draw.random() < 0.4,
        delete_failed=draw.random() < 0.6,
        failed_retention_s=draw.choice((10.0, 10.0, 1e6)),
        failed_kept_s=draw.choice((10.0, 1e6)),
        failed_kept_max=draw.choice((1, 3)),
        restarts_max=draw.choice((None, 0, 2)),
        force_relaunch=draw.random() < 0.3,
    )


def _status(draw: random.Random, count: int) -> LaunchStatus:
    phase = draw.choice(PHASES) if count else PePhase.WAITING
    held = StatedCondition(BACKING_OFF, "True", draw.choice(REASONS), "", moment_of(NOW))
    number = count - 1 if phase is PePhase.WAITING else count
    is_given_up = phase is PePhase.FAILED and draw.random() < 0.3
    return LaunchStatus(
        phase=phase,
        launch_count=count,
        pod="" if number <= 0 or is_given_up else labels.pod_name("j", 0, "pe-uid", number),
        node=draw.choice(NODES),
        content_id="c1" if draw.random() < 0.95 else "",
        restarts=draw.choice((0, 1, 5)),
        reason=draw.choice(
            (Reason.IMAGE_PULL_FAILED,) * 3 + ("", Reason.DISRUPTED, Reason.POD_REFUSED)
        ),
        next_restart=draw.choice(("", moment_of(NOW - 5), moment_of(NOW + 5))),
        observed_restart=draw.choice(("", "now")),
        conditions=draw.choice(((), (), (held,))),
    )


def _pod(draw: random.Random, pe: Pe, launch: int, deleting: float) -> Pod:
    is_deleting = draw.random() < deleting
    phase = draw.choice(("Pending", "Pending", "Running", "Running", "Succeeded", "Failed"))
    created_at = NOW - draw.choice((0.5, 3.0, 700.0, 5000.0))
    is_over = phase in ("Succeeded", "Failed")
    return Pod(
        name=labels.pod_name("j", 0, "pe-uid", launch),
        uid=f"pod-{launch}",
        owner_uid="pe-uid" if draw.random() < 0.96 else "other-pe",
        launch=launch,
        content_id="c1" if draw.random() < 0.95 else "c2",
        phase=phase,
        is_deleting=is_deleting,
        disruption=draw.choice(("",) * 8 + ("EvictionByEvictionAPI", DISRUPTED_BY_ITSELF)),
        generation=draw.choice((None, 1)),
        node=draw.choice(NODES),
        created_at=created_at,
        finished_at=created_at + draw.choice((0.2, 650.0)) if is_over else 0.0,
        deletion_due_at=NOW - draw.choice((-20.0, 20.0, 20.0, 400.0, 400.0))
        if is_deleting
        else 0.0,
        deletion_grace_s=draw.choice((0.0, 30.0)) if is_deleting else None,
        job_uid="job-uid",
        problem=draw.choice(("", "it broke")),
        blocked=Reason.UNSCHEDULABLE if phase == "Pending" and draw.random() < 0.3 else None,
        is_unreported=phase == "Running" and draw.random() < 0.3,
        is_set_aside=draw.random() < 0.6,
        restart=draw.choice(("", pe.restart)),
        pinned_to=draw.choice(NODES),
        unready_since=created_at if phase == "Pending" and created_at < NOW - 1000.0 else 0.0,
    )


def _job(draw: random.Random) -> Job:
    phase = draw.choice(JOB_PHASES)
    return Job("job-uid", phase, is_deleting=draw.random() < 0.02, redis_config="x")


def _node(draw: random.Random, name: str) -> Node:
    return Node(
        name,
        ready=draw.random() < 0.5,
        taints=(Taint(labels.OUT_OF_SERVICE_TAINT),) if draw.random() < 0.05 else (),
        unschedulable=draw.random() < 0.1,
    )
