"""Everybody's writes by kind and writer."""

from __future__ import annotations

from loadtest.counting import (
    ENDPOINTS,
    Tally,
    Write,
    counted_by_server,
    counted_by_services,
    render,
)
from loadtest.scraping import samples_of

SERVER = """\
apiserver_request_total{code="201",group="",resource="pods",subresource="",verb="POST"} 10
apiserver_request_total{code="409",group="",resource="pods",subresource="",verb="POST"} 3
apiserver_request_total{code="201",group="",resource="pods",subresource="binding",verb="POST"} 10
apiserver_request_total{code="200",group="",resource="endpoints",subresource="",verb="PUT"} 2
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="LIST"} 5
apiserver_request_total{code="200",group="",resource="leases",subresource="",verb="PUT"} 7
apiserver_request_total{code="201",group="",resource="events",subresource="",verb="POST"} 4
apiserver_request_total{code="201",group="x",resource="streamsjobs",subresource="",verb="POST"} 1
"""
OURS = """\
millrace_api_requests_total{verb="POST",resource="pods",code="201"} 10
millrace_api_requests_total{verb="POST",resource="pods",code="409"} 3
millrace_api_requests_total{verb="GET",resource="pods",code="200"} 8
millrace_api_requests_total{verb="POST",resource="events",code="201"} 1
"""


def tally() -> Tally:
    services = counted_by_services(samples_of(OURS, "pod-state-machine"))
    return Tally.of(counted_by_server(SERVER), services)


def test_each_write_that_succeeded_is_counted_once_and_has_a_writer() -> None:
    """What the services did not write is of the controller that writes such objects."""
    assert tally().writes == {
        Write("pods", "POST", "pod-state-machine"): 10,
        Write("pods/binding", "POST", "scheduler"): 10,
        Write("endpoints", "PUT", "endpoints controller"): 2,
        Write("events", "POST", "pod-state-machine"): 1,
        Write("events", "POST", "others"): 3,
        Write("streamsjobs", "POST", "others"): 1,
    }


def test_events_are_apart_from_the_sum() -> None:
    assert tally().count() == 23
    assert tally().count("events") == 4
    assert tally().count(*ENDPOINTS) == 2


def test_the_table_has_medians_and_writes_for_each_pe() -> None:
    text = render([("submit", 10, tally()), ("submit", 10, Tally()), ("submit", 10, tally())])
    assert "| submit | 10 | pods/binding | POST | scheduler | 10 | 1.00 |" in text
    assert "| submit | 10 | **Endpoints and EndpointSlices** | | | 2 | 0.20 |" in text
    assert "| submit | 10 | **all but Events** | | | 23 | 2.30 |" in text
