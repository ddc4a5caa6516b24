"""What `logs` says where the log of a launch that failed is not there any more."""

from __future__ import annotations

from typing import Any

from cli.live import PeView, view_of
from cli.log_notes import ended_before_log, no_pod
from tests.unit.cli.test_views import job, pe, pod

NOW_S = 1_800_000_000.0
ENDED = "Container pe: Error, exit code 18: ImportFailed: no module named shop"
BACKING_OFF = {
    "phase": "Failed",
    "launchCount": 4,
    "restarts": 3,
    "reason": "BackingOff",
    "message": f"The next restart waits for its back-off. {ENDED}.",
}
KEEP = "to keep the next one, set spec.processingElement.deleteFailedPod: false in its Job"


def seen(status: dict[str, Any], *pods: dict[str, Any]) -> PeView:
    """PE 0 with this status and these pods."""
    return view_of(job(), [], [{**pe(0), "status": status}], pods).pes[0]


def test_a_failed_pe_whose_pod_is_gone_says_how_it_ended_and_how_to_keep_its_log() -> None:
    text = no_pod(seen(BACKING_OFF), previous=False, now_s=NOW_S)
    assert text.startswith("j-0 has no pod, it is Failed: BackingOff: ")
    assert ENDED in text
    assert text.endswith(f"its log went with its pod; {KEEP}")


def test_a_pe_that_never_failed_needs_no_setting() -> None:
    assert no_pod(seen({}), previous=False, now_s=NOW_S) == "j-0 has no pod, it is Waiting"


def test_without_the_pod_of_the_launch_before_its_end_is_in_the_status() -> None:
    found = seen(BACKING_OFF, pod(0, 4, "Failed"))
    assert no_pod(found, previous=True, now_s=NOW_S).endswith(f"; it ended with: {ENDED}")


def test_the_log_of_a_failed_pod_speaks_for_itself_unless_it_is_empty() -> None:
    found = seen(BACKING_OFF, pod(0, 4, "Failed"))
    assert ended_before_log(found, 3, NOW_S) == ""
    assert ended_before_log(found, 0, NOW_S) == f"j-0 logged nothing before it ended with: {ENDED}"


def test_the_log_of_a_launch_after_one_that_failed_says_how_that_ended() -> None:
    starting = {**BACKING_OFF, "phase": "Starting"}
    alone = seen(starting, pod(0, 5, "Pending"))
    before = f"the launch of j-0 before this one ended with: {ENDED}; "
    assert ended_before_log(alone, 0, NOW_S) == f"{before}its log went with its pod; {KEEP}"
    kept = seen(starting, pod(0, 4, "Failed"), pod(0, 5, "Pending"))
    assert ended_before_log(kept, 2, NOW_S) == f"{before}its log: millrace logs j-0 --previous"


def test_nothing_is_added_to_the_log_of_a_pe_that_is_well() -> None:
    assert ended_before_log(seen({"phase": "Running"}, pod(0)), 0, NOW_S) == ""
