"""What `get` shows of tuples: those that wait, were skipped, or are lost and not acknowledged."""

from __future__ import annotations

from typing import Any

import pytest

from cli.acknowledging import acknowledge_losses
from cli.describing import list_of, notes_of
from cli.documents import document_of
from cli.failing import Failure
from contracts import labels
from contracts.losses import LaunchLoss, Losses, losses_field
from contracts.moments import unix_s_of
from millrace.errors import OperatorFailed
from tests.builders import a_job
from tests.sandboxed import MERGE, Sandboxed
from tests.unit.cli.test_describing import CREATED, NOW_S, objects, plain
from tests.unit.cli.test_views import pe, pod
from tests.virtual_time import virtually

FAILS = "operator f failed on N(v=3): ValueError: no"
WAITS = {"launch": 1, "reason": "OperatorFailed", "message": FAILS}


def kept(total: int) -> dict[str, Any]:
    """`status.losses` of a job whose PE 0 lost so many tuples."""
    row = LaunchLoss(0, "u0", 1, total, CREATED, CREATED, "StoppedLate", total)
    return losses_field(Losses(total, CREATED, (row,)))


def reporting(**runtime: Any) -> dict[str, Any]:
    """PE 0 with what its runtime reports."""
    return {**pe(0), "status": {"phase": "Running", "launchCount": 1, "runtime": runtime}}


def test_a_pe_that_waits_at_a_tuple_is_a_line_with_operator_tuple_and_cause() -> None:
    found = objects(pes=[reporting(**WAITS)], pods=[pod(0)])
    line = f"j-0 waits at a tuple: {FAILS}"
    assert notes_of(found, NOW_S) == [line]
    assert f"j: {line}" in plain(list_of([found], NOW_S, wide=False, all_of=False))
    assert document_of(found, NOW_S)["processingElements"][0]["waitsAt"] == FAILS


def test_a_pe_whose_flush_fails_holds_tuples_back_and_waits_at_none() -> None:
    failure = OperatorFailed("Kept", None, OSError("away"), method="flush")
    found = objects(pes=[reporting(**WAITS | {"message": str(failure)})], pods=[pod(0)])
    assert notes_of(found, NOW_S) == [
        "j-0 holds tuples back: operator Kept failed in flush: OSError: away"
    ]


def test_a_tuple_whose_text_mentions_flush_is_a_tuple() -> None:
    item = {"text": "operator x failed in flush: no"}
    failure = OperatorFailed("f", item, ValueError("no"))
    found = objects(pes=[reporting(**WAITS | {"message": str(failure)})], pods=[pod(0)])
    assert notes_of(found, NOW_S)[0].startswith("j-0 waits at a tuple: operator f failed on ")


@pytest.mark.parametrize("changed", [{"launch": 2}, {"reason": "PeerMissing"}])
def test_what_an_older_launch_or_another_trouble_reported_is_no_such_line(
    changed: dict[str, Any],
) -> None:
    found = objects(pes=[reporting(**WAITS | changed)], pods=[pod(0)])
    assert notes_of(found, NOW_S) == []
    assert document_of(found, NOW_S)["processingElements"][0]["waitsAt"] is None


ENDED = f"Container pe: Error, exit code 10: OperatorFailed: {FAILS}."
RESTARTED = {
    "type": "BackingOff",
    "status": "False",
    "reason": "PodFailed",
    "message": f"Launch 3 follows. {ENDED}",
    "lastTransitionTime": CREATED,
}


@pytest.mark.parametrize(
    ("status", "of_pod"),
    [
        ({"phase": "Failed", "reason": "BackingOff", "message": ENDED}, "Failed"),
        ({"phase": "Starting", "restarts": 2, "conditions": [RESTARTED]}, "Pending"),
        ({"phase": "Running", "restarts": 2, "conditions": [RESTARTED]}, "Running"),
    ],
)
def test_a_pe_whose_launches_end_at_a_tuple_is_such_a_line_first(
    status: dict[str, Any], of_pod: str
) -> None:
    found = objects(pes=[{**pe(0), "status": status}], pods=[pod(0, phase=of_pod)])
    now_s = unix_s_of(CREATED) + 5
    assert notes_of(found, now_s)[0] == f"j-0 waits at a tuple: {FAILS}"
    assert document_of(found, now_s)["processingElements"][0]["waitsAt"] == FAILS


def test_skipped_tuples_are_counted_in_a_line() -> None:
    found = objects(pes=[reporting(launch=1, skippedTuples=7)], pods=[pod(0)])
    (line,) = notes_of(found, NOW_S)
    assert line.startswith('j-0 skipped 7 tuples since its launch, as on_error="skip" says')
    assert document_of(found, NOW_S)["processingElements"][0]["skippedTuples"] == 7


def test_skipped_tuples_of_a_pe_that_has_completed_are_in_the_line_still() -> None:
    """A job whose functions skipped everything looks as if it had processed everything."""
    found = objects(pes=[reporting(launch=1, skippedTuples=7)], pods=[pod(0, phase="Succeeded")])
    (line,) = notes_of(found, NOW_S)
    assert line.startswith("j-0 skipped 7 tuples")
    assert document_of(found, NOW_S)["processingElements"][0]["skippedTuples"] == 7


def test_of_many_pes_that_wait_some_are_named() -> None:
    pes = [{**reporting(**WAITS), **pe(n)} for n in range(9)]
    for each in pes:
        each["status"] = {"phase": "Running", "launchCount": 1, "runtime": WAITS}
    found = notes_of(objects(pes=pes, pods=[pod(n) for n in range(9)]), NOW_S)
    assert (len(found), found[-1]) == (6, "4 more wait")


def test_lost_tuples_are_a_line_with_how_to_acknowledge_until_somebody_does() -> None:
    found = objects()
    found.job["status"]["losses"] = kept(12)
    (line,) = notes_of(found, NOW_S)
    assert line.startswith("at most 12 tuples were lost: PE 0, launch 1: 12 at ")
    assert line.endswith("StoppedLate; acknowledge it with `millrace acknowledge j`")
    assert document_of(found, NOW_S)["losses"] == kept(12)
    found.job["metadata"]["annotations"] = {labels.LOSSES_ACKNOWLEDGED: "12"}
    assert notes_of(found, NOW_S) == []


@virtually
async def test_acknowledge_writes_the_total_once_and_says_what_was_lost() -> None:
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop"))
    store, kind, kube = sandboxed.cluster.store, sandboxed.kind("Job"), sandboxed.client()

    async def acknowledged() -> tuple[str, str]:
        text = await acknowledge_losses(kube, "default", "shop")
        meta = store.get(kind, "default", "shop")["metadata"]
        return text, (meta.get("annotations") or {}).get(labels.LOSSES_ACKNOWLEDGED, "")

    assert await acknowledged() == (
        "Nothing is to be acknowledged: job shop has lost no tuples.",
        "",
    )
    for total, new in ((12, 12), (15, 3)):
        lost = {"status": {"losses": kept(total)}}
        store.patch(kind, "default", "shop", lost, MERGE, subresource="status")
        text, value = await acknowledged()
        assert text.startswith(f"Acknowledged of job shop: at most {new} tuples were lost: PE 0")
        assert value == str(total)
    text, _ = await acknowledged()
    assert "lost at most 15 tuples so far, all acknowledged" in text
    with pytest.raises(Failure, match="there is no job x"):
        await acknowledge_losses(kube, "default", "x")
