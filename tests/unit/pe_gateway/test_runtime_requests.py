"""The paths of our runtime: what they are about, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millrace.protocol import Look
from services.pe_gateway.core.answers import Refused
from services.pe_gateway.core.requests import request_of
from services.pe_gateway.core.runtime_requests import ReadBundle, ReadRuntime, ReportRuntime
from services.pe_gateway.core.snapshot import Values

PATH = "/api/runtime/job/shop/pe/3"


def put(**body: Any) -> object:
    return request_of("PUT", PATH, json.dumps(body).encode())


def _resting(generation: int, seconds: int | None, *awaited: int) -> Values:
    return ("restsFor", generation), ("restsSeconds", seconds), ("waitsFor", awaited)


def test_a_pe_names_its_peers_and_how_long_it_waits() -> None:
    found = request_of("GET", PATH, b"", "peers=4,1,4&seen=abc&wait=2.5")
    look = Look(peers=(1, 4), seen="abc", wait_s=2.5)  # unstretched: nobody waits
    assert found == ReadRuntime("shop", 3, look)
    assert request_of("GET", PATH, b"") == ReadRuntime("shop", 3, Look())
    assert request_of("GET", PATH, b"", "peers=") == ReadRuntime("shop", 3, Look())
    found = request_of("GET", PATH, b"", "former=8,7")
    assert found == ReadRuntime("shop", 3, Look(former=(7, 8)))
    assert request_of("GET", "/api/runtime/job/shop/bundle", b"") == ReadBundle("shop")


@pytest.mark.parametrize(
    "query",
    [
        "peers=a",
        "peers=1,",
        "former=x",
        "peers=" + ",".join(map(str, range(2_001))),
        "wait=31",
        "wait=-1",
        "wait=nan",
        "wait=x",
        "peers",
        "&".join(f"a{n}=1" for n in range(11)),
    ],
)
def test_a_query_that_cannot_be_read_is_refused(query: str) -> None:
    with pytest.raises(Refused) as refused:
        request_of("GET", PATH, b"", query)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("body", "report"),
    [
        (
            {"started": {"runtime": "millrace 0.1", "handsOver": True}},
            ReportRuntime("shop", 3, 2, (("handsOver", True), ("name", "millrace 0.1"))),
        ),
        (
            {"started": {"runtime": "other"}},
            ReportRuntime("shop", 3, 2, (("handsOver", False), ("name", "other"))),
        ),
        ({"sealed": {"generation": 5}}, ReportRuntime("shop", 3, 2, (("sealed", 5),))),
        (
            {"sealed": {"generation": 5, "newer": 1}, "newer": []},
            ReportRuntime("shop", 3, 2, (("sealed", 5),)),
        ),
        ({"ended": True}, ReportRuntime("shop", 3, 2, (("ended", True),))),
        (
            {"resting": {"generation": 5, "waitsFor": [7, 4], "seconds": 8}},
            ReportRuntime("shop", 3, 2, _resting(5, 8, 4, 7)),
        ),
        (
            {"resting": {"generation": 5}},
            ReportRuntime("shop", 3, 2, _resting(5, None)),
        ),
        (
            {"lost": {"tuples": 17, "why": "Killed"}},
            ReportRuntime("shop", 3, 2, (("lostTuples", 17),), "Killed"),
        ),
        (
            {"trouble": {"reason": "PeerMissing", "message": "a\nb"}},
            ReportRuntime("shop", 3, 2, (("message", "a b"), ("reason", "PeerMissing"))),
        ),
        (
            {"trouble": None},
            ReportRuntime("shop", 3, 2, (("message", None), ("reason", None))),
        ),
    ],
)
def test_a_report_says_one_thing_of_a_launch(body: dict[str, Any], report: ReportRuntime) -> None:
    assert put(launch=2, **body) == report


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"launch": 2},
        {"launch": 0, "sealed": {"generation": 1}},
        {"launch": True, "sealed": {"generation": 1}},
        {"sealed": {"generation": 1}},
        {"launch": 2, "sealed": {"generation": 1}, "lost": {"tuples": 1}},
        {"launch": 2, "sealed": {}},
        {"launch": 2, "sealed": 5},
        {"launch": 2, "resting": {"waitsFor": [1]}},
        {"launch": 2, "resting": {"generation": 1, "waitsFor": "1"}},
        {"launch": 2, "resting": {"generation": 1, "waitsFor": [True]}},
        {"launch": 2, "resting": {"generation": 1, "waitsFor": [-1]}},
        {"launch": 2, "resting": {"generation": 1, "waitsFor": list(range(21))}},
        {"launch": 2, "resting": {"generation": 1, "waitsFor": [2], "seconds": 0}},
        {"launch": 2, "resting": {"generation": 1, "waitsFor": [2], "seconds": 1.5}},
        {"launch": 2, "ended": False},
        {"launch": 2, "lost": {"tuples": 0}},
        {"launch": 2, "lost": {"tuples": 1, "why": 3}},
        {"launch": 2, "started": {"runtime": ""}},
        {"launch": 2, "started": {"runtime": "a", "sources": "a"}},
        {"launch": 2, "started": {"runtime": "a", "sources": []}},
        {"launch": 2, "started": {"runtime": "a", "sources": ["a"] * 21}},
        {"launch": 2, "started": {"runtime": "a", "readsAgain": 1}},
        {"launch": 2, "started": {"runtime": "a", "readsAgain": {"sources": [1]}}},
        {"launch": 2, "started": {"runtime": "a", "readsAgain": {"sources": ["a"], "launch": 0}}},
        {"launch": 2, "started": {"runtime": "a", "handsOver": 1}},
        {"launch": 2, "trouble": {"reason": "two words"}},
        {"launch": 2, "trouble": {"reason": "A", "message": []}},
        {"launch": 2, "other": {}},
    ],
)
def test_a_report_that_cannot_be_read_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        put(**body)
    assert refused.value.status == 400


DEEP = b'{"launch":2,"other":' + b"[" * 99_999


@pytest.mark.parametrize("body", [b"[]", b"3", b"{", b"null", DEEP])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as refused:
        request_of("PUT", PATH, body)
    assert refused.value.status == 400
