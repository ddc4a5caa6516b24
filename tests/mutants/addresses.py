"""Mutants of addresses of IPv6, wherever a host and a port stand together."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_PROVISIONS = ("tests/unit/fusion_backend/test_provisions.py",)

MUTANTS = (
    Mutant(
        "a redis that has addresses of IPv6 alone is not found",
        "services/fusion_backend/adapters/finding_servers.py",
        "SystemResolver.hosts_of",
        "addresses or await self._addresses_of(name, socket.AF_INET6)",
        "addresses",
        _PROVISIONS,
    ),
    Mutant(
        "a redis of both families has each server twice",
        "services/fusion_backend/adapters/finding_servers.py",
        "SystemResolver.hosts_of",
        "addresses or await self._addresses_of(name, socket.AF_INET6)",
        "addresses + await self._addresses_of(name, socket.AF_INET6)",
        _PROVISIONS,
    ),
    Mutant(
        "nobody knows where the port of a redis by IPv6 begins",
        "services/fusion_backend/core/spec/provisions.py",
        "_host",
        'f"[{host}]" if ":" in host else host',
        "host",
        _PROVISIONS,
    ),
    Mutant(
        "an address of IPv6 is no broker",
        "contracts/servers.py",
        "",
        r'SERVER: Final = r"(\[[0-9A-Fa-f:.]+\]|[^\s,/:\[\]]+):[0-9]{1,5}"',
        r'SERVER: Final = r"([^\s,/:\[\]]+):[0-9]{1,5}"',
        ("tests/unit/chassis/process/test_settings.py", "tests/unit/contracts/test_servers.py"),
    ),
)
