"""What a pod requests of its node."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.scheduling.requests import AMOUNT_MAX, amount_of, pod_requests


def container(restart_policy: str = "", **requests: str) -> dict[str, Any]:
    """A container with these requests."""
    made: dict[str, Any] = {"resources": {"requests": requests}}
    return made | ({"restartPolicy": restart_policy} if restart_policy else {})


def test_containers_add_up_in_thousandths_of_cpu_and_in_ones() -> None:
    pod = {"containers": [container(cpu="100m", memory="1Ki"), container(cpu="1", memory="24")]}
    assert pod_requests(pod) == {"cpu": 1100, "memory": 1048}


def test_an_init_container_counts_where_it_asks_for_more_than_all_that_follow() -> None:
    pod = {"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]}
    assert pod_requests(pod) == {"cpu": 3000}
    pod["initContainers"] = [container(cpu="500m")]
    assert pod_requests(pod) == {"cpu": 1000}


def test_a_sidecar_counts_beside_the_containers_and_beside_later_init_containers() -> None:
    sidecar, heavy = container("Always", cpu="1"), container(cpu="3")
    assert pod_requests(
        {"containers": [container(cpu="2")], "initContainers": [sidecar, heavy]}
    ) == {"cpu": 4000}
    assert pod_requests(
        {"containers": [container(cpu="2")], "initContainers": [heavy, sidecar]}
    ) == {"cpu": 3000}


def test_the_overhead_of_a_pod_counts_on_top() -> None:
    pod = {"containers": [container(cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}
    assert pod_requests(pod) == {"cpu": 1250, "memory": 1 << 20}


def test_requests_of_the_pod_as_a_whole_win_over_those_of_its_containers() -> None:
    pod = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "3"}}}
    assert pod_requests(pod) == {"cpu": 3000}


def test_a_container_without_a_request_requests_its_limit() -> None:
    limited = {"resources": {"limits": {"cpu": "2", "memory": "1Ki"}, "requests": {"cpu": "1"}}}
    assert pod_requests({"containers": [limited]}) == {"cpu": 1000, "memory": 1024}


def test_what_is_nothing_is_not_named() -> None:
    assert pod_requests({"containers": [container(cpu="0"), {}, {"resources": None}]}) == {}


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1e300", AMOUNT_MAX),  # Kubernetes caps it
        ("9" * 200, AMOUNT_MAX),
        ("0e300", 0),
        ("0" * 200, 0),
        ("1e99", AMOUNT_MAX),
        ("9223372036854775807", AMOUNT_MAX),
        ("1n", 1),
        ("0.1", 1),
        ("nonsense", 0),
        (7, 7),
    ],
)
def test_an_amount_is_rounded_up_and_has_a_limit(written: object, amount: int) -> None:
    assert amount_of("memory", written) == amount


def test_a_sum_has_the_limit_of_an_amount() -> None:
    pod = {"containers": [container(memory="8Ei"), container(memory="8Ei")]}
    assert pod_requests(pod) == {"memory": AMOUNT_MAX}
