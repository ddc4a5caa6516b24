"""Paths, verbs and bodies of the original's interface, and what is refused."""

from __future__ import annotations

import pytest

from contracts.resources import Connectivity
from services.pe_gateway.core.answers import Refused
from services.pe_gateway.core.requests import (
    AddEndpoint,
    FindEndpoint,
    FindJobName,
    ReadConnectivity,
    ReadPorts,
    ReadState,
    ReadSubscriptions,
    ReadWidth,
    RemoveEndpoint,
    ReportConnectivity,
    Request,
    RequestWidth,
    UsePort,
    request_of,
)

PE = "/job/shop/pe/3"
BOARD = f"/api/subscriptions{PE}"


@pytest.mark.parametrize(
    ("method", "path", "body", "request_"),
    [
        ("GET", "/api/state", b"", ReadState()),
        ("GET", "/api/state/job/by-id/7/name", b"", FindJobName(7)),
        ("GET", f"/api/state{PE}/connectivity", b"", ReadConnectivity("shop", 3)),
        (
            "PUT",
            f"/api/state{PE}/connectivity",
            b'"Partial"',
            ReportConnectivity("shop", 3, Connectivity.PARTIAL),
        ),
        ("GET", "/api/state/job/shop/pr/A%20b.C/width", b"", ReadWidth("shop", "A b.C")),
        ("PUT", "/api/state/job/shop/pr/A/width", b"4", RequestWidth("shop", "A", 4)),
        ("GET", f"/api/endpoints{PE}", b"", ReadPorts("shop", 3)),
        ("GET", "/api/endpoints/job/shop/endpoint/web", b"", FindEndpoint("shop", "web")),
        (
            "PUT",
            f"/api/endpoints{PE}/endpoint/web",
            b'{"canonicalName": "ignored", "port": 80, "protocol": "UDP"}',
            AddEndpoint("shop", 3, "web", 80, "UDP"),
        ),
        ("DELETE", f"/api/endpoints{PE}/endpoint/web", b"", RemoveEndpoint("shop", 3, "web")),
        ("GET", BOARD, b"", ReadSubscriptions("shop", 3)),
        ("GET", f"{BOARD}/export/0", b"", UsePort("shop", 3, "export", 0, False)),
        ("POST", f"{BOARD}/export/0/properties", b"", UsePort("shop", 3, "export", 0, False)),
        ("PATCH", f"{BOARD}/export/0/property/p", b"", UsePort("shop", 3, "export", 0, True)),
        ("PUT", f"{BOARD}/import/1/filter", b"", UsePort("shop", 3, "import", 1, True)),
        ("GET", f"{BOARD}/import/1/streams", b"", UsePort("shop", 3, "import", 1, False)),
    ],
)
def test_a_request_of_the_original_is_understood(
    method: str, path: str, body: bytes, request_: Request
) -> None:
    assert request_of(method, path, body) == request_


CONNECTIVITY, WIDTH = f"/api/state{PE}/connectivity", "/api/state/job/j/pr/A/width"
ENDPOINT = f"/api/endpoints{PE}/endpoint/web"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/", b"", 404, "nothing is served"),
        ("GET", "/api/state/../../etc/passwd", b"", 404, "nothing is served"),
        ("GET", "/api/state/job/j/pe/%2e%2e%2f/connectivity", b"", 404, "no id of a PE"),
        ("GET", "/api/state/job/j%00/pe/1/connectivity", b"", 404, "printable"),
        ("GET", "/api/" + "x" * 5000, b"", 404, "4096 characters"),
        ("GET", "/api/state/job/j/pe/９/connectivity", b"", 404, "no id of a PE"),
        ("GET", "/api/state/job/j/pe/1234567890/connectivity", b"", 404, "no id of a PE"),
        ("GET", "/api/state/job/by-id/x/name", b"", 400, "no id of a job"),
        ("DELETE", CONNECTIVITY, b"", 405, "GET, PUT"),
        ("PUT", CONNECTIVITY, b"Full", 400, "no JSON"),
        ("PUT", CONNECTIVITY, b"[" * 60_000, 400, "no JSON"),
        ("PUT", CONNECTIVITY, b'["Full"]', 400, "a connectivity is one of"),
        ("PUT", CONNECTIVITY, b"\xff\xfe", 400, "no JSON"),
        ("PUT", WIDTH, b"true", 400, "whole number"),
        ("PUT", WIDTH, b"2.5", 400, "whole number"),
        ("PUT", WIDTH, b"<width>3</width>", 400, "no JSON"),
        ("PUT", ENDPOINT, b"[]", 400, "an object"),
        ("PUT", ENDPOINT, b'{"port": 70000}', 400, "from 1 to 65535"),
        ("PUT", ENDPOINT, b'{"port": true}', 400, "from 1 to 65535"),
        ("PUT", ENDPOINT, b'{"port": 1, "protocol": ["TCP"]}', 400, "protocol"),
        ("PUT", ENDPOINT.replace("web", "We_b"), b'{"port": 1}', 400, "no name of an endpoint"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused_with_the_reason(
    method: str, path: str, body: bytes, status: int, words: str
) -> None:
    with pytest.raises(Refused, match=words) as refused:
        request_of(method, path, body)
    assert refused.value.status == status
