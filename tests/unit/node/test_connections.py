"""Which connections of a pod a NetworkPolicy allows, by the text of /proc/net/tcp."""

from __future__ import annotations

from typing import Any

import pytest

from tests.node.connections import Connection, parsed, refused

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65532
   1: 0500C90A:9C40 0100600A:01BB 01 00000000:00000000 00:00000000 00000000 65532
   2: 0500C90A:1F90 0100C90A:D431 01 00000000:00000000 00:00000000 00000000 65532
   3: 0500C90A:9C42 0100600A:01BB 06 00000000:00000000 00:00000000 00000000 65532
   4: 0100007F:9C44 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 65532
   5: 0000000000000000FFFF00000500C90A:9C46 0000000000000000FFFF00000600C90A:2384 01 00000000:0 0
"""
TO_SERVER = Connection(40_000, "10.96.0.1", 443, incoming=False)
PROBE = Connection(8080, "10.201.0.1", 54_321, incoming=True)
TO_KAFKA = Connection(40_006, "10.201.0.6", 9092, incoming=False)
KAFKA: dict[str, Any] = {
    "metadata": {"labels": {"component": "kafka", "more": "x"}},
    "status": {"podIP": "10.201.0.6"},
}


def policy(*, egress: object = (), ingress: object = ()) -> dict[str, Any]:
    return {"spec": {"egress": egress, "ingress": ingress}}


def test_established_connections_are_read_with_their_direction() -> None:
    """Not those that have ended, and not those of a pod with itself."""
    assert parsed(TABLE) == [TO_SERVER, PROBE, TO_KAFKA]


def test_a_policy_without_rules_refuses_everything() -> None:
    every = [TO_SERVER, PROBE, TO_KAFKA]
    assert refused(every, policy(), [KAFKA]) == every


def test_a_rule_without_peers_allows_its_ports_to_everybody() -> None:
    found = policy(egress=[{"ports": [{"port": 443}]}], ingress=[{"ports": [{"port": 8080}]}])
    assert refused([TO_SERVER, PROBE, TO_KAFKA], found, [KAFKA]) == [TO_KAFKA]


@pytest.mark.parametrize(
    ("peer", "allowed"),
    [
        ({"podSelector": {"matchLabels": {"component": "kafka"}}}, True),
        ({"podSelector": {"matchLabels": {"component": "redis"}}}, False),
        ({"ipBlock": {"cidr": "10.201.0.0/24"}}, True),
        ({"ipBlock": {"cidr": "10.202.0.0/24"}}, False),
    ],
)
def test_a_peer_is_a_pod_by_its_labels_or_an_address(peer: dict[str, Any], allowed: bool) -> None:
    found = policy(egress=[{"ports": [{"protocol": "TCP", "port": 9092}], "to": [peer]}])
    assert refused([TO_KAFKA], found, [KAFKA]) == ([] if allowed else [TO_KAFKA])


def test_a_port_of_udp_allows_no_tcp() -> None:
    found = policy(egress=[{"ports": [{"protocol": "UDP", "port": 9092}]}])
    assert refused([TO_KAFKA], found, [KAFKA]) == [TO_KAFKA]
