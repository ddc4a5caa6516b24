"""Which addresses a bundle may be fetched from: public ones, and networks that a setting allows.

A Job's spec names a URL, and we fetch it from inside of the cluster: without this, everyone who may
create a Job could ask what only the cluster's own network can (its metadata service, its API). The
table is IANA's registries of special purposes. An IPv4 address inside of an IPv6 one counts as
what it is. Names are resolved elsewhere; who connects, connects to what was judged here.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

_V4: Final = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "private to a carrier"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_V6: Final = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "a tunnel (Teredo)"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "a tunnel (6to4)"),
        ("3fff::/20", "documentation"),
    )
)
_V6_GLOBAL: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_V4_MASK: Final = 0xFFFFFFFF


def why_refused(text: str, allowed: Sequence[Network] = ()) -> tuple[str, str]:
    """(what kind of address this is, the network of its kind) where nothing may be fetched from it.

    Both are empty where something may be. `text` is an address as the resolver gives it. Raises
    ValueError for anything else.
    """
    address = _meant(ip_address(text))
    if any(address.version == each.version and address in each for each in allowed):
        return "", ""
    table = _V4 if isinstance(address, IPv4Address) else _V6
    for network, what in table:
        if address in network:
            return what, str(network)
    if isinstance(address, IPv6Address) and address not in _V6_GLOBAL:
        return "reserved", f"{address.compressed}/128"
    return "", ""


def _meant(address: Address) -> Address:
    """The IPv4 address inside of an IPv6 one that only carries it."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & _V4_MASK)
    return address


def is_odd_number(host: str) -> bool:
    """Whether a host is an IPv4 address in a form that hides it: decimal, octal, hex, or short.

    Resolvers understand those; who writes one has something to hide.
    """
    parts = host.rstrip(".").lower().split(".")
    numeric = all(
        part.isdecimal() or (part.startswith("0x") and _is_hex(part[2:])) for part in parts
    )
    if not numeric:
        return False
    try:
        IPv4Address(host)
    except ValueError:
        return True
    return False


def _is_hex(text: str) -> bool:
    return all(each in "0123456789abcdef" for each in text)


NETWORKS_FORM: Final = "networks such as 127.0.0.0/8 or fd00::/8, or addresses, with commas between"


def networks_of(texts: Sequence[str]) -> tuple[Network, ...]:
    """Networks in CIDR notation, or single addresses. Raises ValueError, which says the form."""
    found = []
    for text in filter(None, (each.strip() for each in texts)):
        try:
            found.append(ip_network(text))
        except ValueError as problem:
            raise ValueError(f"has to be {NETWORKS_FORM}: {problem}") from problem
    return tuple(found)
