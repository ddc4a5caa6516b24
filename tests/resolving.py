"""A DNS for tests: it knows the names that it was reported, and can fall silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.chassis.process.errors import Transient

LOCALHOST: Mapping[str, str] = {"127.0.0.1": "localhost"}
OTHER: Mapping[str, str] = {"10.0.0.7": "other-0"}


@dataclass
class KnownHosts:
    """A resolver; `asked` are the names that it was requested."""

    hosts: Mapping[str, Mapping[str, str]] = field(
        default_factory=lambda: {
            "localhost.default.svc.cluster.local": LOCALHOST,
            "other.default.svc.cluster.local": OTHER,
        }
    )
    silent: bool = False
    asked: list[str] = field(default_factory=list)

    async def hosts_of(self, name: str) -> Mapping[str, str]:
        """See services.fusion_backend.adapters.finding_servers.Resolver."""
        self.asked.append(name)
        if self.silent:
            raise Transient("the DNS does not answer", outcome_unknown=False)
        return self.hosts.get(name, {})
