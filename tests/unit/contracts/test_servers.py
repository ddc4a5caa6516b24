"""How servers are named: HOST:PORT, with commas."""

from __future__ import annotations

import pytest

from contracts.servers import are_servers


@pytest.mark.parametrize(
    "text", ["", "a", "a:", ":1", "a:1,", "a:0", "a:65536", "a:1 ,b:2", "a:b", "::1:1"]
)
def test_servers_are_hosts_with_valid_ports(text: str) -> None:
    assert not are_servers(text)
    assert are_servers("a:1,b.example.org:65535,[fd00::5]:9092")
