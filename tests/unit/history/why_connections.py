"""Troubles of connections between PEs that run."""

from __future__ import annotations

from history.why.rules import Trouble
from tests.builders import Builder, a_pe, a_pod
from tests.unit.history.troubles import (
    SINCE,
    Scene,
    a_blocked_pe,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    condition,
)
from tests.unit.history.why_cases import Case

LACKING = "1 of 1 PE lacks connections: PE 0 reports: PE 1 takes no tuples"
REPORTED = {"launch": 1, "message": "PE 1 takes no tuples"}
UNCONNECTED = (
    a_submitted_job(conditions=[condition("Healthy", "False", "SomeNotConnected", LACKING)]),
    a_pe().launched(1).with_status(connectivity="Partial", runtime=REPORTED),
    a_running_pod(),
    a_ready_node(),
)
FAILS = "operator f failed on N(v=3): ValueError: no"
WAITS = {"launch": 1, "reason": "OperatorFailed", "message": FAILS}
WAITING = (
    a_submitted_job(conditions=[condition("Healthy", "False", "OperatorFailed", FAILS)]),
    a_pe().launched(1).with_status(connectivity="Full", runtime=WAITS),
    a_running_pod(),
    a_ready_node(),
)
IN_FLUSH = "operator f failed in flush: OSError: the database is away"
HOLDING_BACK = (
    WAITING[0],
    WAITING[1].with_status(runtime={**WAITS, "message": IN_FLUSH}),
    *WAITING[2:],
)
HANGS = "operator f has worked on N(v=3) for more than 30 s"
HANGING = (
    a_submitted_job(conditions=[condition("Healthy", "False", "OperatorHangs", HANGS)]),
    a_pe()
    .launched(1)
    .with_status(
        connectivity="Full", runtime={"launch": 1, "reason": "OperatorHangs", "message": HANGS}
    ),
    a_running_pod(),
    a_ready_node(),
)
ENDED = f"Container pe: Error, exit code 10: OperatorFailed: {FAILS}"
ENDED_IN_FLUSH = f"Container pe: Error, exit code 10: OperatorFailed: {IN_FLUSH}"
OTHERWISE = "Container pe: OOMKilled, exit code 137"
AGAIN = {
    **condition("BackingOff", "False", "PodFailed", f"Launch 4 follows. It failed. {ENDED}."),
    "lastTransitionTime": "2026-11-20T09:59:50Z",
}
"""The condition of a PE whose last launch ended at the tuple, ten seconds ago."""
OF_NEIGHBOUR = a_pe(pe_id=1).launched(1)
NEIGHBOUR = (
    OF_NEIGHBOUR.with_status(connectivity="Partial", runtime={**REPORTED, "message": "no PE 0"}),
    a_running_pod(pe_id=1),
)
BACKING_OFF = (
    WAITING[0],
    a_blocked_pe("BackingOff", f"The next restart waits. {ENDED}.", phase="Failed"),
    a_pod().in_phase("Failed"),
    *NEIGHBOUR,
    a_ready_node(),
)


def launched_again(phase: str, pod: Builder) -> tuple[Builder, ...]:
    """The launch after one that ended at a tuple."""
    pe = a_pe().launched(1, phase=phase).with_status(restarts=3, conditions=[AGAIN])
    return (WAITING[0], pe.with_status(connectivity="Partial"), pod, *NEIGHBOUR, a_ready_node())


FULL = "pe-0/launch-1/checkpoint-7.state cannot be written (9 bytes): No space left on device"
UNSAVED = (
    a_submitted_job(conditions=[condition("Healthy", "False", "CheckpointFailed", FULL)]),
    a_pe()
    .launched(1)
    .with_status(
        connectivity="Full", runtime={"launch": 1, "reason": "CheckpointFailed", "message": FULL}
    ),
    a_running_pod(),
    a_ready_node(),
)
RESIZING = {"generation": 3, "deadline": "2026-11-20T10:00:12Z", "pes": {"0": 1}}
CONNECTIONS = {
    "an operator of the job fails at a tuple": Case(
        Scene(WAITING),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 waits at a tuple: {FAILS}",),
        ("millrace logs shop-0 -n default", 'on_error="skip"'),
    ),
    "an operator of a PE fails at a tuple": Case(
        Scene(WAITING, target=("ProcessingElement", "shop-0")),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 waits at a tuple: {FAILS}",),
        ("millrace logs shop-0 -n default",),
    ),
    "an operator of a PE that runs fails in flush": Case(
        Scene(HOLDING_BACK),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 holds tuples back: {IN_FLUSH}",),
        ("repair what flush needs", "calls it again by itself", "neither restart nor delete it"),
    ),
    "an operator that failed in flush and ended its PE": Case(
        Scene(
            (
                WAITING[0],
                a_blocked_pe(
                    "BackingOff", f"The next restart waits. {ENDED_IN_FLUSH}.", phase="Failed"
                ),
                a_pod().in_phase("Failed"),
            )
        ),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 holds tuples back: {IN_FLUSH}",),
        ("held back is lost", "at once: millrace restart shop-0 -n default"),
    ),
    "a function of the job does not return from a tuple": Case(
        Scene(HANGING),
        Trouble.OPERATOR_HANGS,
        (f"shop-0 waits at a tuple: {HANGS}",),
        ("millrace logs shop-0 -n default", "asyncio.timeout"),
    ),
    "a function of a PE does not return from a tuple": Case(
        Scene(HANGING, target=("ProcessingElement", "shop-0")),
        Trouble.OPERATOR_HANGS,
        (f"shop-0 waits at a tuple: {HANGS}",),
        ("millrace logs shop-0 -n default",),
    ),
    "an operator that ended its PE": Case(
        Scene(BACKING_OFF),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 waits at a tuple: {FAILS} (since 30m, {SINCE})",),
        ("since a job keeps its bundle. Once the cause is gone, at once: millrace restart shop-0",),
    ),
    "an operator whose PE comes up again": Case(
        Scene(launched_again("Starting", a_pod().in_phase("Pending"))),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 waits at a tuple: {FAILS} (since 30m",),
        ('on_error="skip"',),
    ),
    "an operator whose PE runs again": Case(
        Scene(launched_again("Running", a_running_pod())),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 waits at a tuple: {FAILS} (since 30m",),
        ('on_error="skip"',),
    ),
    "a PE that failed otherwise and comes up again": Case(
        Scene(
            (
                WAITING[0],
                a_pe()
                .launched(1, phase="Starting")
                .with_status(restarts=1, conditions=[{**AGAIN, "message": f"{OTHERWISE}."}]),
                a_pod().in_phase("Pending"),
            )
        ),
        Trouble.BACKING_OFF,
        (f"PE shop-0 failed and is launched again: {OTHERWISE} (since 30m",),
        ("once the cause is gone at once with: millrace restart shop-0",),
    ),
    "a neighbour of a PE that an operator ended": Case(
        Scene(BACKING_OFF, target=("ProcessingElement", "shop-1")),
        Trouble.OPERATOR_FAILS,
        (f"shop-0 waits at a tuple: {FAILS}",),
        ('on_error="skip"',),
    ),
    "a PE of the job cannot keep its checkpoints": Case(
        Scene(UNSAVED),
        Trouble.CHECKPOINTS_FAIL,
        (f"shop-0 runs, and cannot keep its checkpoints: {FULL}",),
        ("Make room in the store",),
    ),
    "a PE cannot keep its checkpoints": Case(
        Scene(UNSAVED, target=("ProcessingElement", "shop-0")),
        Trouble.CHECKPOINTS_FAIL,
        (f"shop-0 runs, and cannot keep its checkpoints: {FULL}",),
        ("Make room in the store",),
    ),
    "connections missing in a hand-over": Case(
        Scene((UNCONNECTED[0].with_status(phase="Resizing", handOver=RESIZING), *UNCONNECTED[1:])),
        Trouble.HANDING_OVER,
        ("it waits for PE 0 to hand over",),
        ("millrace get shop -n default --watch",),
    ),
    "connections missing": Case(
        Scene(UNCONNECTED),
        Trouble.NOT_CONNECTED,
        (f"Job shop: {LACKING}",),
        ("kubectl get stp -n default -o yaml",),
    ),
    "connections of a PE missing": Case(
        Scene(UNCONNECTED, target=("ProcessingElement", "shop-0")),
        Trouble.NOT_CONNECTED,
        ("shop-0 runs, and reports: PE 1 takes no tuples",),
        ("millrace logs shop-0 -n default",),
    ),
}
