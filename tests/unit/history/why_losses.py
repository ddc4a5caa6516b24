"""Tuples of a job that runs, which were lost."""

from __future__ import annotations

from contracts import labels
from contracts.losses import LaunchLoss, Losses, losses_field
from history.why.rules import Trouble
from tests.builders import Builder, a_pe, a_pod
from tests.unit.history.troubles import (
    SINCE,
    Scene,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    condition,
)
from tests.unit.history.why_cases import Case

PE = a_pe().launched(1)
UID = str(PE.entry().uid)
FIRST = "2026-11-20T09:10:00Z"
ROWS = (
    LaunchLoss(0, UID, 1, 12, FIRST, SINCE, "StoppedLate", 12),
    LaunchLoss(7, "gone", 2, 3, SINCE, SINCE, "InHand", 15),
)
KEPT = losses_field(Losses(15, SINCE, ROWS))


def lost(job: Builder) -> tuple[Builder, ...]:
    """The job with its PE, its pod and its node."""
    return job, PE, a_running_pod(), a_ready_node()


JOB = a_submitted_job(losses=KEPT)


def acknowledged(value: str) -> Builder:
    """The job with what somebody wrote into its annotation."""
    return JOB.having("metadata", "annotations", value={labels.LOSSES_ACKNOWLEDGED: value})


RESTARTED = condition(
    "BackingOff", "False", "PodFailed", "Launch 1 follows. Container pe: OOMKilled, exit code 137."
)
ON_THE_WAY = a_submitted_job(
    losses=losses_field(Losses(5, SINCE, (LaunchLoss(0, UID, 1, 5, SINCE, SINCE, "OnTheWay", 5),)))
)
KILLED = a_pe(pe_id=1).launched(1).with_status(restarts=1, conditions=[RESTARTED])
KILLED_BEFORE = KILLED.with_status(conditions=[{**RESTARTED, "lastTransitionTime": FIRST}])
SHOWN_NO_MORE = {
    "acknowledged": lost(acknowledged("15")),
    "after its time": lost(JOB.with_spec(lossRetentionSeconds=60)),
}
LOSSES = {
    "lost tuples of a job": Case(
        Scene(lost(JOB)),
        Trouble.TUPLES_LOST,
        (
            "Job shop: at most 15 tuples were lost: PE 7, launch 2: 3 at",
            "InHand (lost by the launch before, which was killed, and counted by this one); PE 0",
            ": 12 from",
            f"(since 50m, {FIRST})",
        ),
        ("millrace acknowledge shop -n default", "; `millrace logs shop-0 -n default`): what is"),
    ),
    "lost tuples of a PE whose failed pod is kept": Case(
        Scene(lost(JOB)).and_also(a_pod(launch=0).in_phase("Failed")),
        Trouble.TUPLES_LOST,
        ("Job shop: at most 15 tuples were lost",),
        ("; `millrace logs shop-0 -n default`, `millrace logs shop-0 -n default --previous`)",),
    ),
    "lost tuples of a PE": Case(
        Scene(lost(JOB), target=("ProcessingElement", "shop-0")),
        Trouble.TUPLES_LOST,
        ("shop-0: at most 12 tuples were lost: PE 0", "StoppedLate"),
        ("millrace acknowledge shop -n default",),
    ),
    "lost tuples of a launch that failed": Case(
        Scene((JOB, PE.with_status(restarts=1, conditions=[RESTARTED]), *lost(JOB)[2:])),
        Trouble.TUPLES_LOST,
        (
            "InHand (",
            "; before launch 1 ProcessingElement shop-0 failed: Container pe: OOMKilled, ",
        ),
        ("millrace acknowledge shop -n default",),
    ),
    "lost tuples that a peer of the killed PE counts": Case(
        Scene((ON_THE_WAY, KILLED, a_running_pod(pe_id=1), *lost(JOB)[1:])),
        Trouble.TUPLES_LOST,
        ("; before launch 1 ProcessingElement shop-1 failed: Container pe: OOMKilled, ",),
        ("millrace acknowledge shop -n default",),
    ),
    "lost tuples that a peer counts, long after another PE failed": Case(
        Scene((ON_THE_WAY, KILLED_BEFORE, a_running_pod(pe_id=1), *lost(JOB)[1:])),
        Trouble.TUPLES_LOST,
        ("OnTheWay (sent to peers that were killed, and counted here) (since ",),
        ("millrace acknowledge shop -n default",),
    ),
    "lost tuples of a PE that has completed": Case(
        Scene(
            (JOB, PE.with_status(phase="Completed"), a_pod().in_phase("Succeeded")),
            target=("ProcessingElement", "shop-0"),
        ),
        Trouble.TUPLES_LOST,
        ("shop-0: at most 12 tuples were lost",),
        ("millrace acknowledge shop -n default",),
    ),
    "an acknowledgement that does not count": Case(
        Scene(lost(acknowledged("many"))),
        Trouble.TUPLES_LOST,
        ("lossesAcknowledged of the Job is 'many', which acknowledges nothing",),
        ("millrace acknowledge shop -n default",),
    ),
}
