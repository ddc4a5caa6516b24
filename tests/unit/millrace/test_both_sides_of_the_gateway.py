"""What the runtime of a PE writes, pe-gateway reads, and the other way round."""

from __future__ import annotations

import pytest

from contracts.resources.hand_over import hand_over_in
from millrace.protocol import (
    Connectivity,
    HandOver,
    Look,
    Lost,
    Peer,
    ReadsAgain,
    Report,
    Sealed,
    Skipped,
    Started,
    Trouble,
    decoded_seen,
    encoded,
)
from millrace.runtime.gateway import WAIT_S
from services.pe_gateway.core.runtime_requests import read_runtime, report_runtime
from services.pe_gateway.core.runtime_views import view_of
from services.pe_gateway.core.snapshot import Job, Pe

PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2, trace=("", "ERROR"))
HAND_OVER = {
    "generation": 5,
    "begun": "2026-11-26T10:00:00Z",
    "deadline": "2026-11-26T10:00:30Z",
    "pes": {"2": 1, "4": 2},
    "sealed": {"2": 1},
    "gone": [4],
    "complete": True,
}


def test_a_pe_reads_what_the_gateway_shows() -> None:
    job = Job("ns", "shop", 7, "job-uid", hand_over=hand_over_in({"handOver": HAND_OVER}))
    view = view_of(job, PE, 2, {1: ("10.0.0.7", 2), 9: None}, [8])
    seen = decoded_seen(view.body)
    assert seen.left == {8}
    assert (seen.job_id, seen.job_uid, seen.launch) == (7, "job-uid", 2)
    assert seen.version == view.version
    assert seen.peers == {1: Peer(address="10.0.0.7", launch=2)}
    assert seen.hand_over == HandOver(
        generation=5,
        pes={2: 1, 4: 2},
        deadline=1_795_687_230,
        sealed={2: 1},
        gone=frozenset({4}),
        complete=True,
    )
    assert (seen.trace.app, seen.trace.runtime) == (None, "error")


def test_a_pe_reads_a_job_without_a_hand_over() -> None:
    seen = decoded_seen(view_of(Job("ns", "shop", 7, "u"), PE, 2, {}).body)
    assert (seen.hand_over, seen.peers) == (None, {})


@pytest.mark.parametrize("peers", [(), (1,), (1, 4, 12)])
def test_the_gateway_reads_the_query_of_a_pe(peers: tuple[int, ...]) -> None:
    waiting = Look(peers=peers, seen="v1", wait_s=WAIT_S)  # unstretched: nobody waits
    for look in (waiting, Look(former=peers)):
        assert read_runtime("shop", 3, look.query).look == look


@pytest.mark.parametrize(
    ("report", "values"),
    [
        (
            Started("millrace 0.1.0", hands_over=True),
            {"name": "millrace 0.1.0", "handsOver": True},
        ),
        (
            Started("millrace", hands_over=True, sources=("a", "b")),
            {"name": "millrace", "handsOver": True, "sources": ("a", "b")},
        ),
        (
            Started("millrace", True, ("a", "b"), ReadsAgain(("a",), 1)),
            {
                "name": "millrace",
                "handsOver": True,
                "sources": ("a", "b"),
                "readsAgain": "Launch 2 begins with the state that launch 1 saved before it went"
                " on: what source a gave since then may come twice.",
            },
        ),
        (
            Started("millrace", True, ("a", "b"), ReadsAgain(("a", "b"), None)),
            {
                "name": "millrace",
                "handsOver": True,
                "sources": ("a", "b"),
                "readsAgain": "Launch 2 begins with no state of those before it: what sources a, b"
                " gave may come twice.",
            },
        ),
        (Sealed(5), {"sealed": 5}),
        (Lost(17, "Killed"), {"lostTuples": 17}),
        (Skipped(5), {"skippedTuples": 5}),
        (Trouble("PeerMissing", "PE 2"), {"reason": "PeerMissing", "message": "PE 2"}),
        (Trouble(), {"reason": None, "message": None}),
    ],
)
def test_the_gateway_reads_the_reports_of_a_pe(report: Report, values: dict[str, object]) -> None:
    found = report_runtime("shop", 3, encoded(report, 2))
    assert found.launch == 2
    assert dict(found.values) == values


def test_the_gateway_reads_the_connectivity_of_a_pe() -> None:
    for state in ("Full", "Partial", "None"):
        found = report_runtime("shop", 3, encoded(Connectivity(state), 2))
        assert (found.launch, found.values) == (2, ())
        assert found.connectivity == state
