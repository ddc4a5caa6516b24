"""Endpoints: unique names in a scope, addresses, and annotations that people make unreadable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.pe_gateway.core.answers import Refused
from services.pe_gateway.core.effects import SetEndpoints
from services.pe_gateway.core.endpoints import (
    ENDPOINTS_MAX,
    added,
    annotation_of,
    endpoints_from,
    host_of,
    ports_of,
    removed,
)
from services.pe_gateway.core.requests import AddEndpoint, RemoveEndpoint
from services.pe_gateway.core.snapshot import Endpoint, PeService

WEB = Endpoint("web", 3, 80, "TCP")
SERVICE = PeService("ns", "shop-pes", "shop", "Default")
WITH_WEB = replace(SERVICE, endpoints=(WEB,))
ADD = AddEndpoint("shop", 3, "web", 80, "TCP")


def test_an_annotation_gives_back_what_was_written() -> None:
    assert endpoints_from(annotation_of([WEB]) or "") == (WEB,)
    assert annotation_of([]) is None


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '[["web",1]]', '[["web",true,80,"TCP"]]'])
def test_what_cannot_be_read_is_no_endpoint(text: str) -> None:
    assert endpoints_from(text) == ()


def test_an_endpoint_is_added_once_and_moves_with_its_pe() -> None:
    assert added(ADD, SERVICE, [SERVICE], set()) == SetEndpoints("ns", "shop-pes", (WEB,))
    known = {("shop", 3)}
    assert added(ADD, WITH_WEB, [WITH_WEB], known) is None
    moved = added(replace(ADD, port=81), WITH_WEB, [WITH_WEB], known)
    assert moved == SetEndpoints("ns", "shop-pes", (WEB._replace(port=81),))


def test_a_name_that_another_pe_has_is_refused_until_that_pe_is_gone() -> None:
    other = replace(SERVICE, name="mall-pes", job="mall", endpoints=(WEB._replace(pe=9),))
    with pytest.raises(Refused, match="endpoint web is mall-9's"):
        added(ADD, SERVICE, [SERVICE, other], {("mall", 9)})
    assert added(ADD, SERVICE, [SERVICE, other], set()) is not None


def test_a_service_has_so_many_endpoints_at_most() -> None:
    many = tuple(Endpoint(f"e{number}", 3, 80, "TCP") for number in range(ENDPOINTS_MAX))
    full = replace(SERVICE, endpoints=many)
    with pytest.raises(Refused, match="1000 endpoints"):
        added(ADD, full, [full], {("shop", 3)})


def test_an_endpoint_is_removed_by_its_own_pe() -> None:
    assert removed(RemoveEndpoint("shop", 3, "web"), WITH_WEB).endpoints == ()
    with pytest.raises(Refused, match="shop-4 has no endpoint web"):
        removed(RemoveEndpoint("shop", 4, "web"), WITH_WEB)


def test_a_pe_is_found_in_its_own_service_or_in_that_of_its_job() -> None:
    assert host_of(SERVICE, 3) == "shop-3.shop-pes.ns"
    assert host_of(replace(SERVICE, name="shop-3"), 3) == "shop-3.ns"


def test_the_ports_of_a_pe_are_those_of_its_service_its_inputs_and_its_endpoints() -> None:
    metrics = {"name": "sys-metrics", "port": 9696, "protocol": "TCP", "targetPort": 9696}
    service = replace(WITH_WEB, ports=(metrics,))
    assert ports_of(service, 3, [0]) == {
        "sys-metrics": metrics,
        "sys-0": {"name": "sys-0", "port": 10_000, "protocol": "TCP", "targetPort": 10_000},
        "usr-web": {"name": "usr-web", "port": 80, "protocol": "TCP", "targetPort": 80},
    }
    assert ports_of(service, 4, []).keys() == {"sys-metrics"}
