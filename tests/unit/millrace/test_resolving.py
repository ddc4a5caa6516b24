"""Peers without a gateway: the DNS and the port labels, as the original has them."""

from __future__ import annotations

from millrace.runtime.resolving import Names, PePort, looked_up, port_labels


def test_port_labels_lead_from_operators_to_pe_ports() -> None:
    text = "#\n#Thu Nov 26 10:00:00 UTC 2026\n7.3.0=1.2@7\n 7.4.1 = 12.0@7 \n"
    assert port_labels(text) == {(3, 0): PePort(1, 2), (4, 1): PePort(12, 0)}


def test_lines_that_are_no_labels_are_skipped() -> None:
    text = "7.3=1.2@7\n7.3.0=1.2\n../../etc=1.2@7\n7.3.0=1.2@7 extra\n\x00\n" + "9" * 10_000
    assert port_labels(text) == {}
    assert port_labels("") == {}


async def test_a_pe_is_found_by_its_name_and_kept_for_ten_seconds() -> None:
    names_seen: list[str] = []
    addresses = [("10.0.0.7", "10.0.0.8"), ("10.0.0.9",), ()]
    now = 0.0

    async def look_up(name: str) -> tuple[str, ...]:
        names_seen.append(name)
        return addresses.pop(0)

    names = Names("shop", "shop-pes.team.svc", look_up=look_up, clock=lambda: now)
    assert await names.address(4) == "10.0.0.7"
    now = 9.9
    assert await names.address(4) == "10.0.0.7"
    now = 10.1
    assert await names.address(4) == "10.0.0.9"
    now = 30
    assert await names.address(4) is None
    assert names_seen == ["shop-4.shop-pes.team.svc"] * 3


async def test_a_name_that_the_dns_does_not_have_has_no_address() -> None:
    assert await looked_up("a" * 300) == ()
    assert await looked_up("127.0.0.1") == ("127.0.0.1",)
