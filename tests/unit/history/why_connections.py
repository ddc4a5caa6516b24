"""Troubles of connections between PEs that run."""

from __future__ import annotations

from history.why.rules import Trouble
from tests.builders import a_pe
from tests.unit.history.troubles import (
    Scene,
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
