"""Bundles come from public addresses only, in whatever form an address is written."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.chassis.process.settings import EXIT_USAGE, read_settings
from services.fusion_backend.adapters.bundles.fetching import HttpFetcher, Wanted, resolve
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.addresses import networks_of, why_refused
from services.fusion_backend.core.spec.inputs import BundleSource
from services.fusion_backend.settings import FusionBackendSettings

REFUSED = {
    "0.0.0.0": "this network",
    "0.1.2.3": "this network",
    "10.0.0.1": "private",
    "10.255.255.255": "private",
    "100.64.0.1": "private to a carrier",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "169.254.169.254": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.8": "reserved",
    "192.0.2.1": "documentation",
    "192.88.99.1": "reserved",
    "192.168.1.1": "private",
    "198.18.0.1": "for benchmarks",
    "198.51.100.7": "documentation",
    "203.0.113.7": "documentation",
    "224.0.0.1": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "0:0:0:0:0:0:0:1": "loopback",
    "::7f00:1": "reserved",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:7f00:1": "loopback",
    "::ffff:169.254.169.254": "link-local",
    "::ffff:0:127.0.0.1": "reserved",
    "64:ff9b::10.0.0.1": "private",
    "64:ff9b::a9fe:a9fe": "link-local",
    "64:ff9b:1::1": "reserved",
    "100::1": "reserved",
    "2001::1": "a tunnel (Teredo)",
    "2001:20::1": "reserved",
    "2001:db8::1": "documentation",
    "2002:7f00:1::": "a tunnel (6to4)",
    "3fff::1": "documentation",
    "5f00::1": "reserved",
    "fc00::1": "private",
    "fd12:3456::1": "private",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fec0::1": "site-local",
    "ff02::1": "multicast",
}
PUBLIC = ("1.1.1.1", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1")
ODD = (
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0",
    "00000127.0.0.1",
    "2852039166",
    "127.0.0.1.",
    "0x7F.0X0.0.0x1",
)


@pytest.mark.parametrize(("address", "what"), REFUSED.items())
def test_an_address_that_is_not_public_is_refused_by_what_it_is(address: str, what: str) -> None:
    assert why_refused(address)[0] == what


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not_refused(address: str) -> None:
    assert why_refused(address) == ("", "")


def test_a_network_may_be_allowed_and_no_other_is() -> None:
    allowed = networks_of(["10.1.0.0/16", "fd00::/8", "127.0.0.1"])
    for fine in ("10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "127.0.0.1"):
        assert why_refused(fine, allowed) == ("", "")
    for refused in ("10.2.0.1", "fc00::1", "127.0.0.2", "169.254.169.254"):
        assert all(why_refused(refused, allowed))


@pytest.mark.parametrize("host", ODD)
def test_a_number_that_hides_an_address_is_refused_in_a_spec(host: str) -> None:
    """Resolvers read those as 127.0.0.1 and the like."""
    spec = {"bundle": {"name": "x.sab", "http": {"url": f"http://{host}/x.sab"}}}
    refusal = refusal_of_spec(spec)
    assert refusal is not None
    assert (refusal.reason, refusal.field) == (Reason.SPEC_INVALID, "spec.bundle.http.url")


def wanted(url: str) -> Wanted:
    return Wanted(BundleSource("x.sab", url=url, url_field="http.url"), url)


async def refused(fetcher: HttpFetcher, url: str) -> PlanRefused:
    """The refusal that fetching ends in, with no byte taken."""
    taken: list[bytes] = []

    async def sink(piece: bytes) -> None:
        taken.append(piece)

    with pytest.raises(PlanRefused) as caught:
        await fetcher.fetch(wanted(url), 100, sink)
    assert taken == []
    return caught.value


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody connects to anything."""

    def connect(*_: object, **__: object) -> None:
        raise AssertionError("it was connected")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect)


def bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize("address", [each for each in REFUSED if "%" not in each])
async def test_nothing_is_sent_to_an_address_that_is_refused(address: str) -> None:
    refusal = await refused(HttpFetcher(), f"http://{bracketed(address)}:8080/x.sab?key=secret")
    assert refusal.reason is Reason.ADDRESS_REFUSED
    assert REFUSED[address] in refusal.message
    assert "secret" not in refusal.message


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize("host", ODD)
async def test_nothing_is_sent_to_a_number_that_hides_an_address(host: str) -> None:
    """Also where nobody looked at the spec."""
    refusal = await refused(HttpFetcher(), f"http://{host}/x.sab")
    assert refusal.reason is Reason.ADDRESS_REFUSED


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize(
    "answer", [["127.0.0.1"], ["1.1.1.1", "10.0.0.1"], ["::ffff:10.0.0.1"], ["fe80::1%1"]]
)
async def test_a_name_is_refused_for_any_of_its_addresses(answer: Sequence[str]) -> None:
    async def rogue(host: str, port: int) -> Sequence[str]:
        return answer

    refusal = await refused(HttpFetcher(resolve=rogue), "https://public.example/x.sab")
    assert refusal.reason is Reason.ADDRESS_REFUSED
    assert "public.example" in refusal.message


async def test_the_resolver_of_this_machine_reads_names_and_numbers() -> None:
    assert "127.0.0.1" in await resolve("2130706433", 80)
    assert "127.0.0.1" in await resolve("localhost", 80)


@pytest.mark.usefixtures("no_sockets")
@pytest.mark.parametrize(
    ("address", "network"),
    [("127.0.0.1", "127.0.0.0/8"), ("::ffff:10.1.2.3", "10.0.0.0/8"), ("5f00::1", "5f00::1/128")],
)
async def test_a_refusal_names_an_address_once_and_says_how_it_is_allowed(
    address: str, network: str
) -> None:
    refusal = await refused(HttpFetcher(), f"http://{bracketed(address)}:8080/x.sab")
    assert f"MILLRACE_BUNDLE_ALLOWED_NETWORKS={network}" in refusal.message
    assert why_refused(address, networks_of([network])) == ("", "")
    if address == "127.0.0.1":
        assert "leads to 127.0.0.1, which is loopback" in refusal.message


@pytest.mark.parametrize("wrong", ["127.0.0.1/8", "10.0.0.0/33", "localhost", "10.*"])
def test_what_is_no_network_is_refused_with_the_form_of_one(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"networks such as 127\.0\.0\.0/8") as caught:
        networks_of(["10.1.0.0/16", wrong])
    assert wrong in str(caught.value)


def test_a_setting_that_is_no_list_of_networks_ends_the_start_with_its_name_and_the_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("ROOT", "b"), ("STORE", "s"), ("ALLOWED_NETWORKS", "127.0.0.1/8")):
        monkeypatch.setenv(f"MILLRACE_BUNDLE_{name}", value)
    with pytest.raises(SystemExit) as ended:
        read_settings(FusionBackendSettings)
    assert ended.value.code == EXIT_USAGE
    told = capsys.readouterr().err
    assert told.startswith("MILLRACE_BUNDLE_ALLOWED_NETWORKS=127.0.0.1/8: has to be networks")
    assert "127.0.0.0/8" in told
