"""What a PE of our runtime sees of its job."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from contracts.resources.hand_over import hand_over_in
from services.pe_gateway.core.runtime_views import address_in, view_of
from services.pe_gateway.core.snapshot import Job, Pe, Pod

JOB = Job("ns", "shop", 7, "job-uid")
PE = Pe("ns", "shop-3", "uid", 3, "shop", launch=2, trace=("info", "ERROR"))
POD = Pod("shop-3-x", "pod-uid", "uid", 2, has_ended=False, ip="10.0.0.7")


def with_hand_over(field: dict[str, Any]) -> Job:
    return replace(JOB, hand_over=hand_over_in({"handOver": field}))


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
    assert view_of(replace(JOB, has_ended=True), PE, 2, {}).has_ended


def test_a_view_has_what_the_runtime_of_a_pe_needs() -> None:
    former = {"generation": 3, "pes": {"2": 1}, "sealed": {"2": 1}}
    hand_over = {
        "generation": 5,
        "begun": "2026-11-26T10:00:00Z",
        "deadline": "2026-11-26T10:00:30Z",
        "pes": {"2": 1, "4": 2},
        "sealed": {"2": 1},
        "gone": [4],
        "former": [former],
    }
    addresses = {1: ("10.0.0.7", 2), 4: None}
    view = view_of(with_hand_over(hand_over), PE, 2, addresses, [9, 8])
    assert json.loads(view.body) == {
        "version": view.version,
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
            "former": [former | {"gone": [], "complete": True, "deadline": 0.0, "former": []}],
        },
        "left": [8, 9],
        "inForce": 0,
        "hasEnded": False,
        "trace": {"app": "info", "runtime": "error"},
    }


def test_a_version_is_that_of_the_contents_in_every_instance() -> None:
    one, same = (
        view_of(with_hand_over({"pes": pes, "gone": left}), PE, 2, {}, left)
        for pes, left in (({"1": 1, "2": 1}, [8, 40, 72]), ({"2": 1, "1": 1}, [72, 8, 40]))
    )
    assert one.body == same.body
    assert one.version != view_of(JOB, PE, 3, {}).version


@pytest.mark.parametrize("text", ["", "soon", "2026-11-26"])
def test_a_deadline_that_cannot_be_read_is_over(text: str) -> None:
    job = with_hand_over({"generation": 1, "deadline": text})
    assert job.hand_over is not None
    assert job.hand_over.deadline == 0
