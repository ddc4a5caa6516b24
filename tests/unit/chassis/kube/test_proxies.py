"""The proxy of a request is the one that kubectl takes; its rules are those of Go."""

from __future__ import annotations

import pytest

from services.chassis.kube.proxies import proxy_of
from services.chassis.process.errors import Misconfigured

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    "server",
    [
        "http://localhost:8080",
        "http://127.0.0.1:1",
        "https://127.4.5.6",
        "https://[::1]:6443",
    ],
)
def test_this_machine_is_reached_without_a_proxy(server: str) -> None:
    """That of `millrace up` is on it: $HTTP_PROXY must not hide it."""
    environment = {"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY}
    assert proxy_of(server, "", environment) is None
    assert proxy_of(server, PROXY, environment) == PROXY, "a proxy-url counts everywhere"


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("http://kube", {"HTTP_PROXY": PROXY}, PROXY),
        ("http://kube", {"http_proxy": PROXY}, PROXY),
        ("http://kube", {"HTTP_PROXY": PROXY, "http_proxy": "http://other"}, PROXY),
        ("http://kube", {"HTTPS_PROXY": PROXY, "ALL_PROXY": PROXY}, None),
        ("https://kube", {"HTTP_PROXY": PROXY}, None),
        ("https://kube", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("https://kube", {"HTTPS_PROXY": ""}, None),
    ],
)
def test_the_environment_names_a_proxy_for_each_scheme(
    server: str, environment: dict[str, str], proxy: str | None
) -> None:
    assert proxy_of(server, "", environment) == proxy


@pytest.mark.parametrize(
    ("excepted", "server", "takes_it"),
    [
        ("*", "https://kube.acme.com", False),
        ("kube.acme.com", "https://kube.acme.com", False),
        ("acme.com", "https://kube.acme.com", False),
        ("ACME.com , b", "https://kube.acme.com", False),
        (".acme.com", "https://kube.acme.com", False),
        ("*.acme.com", "https://kube.acme.com", False),
        (".acme.com", "https://acme.com", True),
        ("cme.com", "https://kube.acme.com", True),
        ("acme.com:6443", "https://acme.com:6443", False),
        ("acme.com:443", "https://acme.com", False),
        ("acme.com:6443", "https://acme.com", True),
        ("10.0.0.0/8", "https://10.1.2.3:6443", False),
        ("10.0.0.0/8", "https://11.1.2.3:6443", True),
        ("10.0.0.0/8", "https://kube.acme.com", True),
        ("10.1.2.3", "https://10.1.2.3:6443", False),
        ("10.1.2.3:6443", "https://10.1.2.3:6443", False),
        ("10.1.2.3:1", "https://10.1.2.3:6443", True),
        ("fd00::/8", "https://[fd00::1]:6443", False),
        ("[fd00::1]:6443", "https://[fd00::1]:6443", False),
        ("fd00::1", "https://[fd00::1]:6443", False),
        ("", "https://kube.acme.com", True),
        (",, ,", "https://kube.acme.com", True),
    ],
)
def test_no_proxy_names_what_is_reached_directly(
    excepted: str, server: str, *, takes_it: bool
) -> None:
    found = proxy_of(server, "", {"HTTPS_PROXY": PROXY, "NO_PROXY": excepted})
    assert found == (PROXY if takes_it else None)


@pytest.mark.parametrize("given", ["proxy:1", "http://", "http://h:x", "socks5://secret:pw@h:1"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(given: str) -> None:
    with pytest.raises(Misconfigured, match="proxy-url") as refused:
        proxy_of("https://kube", given, {})
    assert "pw" not in str(refused.value)
