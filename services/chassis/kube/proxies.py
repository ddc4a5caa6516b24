"""Which proxy requests to an API server take: the rules of kubectl, which are those of Go.

1. `proxy-url` of the cluster, wherever the server is.
2. Else $HTTPS_PROXY or $HTTP_PROXY, by the scheme of the server; in lower case, too.
3. But none to this machine (localhost, 127.0.0.0/8, ::1) and to what $NO_PROXY names: hosts with
   their subdomains, `.domain` for subdomains only, addresses, networks (10.0.0.0/8), `*` for
   everything; with a port, only that one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from services.chassis.process.errors import Misconfigured

_PORTS: Final = {"http": 80, "https": 443}


def proxy_of(server: str, given: str, environment: Mapping[str, str]) -> str | None:
    """The URL of the proxy; None to connect directly. Raises Misconfigured.

    `given` is the `proxy-url` of the cluster, or empty.
    """
    if given:
        return _checked(given, "proxy-url")
    target = urlsplit(server)
    name = f"{target.scheme}_proxy"
    found = environment.get(name.upper()) or environment.get(name) or ""
    excepted = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    if not found or not _takes_proxy(target, excepted):
        return None
    return _checked(found if "://" in found else f"http://{found}", f"${name.upper()}")


def _checked(url: str, name: str) -> str:
    """The URL; a message does not show it, since it may have a password."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if not is_whole:
        raise Misconfigured(f"{name} is not the URL of a proxy: say http://HOST:PORT")
    if parts.scheme not in _PORTS:
        raise Misconfigured(
            f"{name} has the scheme {parts.scheme}: millrace can use proxies of http and https"
        )
    return url


def _takes_proxy(target: SplitResult, excepted: str) -> bool:
    host = (target.hostname or "").rstrip(".")
    address = _address_of(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    port = target.port or _PORTS.get(target.scheme, 0)
    return not any(
        _names(entry.strip().lower(), host, address, port) for entry in excepted.split(",")
    )


def _names(
    entry: str, host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, port: int
) -> bool:
    """Whether an entry of $NO_PROXY names a server."""
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if _address_of(entry.strip("[]")) is None and ":" in entry:
        entry, _, of_port = entry.rpartition(":")
        if of_port != str(port):
            return False
    entry = entry.strip("[]")
    if (named := _address_of(entry)) is not None:
        return named == address
    if address is not None:
        return False
    domain = entry.removeprefix("*")
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
