"""What a PE of our runtime sees of its job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.pe_gateway.core.runtime_views import address_in, view_of, with_version
from services.pe_gateway.core.snapshot import Job, Pe, Pod

JOB = Job("ns", "shop", 7, "job-uid")
PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2, trace=("info", "ERROR"))
POD = Pod("shop-3-x", "pod-uid", "uid", 2, has_ended=False, ip="10.0.0.7")


@pytest.mark.parametrize(
    ("pods", "pe", "address"),
    [
        ([POD], PE, ("10.0.0.7", 2)),
        ([replace(POD, launch=3, ip="b"), POD], PE, ("b", 3)),
        ([replace(POD, launch=1)], PE, None),
        ([replace(POD, ip="")], PE, None),
        ([replace(POD, has_ended=True)], PE, None),
        ([replace(POD, is_deleting=True)], PE, None),
        ([replace(POD, pe_uid="another")], PE, None),
        ([POD], None, None),
        ([], PE, None),
    ],
)
def test_a_peer_is_where_its_newest_live_launch_runs(
    pods: list[Pod], pe: Pe | None, address: tuple[str, int] | None
) -> None:
    assert address_in(pods, pe) == address


def test_a_view_says_that_the_job_has_ended() -> None:
    assert view_of(replace(JOB, has_ended=True), PE, 2, {})["hasEnded"]


def test_a_view_has_what_the_runtime_of_a_pe_needs() -> None:
    hand_over = {
        "generation": 5,
        "begun": "2026-11-26T10:00:00Z",
        "deadline": "2026-11-26T10:00:30Z",
        "pes": {"2": 1, "4": 2},
        "sealed": {"2": 1},
        "gone": [4],
        "former": [{"generation": 3, "pes": {"2": 1}, "sealed": {"2": 1}}],
    }
    addresses = {1: ("10.0.0.7", 2), 4: None}
    view = view_of(replace(JOB, hand_over=hand_over), PE, 2, addresses, [9, 8])
    assert view == {
        "jobId": 7,
        "jobUid": "job-uid",
        "launch": 2,
        "peers": {"1": {"address": "10.0.0.7", "launch": 2}},
        "handOver": {
            "generation": 5,
            "pes": {"2": 1, "4": 2},
            "sealed": {"2": 1},
            "gone": [4],
            "complete": False,
            "deadline": 1795687230,
            "former": [
                {
                    "generation": 3,
                    "pes": {"2": 1},
                    "sealed": {"2": 1},
                    "gone": [],
                    "complete": True,
                }
            ],
        },
        "left": [8, 9],
        "inForce": 0,
        "hasEnded": False,
        "trace": {"app": "info", "runtime": "error"},
    }


def test_a_version_is_that_of_the_contents_in_every_instance() -> None:
    one, same = (with_version(view_of(JOB, PE, 2, {})) for _ in range(2))
    assert one == same
    assert one["handOver"] is None
    assert one["version"] != with_version(view_of(JOB, PE, 3, {}))["version"]


@pytest.mark.parametrize("text", ["", "soon", "2026-11-26"])
def test_a_deadline_that_cannot_be_read_is_over(text: str) -> None:
    view = view_of(replace(JOB, hand_over={"generation": 1, "deadline": text}), PE, 2, {})
    assert view["handOver"]["deadline"] == 0
