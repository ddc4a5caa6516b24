"""Troubles of streams between jobs."""

from __future__ import annotations

from history.why.rules import Trouble
from tests.builders import a_pe, a_pod
from tests.unit.history.troubles import (
    Scene,
    a_blocked_pe,
    a_ready_node,
    a_running_pod,
    a_submitted_job,
    condition,
    ill,
)
from tests.unit.history.why_cases import NODES_SHORT, Case
from tests.unit.history.why_losses import JOB, lost

WORDS = "streams between jobs are not connected yet, so no tuple comes from import I"
UNCONNECTED = condition("StreamsConnected", "False", "StreamsNotConnected", WORDS)
IMPORTS = a_submitted_job(conditions=[condition("Healthy", "True", "AllRunning"), UNCONNECTED])
BLOCKED = a_blocked_pe("Unschedulable", NODES_SHORT), a_pod().unschedulable(NODES_SHORT)
STREAMS: dict[str, Case] = {
    "a job that imports": Case(
        Scene((IMPORTS, a_pe().launched(1), a_running_pod(), a_ready_node())),
        Trouble.STREAMS_NOT_CONNECTED,
        ("job shop: streams between jobs are not connected yet", "import I"),
        ("topic of Kafka", "submit it again"),
    ),
    "a job that imports, and whose pod finds no node": Case(
        Scene((IMPORTS, *ill(*BLOCKED).things[1:])),
        Trouble.UNSCHEDULABLE,
        ("finds no node",),
        ("spec.processingElement.resources",),
    ),
    "a job that exports what nobody needs, and that lost tuples": Case(
        Scene(lost(JOB.with_status(conditions=[UNCONNECTED]))),
        Trouble.TUPLES_LOST,
        ("Job shop: at most 15 tuples were lost",),
        ("millrace acknowledge shop -n default",),
    ),
}
